"""Qdrant's query language (REST) in the engine's own objects.

Where the engine in process answers otherwise than the server (it takes `true` for 1, a
limit of 0 for an empty answer, an empty condition for "nothing"), the server's answer is
given or the request refused; see `bodies` for the two kinds of refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrieverbench.engines.qdrant.bodies import (
    Sparse,
    dense,
    document,
    invalid,
    malformed,
    point_id,
    sparse,
    take,
    untranslated,
    whole_number,
    wrong,
)
from retrieverbench.engines.qdrant.rows import bm25

if TYPE_CHECKING:
    import qdrant_edge as edge

_CLAUSES = ("should", "min_should", "must", "must_not")
_CONDITIONS = ("match", "range", "values_count", "is_empty", "is_null")
_CONDITIONS_KNOWN = ("geo_bounding_box", "geo_radius", "geo_polygon")
_BOUNDS = ("gt", "gte", "lt", "lte")
_QUERY = ("prefetch", "query", "using", "filter", "params", "score_threshold", "limit")
_QUERY_KNOWN = ("lookup_from",)
_DEFAULT_LIMIT = 10


def to_filter(body: Any, *, strict: bool) -> edge.Filter:
    """A filter object; an unknown key is refused, as the server itself does here."""
    import qdrant_edge as edge

    if not isinstance(body, dict):
        raise malformed("invalid type, expected struct Filter")
    for key in body:
        if key not in _CLAUSES:
            expected = ", ".join(f"`{name}`" for name in _CLAUSES)
            raise malformed(f"unknown field `{key}`, expected one of {expected}")
    if body.get("min_should") is not None:
        raise untranslated("filter.min_should")
    clauses: dict[str, Any] = {}
    for key in ("must", "should", "must_not"):
        value = body.get(key)
        if value is None:
            continue
        conditions = value if isinstance(value, list) else [value]
        clauses[key] = [_condition(one, strict=strict) for one in conditions]
    return edge.Filter(**clauses)


def _condition(body: Any, *, strict: bool) -> Any:
    import qdrant_edge as edge

    if not isinstance(body, dict):
        raise malformed("data did not match any variant of untagged enum Condition")
    if "key" in body:
        return _field_condition(body, strict=strict)
    if "has_id" in body:
        ids = take(body, "HasIdCondition", ("has_id",), strict=strict)["has_id"]
        return edge.HasIdCondition({point_id(one) for one in ids})
    if "has_vector" in body:
        of = take(body, "HasVectorCondition", ("has_vector",), strict=strict)["has_vector"]
        return edge.HasVectorCondition(of)
    for name in ("nested", "slice"):
        if name in body:
            raise untranslated(f"filter.{name}")
    for name, kind in (("is_empty", edge.IsEmptyCondition), ("is_null", edge.IsNullCondition)):
        if name in body:
            inner = take(body, "Condition", (name,), strict=strict)[name]
            return kind(take(inner, "PayloadField", ("key",), strict=strict)["key"])
    return to_filter(body, strict=strict)


def _field_condition(body: dict[str, Any], *, strict: bool) -> edge.FieldCondition:
    import qdrant_edge as edge

    fields = take(body, "FieldCondition", ("key", *_CONDITIONS), _CONDITIONS_KNOWN, strict=strict)
    if len(fields) < 2:
        raise invalid("filter", "At least one field condition must be specified")
    if type(fields["key"]) is not str or not fields["key"]:
        raise malformed(f"Invalid json path: '{fields['key']}'")
    arguments: dict[str, Any] = {
        key: fields[key] for key in ("is_empty", "is_null") if key in fields
    }
    if "match" in fields:
        arguments["match"] = _match(fields["match"])
    if "range" in fields:
        bounds = take(fields["range"], "Range", _BOUNDS, strict=strict)
        if any(type(bound) not in {int, float} for bound in bounds.values()):
            raise untranslated("filter.range of other than numbers")
        arguments["range"] = edge.RangeFloat(**bounds)
    if "values_count" in fields:
        bounds = take(fields["values_count"], "ValuesCount", _BOUNDS, strict=strict)
        counts = {key: whole_number(value, key, 0) for key, value in bounds.items()}
        arguments["values_count"] = edge.ValuesCount(**counts)
    return edge.FieldCondition(fields["key"], **arguments)


def _match(body: Any) -> Any:
    import qdrant_edge as edge

    refused = malformed("data did not match any variant of untagged enum MatchInterface")
    if not isinstance(body, dict) or not body.keys() & _MATCHES:
        raise refused
    kind = next(key for key in body if key in _MATCHES)  # the server ignores keys beside it
    value = body[kind]
    if kind == "value":
        if type(value) is bool:
            raise untranslated("filter.match.value of type bool")
        if type(value) is str or (type(value) is int and -(2**63) <= value < 2**63):
            return edge.MatchValue(value)
        raise refused
    if kind in {"any", "except"}:
        if not isinstance(value, list) or not (
            all(type(one) is str for one in value) or all(type(one) is int for one in value)
        ):
            raise refused
        return edge.MatchAny(value) if kind == "any" else edge.MatchExcept(value)
    raise untranslated(f"filter.match.{kind}")


_MATCHES = frozenset({
    "value", "any", "except", "text", "text_any", "phrase", "prefix", "substring",
})  # fmt: skip


def to_params(body: Any, path: str, *, strict: bool) -> edge.SearchParams:
    """Search parameters: `hnsw_ef`, `exact`, `indexed_only`, `idf`, `quantization`."""
    import qdrant_edge as edge

    fields = take(
        body,
        "SearchParams",
        ("hnsw_ef", "exact", "indexed_only", "idf", "quantization"),
        ("acorn",),
        strict=strict,
    )
    for key in ("exact", "indexed_only"):
        if key in fields and type(fields[key]) is not bool:
            raise malformed(f"invalid type for {path}.{key}, expected a boolean")
    if "hnsw_ef" in fields:
        whole_number(fields["hnsw_ef"], f"{path}.hnsw_ef", 1)
    if "quantization" in fields:
        fields["quantization"] = _quantization(fields["quantization"], path, strict=strict)
    scope = fields.pop("idf", "global")
    if scope == "global":
        return edge.SearchParams(**fields)
    if not isinstance(scope, dict) or not isinstance(scope.get("corpus"), dict):
        raise malformed("data did not match any variant of untagged enum IdfParams")
    corpus = take(scope, "IdfCorpusParams", ("corpus",), strict=True)["corpus"]
    return edge.SearchParams(**fields, idf=edge.IdfParams(corpus=to_filter(corpus, strict=strict)))


def _quantization(body: Any, path: str, *, strict: bool) -> edge.QuantizationSearchParams:
    import qdrant_edge as edge

    keys = ("ignore", "rescore", "oversampling")
    fields = take(body, "QuantizationSearchParams", keys, strict=strict)
    for key in ("ignore", "rescore"):
        if key in fields and type(fields[key]) is not bool:
            raise malformed(f"invalid type for {path}.quantization.{key}, expected a boolean")
    factor = fields.get("oversampling", 1.0)
    if type(factor) not in {int, float}:
        raise malformed(f"invalid type for {path}.quantization.oversampling, expected f64")
    if factor < 1:
        where = f"{path}.quantization.oversampling"
        raise invalid(where, f"value {factor} invalid, must be 1.0 or larger")
    return edge.QuantizationSearchParams(**fields)


def to_query(body: Any, *, strict: bool) -> edge.QueryRequest:
    """A whole query request with its prefetches to any depth."""
    import qdrant_edge as edge

    fields = take(
        body,
        "QueryRequest",
        (*_QUERY, "offset", "with_payload", "with_vector", "with_vectors", "shard_key"),
        _QUERY_KNOWN,
        strict=strict,
    )
    stage = _stage(fields, "internal", strict=strict)
    vector = fields.get("with_vector", fields.get("with_vectors", False))
    return edge.QueryRequest(
        **stage,
        offset=whole_number(fields.get("offset", 0), "internal.offset", 0),
        with_payload=to_selector(fields.get("with_payload", False)),
        with_vector=vector,
    )


def _prefetch(body: Any, *, strict: bool) -> edge.Prefetch:
    import qdrant_edge as edge

    fields = take(body, "Prefetch", _QUERY, _QUERY_KNOWN, strict=strict)
    return edge.Prefetch(**_stage(fields, "internal.prefetch", strict=strict))


def _stage(fields: dict[str, Any], path: str, *, strict: bool) -> dict[str, Any]:
    """What a query and a prefetch have in common, as arguments of either."""
    inner = fields.get("prefetch", [])
    prefetches = [
        _prefetch(one, strict=strict) for one in (inner if isinstance(inner, list) else [inner])
    ]
    query = _scoring(fields.get("query"), fields.get("using"), len(prefetches), strict=strict)
    if prefetches and query is None:
        raise wrong(
            "A query is needed to merge the prefetches. "
            "Can't have prefetches without defining a query."
        )
    stage: dict[str, Any] = {
        "limit": whole_number(fields.get("limit", _DEFAULT_LIMIT), f"{path}.limit", 1),
        "query": query,
        "prefetches": prefetches,
        "score_threshold": fields.get("score_threshold"),
    }
    if "filter" in fields:
        stage["filter"] = to_filter(fields["filter"], strict=strict)
    if "params" in fields:
        stage["params"] = to_params(fields["params"], f"{path}.params", strict=strict)
    return stage


def _scoring(body: Any, using: str | None, prefetches: int, *, strict: bool) -> Any:
    """What orders the rows of a stage: nearest, rrf, dbsf, or None for the order of ids."""
    import qdrant_edge as edge

    if body is None:
        return None
    if isinstance(body, dict) and "nearest" in body:
        take(body, "NearestQuery", ("nearest",), ("mmr",), strict=strict)
        body = body["nearest"]
    vector = _vector(body)
    if vector is not None:
        return edge.Query.Nearest(vector, using=using)
    if not isinstance(body, dict) or not body.keys() & {"fusion", "rrf"}:
        if type(body) in {int, str} or (isinstance(body, dict) and body.keys() & _OTHER_QUERIES):
            raise untranslated(f"query {sorted(body) if isinstance(body, dict) else 'by point id'}")
        raise malformed("Expected some form of vector, id, or a type of query")
    if using is not None:
        raise wrong("Fusion queries cannot be combined with the 'using' field.")
    if prefetches == 0:
        raise wrong("Validation failed: cannot apply Fusion without prefetches")
    return _fusion(body, prefetches, strict=strict)


_OTHER_QUERIES = frozenset({
    "recommend", "discover", "context", "order_by", "formula", "sample", "text",
    "relevance_feedback", "image", "object",
})  # fmt: skip


def _vector(body: Any) -> Any:
    import qdrant_edge as edge

    if isinstance(body, list):
        if not body:
            raise wrong("Vector dimension error: expected a vector, got 0")
        return dense(body, "query")
    if isinstance(body, dict) and "indices" in body:
        checked: Sparse = sparse(body, "query")
        return edge.SparseVector(checked.indices, checked.values)
    if isinstance(body, dict) and {"text", "model"} <= body.keys():
        asked = document(body, "query")
        return bm25(asked.options).embed_query(asked.text)
    return None


def _fusion(body: dict[str, Any], prefetches: int, *, strict: bool) -> Any:
    import qdrant_edge as edge

    if "fusion" in body:
        name = take(body, "FusionQuery", ("fusion",), strict=strict)["fusion"]
        if name == "dbsf":
            return edge.Fusion.Dbsf()
        if name == "rrf":
            return edge.Fusion.Rrf(k=2)
        raise malformed("Expected some form of vector, id, or a type of query")
    fields = take(body["rrf"], "Rrf", ("k", "weights"), strict=True)
    weights: Sequence[float] | None = fields.get("weights")
    if weights is not None and len(weights) != prefetches:
        raise wrong(
            f"RRF weights length ({len(weights)}) does not match number of prefetches "
            f"({prefetches})"
        )
    k = whole_number(fields.get("k", 2), "internal.query.rrf.k", 1)
    return edge.Fusion.Rrf(k=k, weights=None if weights is None else list(weights))


def to_selector(body: Any) -> Any:
    """Which payload keys an answer carries: a boolean, a list, `include` or `exclude`."""
    import qdrant_edge as edge

    if type(body) is bool:
        return body
    if isinstance(body, list):
        return body
    if isinstance(body, dict) and len(body) == 1:
        (kind, keys), *_ = body.items()
        if kind == "include":
            return edge.PayloadSelector.Include(keys)
        if kind == "exclude":
            return edge.PayloadSelector.Exclude(keys)
    raise malformed("data did not match any variant of untagged enum WithPayloadInterface")
