"""An index of the user's: bound to, its fields checked, and nothing written to it.

Only the index's own account of itself is read; a credential that may search and not read
that is told in `Description.unchecked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrieverbench.adapter import Attached, Settings
from retrieverbench.errors import BackendError, InputError, Refused, Rejected
from retrieverbench.options import nearest
from retrieverbench.remote.lucene.answers import tenant_field_fault
from retrieverbench.remote.lucene.indices import Indices
from retrieverbench.remote.lucene.mapping import WHOLE, field_at, flat_names, kind_at, vector_kind
from retrieverbench.remote.lucene.requests import ID, Fields, Json, dump
from retrieverbench.remote.unnamed import unnamed_fault, without_vector

_NAME = re.compile(r"[^\s*,?\"<>|\\/#:+_-][^\s*,?\"<>|\\/#:]*")
_EXACT = frozenset({"keyword", "boolean", "date", "ip", *WHOLE, "double", "float"})
_TEXTS = frozenset({"text", "match_only_text"})
_VECTORS = frozenset({"dense_vector", "knn_vector"})
_COSINE = frozenset({"cosine", "cosinesimil"})
_AGAIN = "; change its mapping and index again, or name another field"
_UNREAD = (
    "mapping and settings of the index: the credential may not read them "
    "(it needs view_index_metadata), so no field is checked"
)


def attached_fields(attached: Attached | None) -> Fields | None:
    """The mapping of an attached index; None where nothing is attached."""
    if attached is None:
        return None
    return Fields(
        attached.id, attached.tenant, attached.text, attached.vector, dict(attached.metadata)
    )


async def bind(indices: Indices, settings: Settings, *, by_script: bool = False) -> None:
    """Check the user's index as far as the credential goes; `by_script` compares every chunk.

    Raises InputError with one line for everything that is not there or does not fit.
    """
    attached, fields = settings.attached, indices.text.names
    assert attached is not None
    wrong = []
    if settings.layout != "filter":
        wrong.append(f"layout: {settings.layout!r} cannot be attached; use filter")
    if _NAME.fullmatch(attached.name) is None:
        wrong.append(f"attach.name: {attached.name!r} is no name of one index or alias")
    if not wrong:
        try:
            got = await indices.send("GET", f"/{attached.name}")
        except Refused:
            indices.unchecked = (_UNREAD,)
            return
        except Rejected as error:
            known = await _names(indices)
            told = f"{error}; {nearest(attached.name, known)}" if known else str(error)
            raise InputError(f"{indices.backend}: attach.name: {attached.name!r}: {told}") from None
        kinds = {kind_at(index["mappings"], fields.tenant) for index in got.values()}
        if len(kinds & {"keyword", *WHOLE}) > 1:
            told = " and ".join(sorted(map(str, kinds)))
            wrong.append(
                f"attach.tenant: {fields.tenant!r} is {told} in the indices behind "
                f"{attached.name!r}: a question has one of them; attach one index"
            )
        if len(got) > 1 and fields.id == ID:
            told = f"{ID!r} tells documents of one index apart, and {len(got)} are behind"
            remedy = "equal ids count as one chunk; map a field of the documents"
            indices.weak += (f"attach.id: {told} {attached.name!r}: {remedy}",)
        indices.weak += tuple(_of_alias(attached.name, got))
        indices.owners = next((WHOLE[kind] for kind in WHOLE if kind in kinds), None)
        for index in got.values():
            found = list(_absent(fields, index["mappings"]))
            wrong += found or _faults(settings, fields, index, by_script=by_script)
            indices.body = {"mappings": index["mappings"]}
            indices.weak += tuple(_weaknesses(settings, fields, index))
    if wrong := wrong or await _unnamed(indices, attached):
        raise InputError(*(f"{indices.backend}: {fault}" for fault in dict.fromkeys(wrong)))
    indices.weak += await _without_vector(indices, settings, attached)


async def _names(indices: Indices) -> set[str]:
    """Of indices and aliases; none where the credential may not list them."""
    try:
        found = await indices.send("GET", "/_alias")
    except BackendError:
        return set()
    names = {*found, *(alias for index in found.values() for alias in index["aliases"])}
    return {name for name in names if not name.startswith(".")}


async def _unnamed(indices: Indices, attached: Attached) -> list[str]:
    """Documents of somebody's whose id is empty, or so long that the mapping leaves it out."""
    if attached.id == ID:
        return []
    empty: list[Json] = [{"bool": {"must_not": [{"exists": {"field": attached.id}}]}}]
    if kind_at(indices.body["mappings"], attached.id) == "keyword":
        empty.append({"term": {attached.id: ""}})
    owned = [{"exists": {"field": attached.tenant}}]
    found_by = {"bool": {"filter": owned, "should": empty, "minimum_should_match": 1}}
    found = await _found(indices, found_by)
    shown = [f"the first is {hit['_id']!r}" for hit in found["hits"]]
    count = found["total"]["value"]
    return [unnamed_fault(attached.id, count, "document", first) for first in shown]


async def _without_vector(
    indices: Indices, settings: Settings, attached: Attached
) -> tuple[str, ...]:
    """Documents of somebody's that no vector search can find."""
    if not settings.modes & {"dense", "hybrid"}:
        return ()
    owned = [{"exists": {"field": attached.tenant}}]
    empty = [{"exists": {"field": attached.vector}}]
    found = await _found(indices, {"bool": {"filter": owned, "must_not": empty}})
    count = found["total"]["value"]
    return (without_vector(count, "documents", attached.vector),) if count else ()


async def _found(indices: Indices, query: Json) -> Json:
    """How many documents a query finds, and the first."""
    body = {"query": query, "size": 1, "_source": False, "track_total_hits": True}
    answer = await indices.send("POST", f"/{indices.place}/_search", dump(body))
    found: Json = answer["hits"]
    return found


def _absent(fields: Fields, mappings: Json) -> Iterator[str]:
    roles = [("id", fields.id), ("tenant", fields.tenant), ("vector", fields.vector)]
    roles += [("text", name) for name in fields.text]
    roles += [(f"metadata.{key}", name) for key, name in (fields.metadata or {}).items()]
    for role, name in roles:
        if not name or (role, name) == ("id", ID):
            continue
        field = field_at(mappings, name)
        if field is None:
            yield f"attach.{role}: {_why_absent(mappings, name)}"
        elif field.get("type") == "alias":
            yield f"attach.{role}: {name!r} is an alias of {field.get('path')!r}; name that"


def _why_absent(mappings: Json, path: str) -> str:
    """A field may be there and yet be none that a plain condition reaches."""
    outer, dot = path, "."
    while dot:
        outer, dot, _ = outer.rpartition(".")
        kind = kind_at(mappings, outer, nested=True)
        if kind == "nested":
            return (
                f"{path!r} lies in the nested object {outer!r}, which no plain condition reaches; "
                "map the value beside it (include_in_root, or a field of its own)"
            )
        if kind in {"flattened", "flat_object"}:
            return f"{path!r} lies in {outer!r}, which is {kind}; map it as a field of its own"
    return f"the index has no field {path!r}; {nearest(path, flat_names(mappings))}"


def _faults(settings: Settings, fields: Fields, index: Json, *, by_script: bool) -> list[str]:
    mappings: Json = index["mappings"]
    exact = [("id", fields.id)] if fields.id != ID else []
    exact += [(f"metadata.{key}", name) for key, name in (fields.metadata or {}).items()]
    found = []
    if fault := tenant_field_fault(index, fields.tenant):
        found.append(f"attach.tenant: {fields.tenant!r}: {fault}")
    for role, name in [*exact, ("tenant", fields.tenant)]:
        field = field_at(mappings, name) or {}
        allowed = {"keyword", *WHOLE} if role == "id" else _EXACT
        if role != "tenant" and field.get("type") not in allowed:
            found.append(f"attach.{role}: {name!r} is {field.get('type')}; map a keyword field")
        elif field.get("index") is False:
            found.append(
                f"attach.{role}: {name!r} is not indexed, so nothing can be found by it{_AGAIN}"
            )
        elif role in {"id", "tenant"} and field.get("doc_values") is False:
            found.append(
                f"attach.{role}: {name!r} has no doc_values, so hits could not be named{_AGAIN}"
            )
    if fields.id != ID and "normalizer" in (field_at(mappings, fields.id) or {}):
        found.append(
            f"attach.id: {fields.id!r} has a normalizer, which changes the ids it gives{_AGAIN}"
        )
    if settings.modes & {"lexical", "hybrid"}:
        found += _text_faults(fields, mappings)
    if settings.modes & {"dense", "hybrid"}:
        found += _vector_faults(settings, fields, index, by_script=by_script)
    return found


def _text_faults(fields: Fields, mappings: Json) -> Iterator[str]:
    if not fields.text:
        yield "attach.text: missing; lexical and hybrid mode search by it"
    for name in fields.text:
        field = field_at(mappings, name) or {}
        if field.get("type") not in _TEXTS:
            kind = field.get("type")
            yield f"attach.text: {name!r} is {kind}, not text: it is not analysed{_AGAIN}"
        elif field.get("index") is False:
            yield f"attach.text: {name!r} is not indexed, so its words are not found{_AGAIN}"


def _vector_faults(
    settings: Settings, fields: Fields, index: Json, *, by_script: bool
) -> Iterator[str]:
    if not fields.vector:
        yield "attach.vector: missing; dense and hybrid mode search by it"
        return
    field = field_at(index["mappings"], fields.vector) or {}
    if field.get("type") not in _VECTORS:
        kind = field.get("type")
        yield f"attach.vector: {fields.vector!r} is {kind}, no field of vectors; name one"
        return
    size = field.get("dims", field.get("dimension"))
    if size != settings.dimension:
        yield (
            f"attach.vector: {fields.vector!r} has {size} dimensions, the embedding "
            f"{settings.dimension}; use the embedding that the index was built with"
        )
    if by_script:
        return
    searchable = field.get("index", True) is not False
    if field["type"] == "knn_vector":
        searchable = str(index["settings"]["index"].get("knn")).lower() == "true"
    if not searchable:
        yield f"attach.vector: {fields.vector!r} is not indexed for nearest neighbours{_AGAIN}"
    if field.get("method", {}).get("engine") == "nmslib":
        yield (
            f"attach.vector: {fields.vector!r} is of the engine nmslib, which filters after the "
            "search; use options.search.exact = true, or rebuild with lucene or faiss"
        )


def _weaknesses(settings: Settings, fields: Fields, index: Json) -> Iterator[str]:
    """What does not keep the index from being searched, and makes the figures worth less."""
    owner = field_at(index["mappings"], fields.tenant) or {}
    if "null_value" in owner:
        yield (
            f"attach.tenant: {fields.tenant!r} has the null_value {owner['null_value']!r}: who is "
            "called so finds documents without an owner; map it without one"
        )
    identity = field_at(index["mappings"], fields.id) or {}
    if "ignore_above" in identity:
        yield (
            f"attach.id: {fields.id!r} ignores values above {identity['ignore_above']} "
            "characters; chunks of longer ids cannot be named; index it again with a larger "
            "ignore_above"
        )
    vector = field_at(index["mappings"], fields.vector) or {}
    told = vector.get("similarity", vector.get("method", {}).get("space_type"))
    similarity = told or vector.get("space_type")
    is_asked = fields.vector and settings.modes & {"dense", "hybrid"}
    if is_asked and vector_kind(vector) and similarity not in {None, *_COSINE}:
        yield (
            f"attach.vector: {fields.vector!r} ranks by {similarity}, the reference by cosine: "
            "they agree for vectors of length one only"
        )


def _of_alias(name: str, got: Json) -> Iterator[str]:
    """What an alias keeps from being judged."""
    if any("filter" in index.get("aliases", {}).get(name, {}) for index in got.values()):
        yield (
            f"attach.name: {name!r} is an alias with a filter: documents that do not meet it are "
            "neither searched nor counted; attach the index to have all judged"
        )
