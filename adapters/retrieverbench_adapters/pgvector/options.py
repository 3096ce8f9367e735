"""What a suite may set for this adapter, and what its settings must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from retrieverbench.adapter import OWN_PREFIX, Settings
from retrieverbench.errors import InputError

Metric = Literal["cosine", "inner_product", "l2"]
Quantization = Literal["none", "halfvec", "binary"]

TOLD_OF_ATTACHED = frozenset({"metric", "quantization", "text_search_config"})
"""Options of `place` that say how a user's table was made; the others build one."""
SECRETS = frozenset({"user", "password", "search_user", "search_password"})


@dataclass(frozen=True, slots=True)
class Connect:
    """Seconds: to connect, and for everything that `settle` does."""

    connect_timeout: Annotated[int, Ge(2)] = 10
    settle_timeout: Annotated[float, Gt(0)] = 3600.0


@dataclass(frozen=True, slots=True)
class Place:
    """What is built, or how the user's table was. Without an index dense search is exact.

    `quantization` is what the HNSW index holds: the vectors, half-precision numbers, or one
    bit a number; the candidates found so are ordered again by the vectors themselves.
    """

    index: Literal["hnsw", "none"] = "hnsw"
    m: Annotated[int, Ge(2), Le(100)] = 16
    ef_construction: Annotated[int, Ge(4), Le(1000)] = 64
    metric: Metric = "cosine"
    quantization: Quantization = "none"
    text_search_config: str = "english"
    maintenance_work_mem: str = "512MB"


@dataclass(frozen=True, slots=True)
class Search:
    """How questions are asked.

    `exact` never uses the approximate index; `force_index` uses it wherever that is possible,
    also where the planner would rather read all rows of the tenant. `depth` is each leg's
    length before fusion, at least k. `oversampling` is how many candidates the dense leg takes
    from the index for each result, before it orders them by the vectors themselves. `probes`
    is for IVFFlat indexes.
    `tenant_setting` is the variable that the policies of row-level security read.
    """

    exact: bool = False
    force_index: bool = False
    ef_search: Annotated[int, Ge(1), Le(1000)] = 40
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] = "strict_order"
    max_scan_tuples: Annotated[int, Ge(1)] = 20_000
    scan_mem_multiplier: Annotated[float, Ge(1), Le(1000)] = 1.0
    probes: Annotated[int, Ge(1), Le(32768)] = 1
    oversampling: Annotated[int, Ge(1), Le(1000)] = 1
    work_mem: str = "64MB"
    plan_cache_mode: Literal["force_custom_plan", "force_generic_plan", "auto"] = (
        "force_custom_plan"
    )
    ranking: Literal["ts_rank_cd", "ts_rank"] = "ts_rank_cd"
    normalization: Annotated[int, Ge(0), Le(63)] = 0
    rrf_k: Annotated[int, Ge(1)] = 60
    dense_weight: Annotated[float, Ge(0), Le(1000)] = 1.0
    lexical_weight: Annotated[float, Ge(0), Le(1000)] = 1.0
    depth: Annotated[int, Ge(1)] = 100
    tenant_setting: str = "retrieverbench.tenant"


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def check_settings(settings: Settings, options: Options, capabilities: frozenset[str]) -> None:
    """Raise InputError with one line per fault."""
    faults = [f"pgvector: {fault}" for fault in _faults(settings, options, capabilities)]
    if faults:
        raise InputError(*faults)


def _faults(settings: Settings, options: Options, capabilities: frozenset[str]) -> Iterator[str]:
    if settings.layout not in capabilities:
        yield f"layout: {settings.layout!r} is not there; use filter, partition, index, rls"
    needs_vectors = settings.modes & {"dense", "hybrid"}
    if settings.dimension <= 0 and needs_vectors:
        yield "dimension: 0 with a mode that needs vectors; choose an embedder"
    for name in sorted(settings.secrets.keys() - SECRETS):
        yield f"secrets: {name!r} is unknown; use {', '.join(sorted(SECRETS))}"
    search = options.search
    if not search.dense_weight + search.lexical_weight:
        yield "search.dense_weight, search.lexical_weight: both are 0; give one leg a weight"
    if search.exact and search.force_index:
        yield "search.exact, search.force_index: both are true; keep one"
    if "." not in search.tenant_setting:
        yield (
            f"search.tenant_setting: {search.tenant_setting!r} has no dot; "
            "PostgreSQL names such variables 'prefix.name'"
        )
    if options.place.quantization == "binary" and options.place.metric != "cosine":
        yield "place.metric: with quantization 'binary' only 'cosine' keeps the order of signs"
    if settings.attached is None:
        yield from _faults_of_own(settings)
    else:
        yield from _faults_of_attached(settings)


def _faults_of_own(settings: Settings) -> Iterator[str]:
    if not settings.place.startswith(OWN_PREFIX):
        yield f"place: {settings.place!r} does not begin with {OWN_PREFIX!r}"
    named = settings.secrets.keys() & {"search_user", "search_password"}
    if named and settings.layout != "rls":
        yield f"secrets: {min(named)!r} is for layout rls only; it names the role that searches"
    if len(named) == 1:
        yield f"secrets: {min(named)!r} is given alone; give search_user and search_password"


def _faults_of_attached(settings: Settings) -> Iterator[str]:
    attached = settings.attached
    assert attached is not None
    if settings.layout == "index":
        yield "layout: an attached table is one table; attach with layout filter, partition or rls"
    if settings.modes & {"dense", "hybrid"} and not attached.vector:
        yield "attach.vector: missing; name the column that dense mode searches"
    if settings.modes & {"lexical", "hybrid"} and not attached.text:
        yield "attach.text: missing; name the columns that lexical mode searches"
    for name in sorted(settings.options.get("place", {}).keys() - TOLD_OF_ATTACHED):
        yield (
            f"place.{name}: an attached table is not built; "
            f"only {', '.join(sorted(TOLD_OF_ATTACHED))} say how it was made"
        )
    for name in sorted(settings.secrets.keys() & {"search_user", "search_password"}):
        yield f"secrets: {name!r} is for a place of our own; an attached table is read as 'user'"
