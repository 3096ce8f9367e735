"""What is really there, read back from the server on the connections that search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from itertools import chain

import psycopg

from retrieverbench.adapter import Description, Settings
from retrieverbench_adapters.pgvector.catalog import Catalog, Index
from retrieverbench_adapters.pgvector.options import Metric, Options, Quantization, Search
from retrieverbench_adapters.pgvector.weaknesses import Usable, slowness, unbound, weaknesses

IN_STATEMENT = (
    "exact", "oversampling", "ranking", "normalization", "rrf_k", "dense_weight",
    "lexical_weight", "depth", "tenant_setting",
)  # fmt: skip
_POOLED = (
    "a pooler stands before the server: settings of a session may not hold for its questions; "
    "give the address of the server itself"
)
_ABOVE_POLICIES = (
    "searches are made by a role that no policy binds (superuser or BYPASSRLS), which may read "
    "every row; an application should search as a role without either"
)
_QUANTIZATIONS: Mapping[str, Quantization] = {"bit": "binary", "halfvec": "halfvec"}
_METRICS: Mapping[str, Metric] = {"cosine": "cosine", "ip": "inner_product", "l2": "l2"}


def server_settings(search: Search, *, vectors: bool) -> dict[str, str]:
    """What every searching connection is told, by the server's own names."""
    common = {"work_mem": search.work_mem, "plan_cache_mode": search.plan_cache_mode}
    if search.force_index:
        common |= {"enable_seqscan": "off", "enable_sort": "off"}
    if not vectors:
        return common
    return {
        "hnsw.ef_search": str(search.ef_search),
        "hnsw.iterative_scan": search.iterative_scan,
        "hnsw.max_scan_tuples": str(search.max_scan_tuples),
        "hnsw.scan_mem_multiplier": f"{search.scan_mem_multiplier:g}",
        "ivfflat.probes": str(search.probes),
        "ivfflat.iterative_scan": "off" if search.iterative_scan == "off" else "relaxed_order",
        **common,
    }


def describe(
    found: Catalog,
    settings: Settings,
    options: Options,
    *,
    tenant: str,
    vector: str,
    told: Mapping[str, str],
    chunks: Mapping[str, int] | None,
    usable: Usable,
    pooled: bool,
) -> Description:
    """`tenant` and `vector` are columns; `told` are settings read back from connections.

    `chunks` is None where the rows of each tenant could not be counted.
    """
    sent, is_rls = asdict(options.search), settings.layout == "rls"
    exact = options.search.exact or found.vector_index is None
    config = options.place.text_search_config if settings.attached else found.config
    unchecked = [f"{', '.join(IN_STATEMENT)}: written into each statement, not kept"]
    if chunks is None:
        unchecked.append("rows per tenant: this role may not see or could not count them in time")
    if settings.attached:
        unchecked += _unchecked_of_attached(found, vector, usable, is_rls=is_rls)
    pooler = [_POOLED] if pooled else []
    weak = [*weaknesses(found, settings.layout, tenant, options, usable), *pooler]
    if settings.attached and (found.superuser or found.bypasses):
        weak.append(_ABOVE_POLICIES)
    open_to = unbound(found, usable, options.search.tenant_setting) if is_rls else ()
    return Description(
        server="PostgreSQL",
        server_version=f"{found.server}, pgvector {found.extension or 'absent'}",
        client="psycopg",
        client_version=f"{psycopg.__version__}, pgvector {version('pgvector')}",
        settings={
            **_of_table(found, tenant, vector),
            "text_search_config": config,
            **told,
            **{name: sent[name] for name in IN_STATEMENT},
            "layout": settings.layout,
        },
        chunks=chunks or {},
        properties=frozenset() if exact else frozenset({"approximate"}),
        unchecked=tuple(unchecked),
        weaknesses=tuple(weak),
        slow=slowness(found, settings.layout, tenant, options, usable),
        unbound=tuple(open_to),
    )


def _unchecked_of_attached(
    found: Catalog, vector: str, usable: Usable, *, is_rls: bool
) -> Iterator[str]:
    yield "text_search_config: written into each statement, not kept"
    if not usable.named:
        yield "rows without an id: this role could not look for them, or not in time"
    if vector and not found.columns[vector].size:
        yield f"dimension: column {vector!r} takes vectors of any length"
    if is_rls and found.kind == "v":
        yield (
            f"the condition of view {found.name}, and row-level security of the tables under it: "
            "whether they keep tenants apart is shown by questions alone"
        )


def _of_table(found: Catalog, tenant: str, vector: str) -> dict[str, object]:
    index = found.vector_index
    return {
        "fsync": found.fsync,
        "role_skips_row_security": found.superuser or found.bypasses,
        "row_security": _row_security(found),
        "policies": {policy.name: policy.condition for policy in found.policies},
        "tenant_column": str(found.columns[tenant]),
        "vector_column": found.columns[vector].type if vector in found.columns else None,
        "partitions": found.partitions,
        "partition_key": found.partition_key,
        "indexes": ", ".join(sorted({each.method for each in found.indexes})),
        "index_definitions": [
            each.definition.replace(f" {found.schema}.", " ") for each in found.indexes
        ],
        "index": index.method if index else "none",
        **(_of_index(index) if index else {}),
    }


def _row_security(found: Catalog) -> str:
    if not found.secured:
        return "off"
    return "forced" if found.forced else "on"


def _of_index(index: Index) -> dict[str, object]:
    """How the index was made, by its operator class and its storage parameters."""
    words = list(chain.from_iterable(name.split("_") for name in index.classes))
    quantized = (kind for word, kind in _QUANTIZATIONS.items() if word in words)
    metric = (name for word, name in _METRICS.items() if word in words)
    quantization = next(quantized, "none")
    return {
        "quantization": quantization,
        "metric": "cosine" if quantization == "binary" else next(metric, "unknown"),
        **{name: int(value) for name, value in index.options.items()},
    }
