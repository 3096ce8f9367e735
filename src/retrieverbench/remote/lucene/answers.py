"""Answers: hits, failures of bulk items, and what an index differs in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from retrieverbench.errors import AdapterError, plural
from retrieverbench.model import Hit, Query, Response
from retrieverbench.model.tenant import MAX_TENANT_BYTES
from retrieverbench.remote.fusion import reciprocal_rank_fusion
from retrieverbench.remote.lucene.mapping import WHOLE, field_at
from retrieverbench.remote.lucene.requests import ID, Fields, Json
from retrieverbench.remote.order import ties_by_uid
from retrieverbench.remote.status import error_for, one_line
from retrieverbench.remote.unnamed import NAME_IT


def object_in(answer: object, backend: str, path: str) -> object:
    """The body of an answer, an object or yes and no; whatever else is AdapterError."""
    if not isinstance(answer, Mapping | bool):
        found = one_line(repr(answer), 100)
        raise AdapterError(f"{backend}: {path}: the answer is no JSON object: {found}")
    return answer


def read_response(answer: Json, query: Query, fields: Fields) -> Response:
    """The hits of one search, best first, ties by uid."""
    found = answer["hits"]
    whole = "text" in query.want
    hits = ties_by_uid(read_hit(hit, fields, whole=whole) for hit in found["hits"])
    total = found.get("total", {}).get("value") if query.mode == "lexical" else None
    partial = bool(answer["timed_out"] or answer["_shards"]["failed"])
    return Response(hits, float(answer["took"]), partial, total)


def read_fused(backend: str, answer: Json, query: Query, fields: Fields, rrf_k: int) -> Response:
    """The searches of a multi-search, fused by rank; one that failed is an error of the whole."""
    check_searches(backend, answer)
    legs = [read_response(leg, query, fields) for leg in answer["responses"]]
    best = reciprocal_rank_fusion((leg.hits for leg in legs), rrf_k, query.k)
    return Response(best, float(answer["took"]), any(leg.partial for leg in legs))


def check_searches(backend: str, answer: Json) -> None:
    """Raise for the first search of a multi-search that failed."""
    for leg in answer["responses"]:
        if "error" in leg:
            text = f"{backend}: {leg['status']}: {error_words(leg['error'])}"
            raise error_for(leg["status"], text)


def read_hit(hit: Json, fields: Fields, *, whole: bool) -> Hit:
    """One hit, with its text if `whole`. Raises AdapterError for one that cannot be named."""
    shown = hit.get("fields", {})
    uid = hit["_id"] if fields.id == ID else _first(shown.get(fields.id))
    if uid is None:
        told = f"attach.id: document {hit.get('_id')!r} has no value in its field {fields.id!r}"
        raise AdapterError(told, remedy=NAME_IT)
    tenant = _first(shown.get(fields.tenant))
    text = "\n".join(_texts(hit["_source"], fields.text)) if whole else None
    return Hit(str(uid), hit["_score"], None if tenant is None else str(tenant), text)


def _first(values: Sequence[object] | None) -> object:
    return values[0] if values else None


def _texts(source: Json, names: Iterable[str]) -> Iterator[str]:
    """The texts of these fields, a dot in a name leading into an object or to a sub-field."""
    for name in names:
        for value in listed(value_at(source, name)):
            if isinstance(value, str) and value:
                yield value


def value_at(source: object, path: str) -> object:
    """What a document holds under a path; a sub-field has no value of its own in it."""
    if not isinstance(source, Mapping):
        return source
    if path in source:
        return source[path]
    head, dot, rest = path.partition(".")
    return value_at(source[head], rest) if dot and head in source else None


def listed(value: object) -> Sequence[object]:
    """A field's values: many, one or none."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def check_bulk(backend: str, answer: Json, sent: int, done: str = "stored") -> None:
    """Raise for the first item that failed, with the number of all that did."""
    results = [result for item in answer["items"] for result in item.values()]
    failed = [result for result in results if "error" in result]
    if failed:
        first = failed[0]
        raise error_for(
            first["status"],
            f"{backend}: {first['status']}: {len(failed)} of {sent} chunks were not {done}; "
            f"the first, {first['_id']!r}: {error_words(first['error'])}",
        )
    if len(results) != sent:
        raise AdapterError(f"{backend}: {plural(sent, 'chunk')} sent, {len(results)} acknowledged")


def error_words(error: object) -> str:
    """`type: reason` of the root cause, which says more than the error around it."""
    if not isinstance(error, dict):
        return one_line(str(error))
    root = (error.get("root_cause") or [error])[0]
    found = f"{root.get('type')}: {root.get('reason')}"
    cause = (error.get("caused_by") or {}).get("reason")
    return one_line(found if cause is None or cause in found else f"{found}; {cause}")


def difference(wanted: Json, got: Json) -> str:
    """The first thing in which an index differs from the wanted one; "" if it does not."""
    have = {key: as_text(value) for key, value in flat("", got).items()}
    for key, value in flat("", wanted).items():
        if have.get(key) != as_text(value):
            return f"{key} is {have.get(key)}, wanted {value}"
    more = set(got["mappings"]["properties"]) - set(wanted["mappings"]["properties"])
    return f"it has the field {min(more)!r}" if more else tenant_field_fault(got)


def tenant_field_fault(index: Json, name: str = "tenant") -> str:
    """Why the tenant field of an index is not matched exactly; "" if it is.

    A whole number is: what is no number in its very digits is never asked for.
    """
    tenant: Json = field_at(index["mappings"], name) or {}
    kind = tenant.get("type")
    if kind in WHOLE:
        return ""
    if kind != "keyword":
        parts: Json = tenant.get("fields", {})
        exact = [part for part, told in parts.items() if told.get("type") == "keyword"]
        remedy = f"name {name}.{exact[0]}" if exact else "map it as keyword and index it again"
        return f"the tenant field is {kind}, not keyword: tenants are not matched exactly; {remedy}"
    if "normalizer" in tenant:
        return (
            f"the tenant field has the normalizer {tenant['normalizer']!r}: tenants can coincide; "
            "map it without one and index it again"
        )
    settings: Json = index["settings"]["index"]
    shortest = tenant.get("ignore_above", settings.get("mapping", {}).get("ignore_above"))
    if shortest is not None and int(str(shortest)) < MAX_TENANT_BYTES:
        return (
            f"the tenant field ignores values above {shortest} characters, and a tenant may have "
            f"{MAX_TENANT_BYTES}: chunks of long tenants are not found; index it again "
            f"with an ignore_above of {MAX_TENANT_BYTES} or more"
        )
    return ""


def as_text(value: object) -> str:
    """A setting or parameter as the servers write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat(prefix: str, tree: Json) -> Json:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    leaves: Json = {}
    for name, value in tree.items():
        key = f"{prefix}.{name}" if prefix else name
        leaves |= flat(key, value) if isinstance(value, dict) else {key: value}
    return leaves
