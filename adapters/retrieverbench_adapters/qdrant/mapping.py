"""Whether a collection of the user's has what the mapping says, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qdrant_client import models

from retrieverbench.adapter import Attached, Settings
from retrieverbench.options import nearest
from retrieverbench_adapters.qdrant.collection import dense_vectors
from retrieverbench_adapters.qdrant.fields import (
    POINT_ID,
    UNNAMED,
    Fields,
    is_path,
    uid_of,
    value_at,
)
from retrieverbench_adapters.qdrant.options import Search

_TYPES = models.PayloadSchemaType
_TEXTS = frozenset({_TYPES.KEYWORD, _TYPES.UUID})
"""Types of indexes that find a text, and can be told to be a tenant's."""


def slowness(information: models.CollectionInfo, fields: Fields) -> list[str]:
    """What costs every question time, one line each with a remedy."""
    indexes = information.payload_schema
    found = []
    tenant = indexes.get(fields.tenant)
    if not counts_by_index(information, fields):
        kind = "no index" if tenant is None else f"an index of type {tenant.data_type.value}"
        remedy = "an integer index" if fields.owners_numbered else "a keyword index with is_tenant"
        found.append(
            f"tenant field {fields.tenant!r} has {kind}: its condition is checked point by point, "
            f"and the graph is not built for it; create {remedy}"
        )
    elif fields.owners_numbered:
        found.append(
            f"tenant field {fields.tenant!r} holds numbers, whose index cannot be told to be a "
            "tenant's: points of one tenant do not lie together; store owners as text for that"
        )
    elif tenant and not getattr(tenant.params, "is_tenant", None):
        found.append(
            f"tenant field {fields.tenant!r}: its index is not told to be a tenant's: points of "
            "one tenant do not lie together; create it with is_tenant"
        )
    found += [
        f"field {field!r} of user conditions has no index: they are checked point by point; "
        "create one"
        for field in sorted({*(fields.where or {}).values()} - indexes.keys())
    ]
    return found


def counts_by_index(information: models.CollectionInfo, fields: Fields) -> bool:
    """Whether the server can count the tenant field's values itself."""
    index = information.payload_schema.get(fields.tenant)
    if index is None or not fields.owners_numbered:
        return index is not None and index.data_type in _TEXTS
    finds = getattr(index.params, "lookup", None) is not False  # or is for ranges alone
    return index.data_type == _TYPES.INTEGER and finds


def path_faults(attached: Attached) -> Iterator[str]:
    """Names of payload fields that Qdrant could not read."""
    named = {
        **({} if attached.id == POINT_ID else {"id": attached.id}),
        "tenant": attached.tenant,
        **{f"text[{n}]": field for n, field in enumerate(attached.text)},
        **{f"metadata.{key}": field for key, field in attached.metadata.items()},
    }
    for key, field in named.items():
        if not is_path(field):
            yield f'{key}: {field!r:.80} is no payload field; write name, outer.name or "a.b"'


def vector_faults(
    information: models.CollectionInfo, fields: Fields, settings: Settings, search: Search
) -> Iterator[str]:
    """Vectors that are not there, or not such as the questions are."""
    if settings.modes & {"dense", "hybrid"}:
        yield from _dense_faults(information, fields, settings)
    if not settings.modes & {"lexical", "hybrid"}:
        return
    sparse = information.config.params.sparse_vectors or {}
    if not fields.sparse:
        there = f"there are {', '.join(sorted(sparse))}" if sparse else "it has none"
        yield f"search.sparse: empty; lexical mode needs a sparse vector, and {there}"
    elif fields.sparse not in sparse:
        yield f"search.sparse: no sparse vector {fields.sparse!r}; {nearest(fields.sparse, sparse)}"
    elif search.idf == "tenant" and sparse[fields.sparse].modifier != models.Modifier.IDF:
        yield (
            f"search.idf: sparse vector {fields.sparse!r} is not weighted by IDF; set idf to "
            "'collection', which then changes nothing"
        )


def _dense_faults(
    information: models.CollectionInfo, fields: Fields, settings: Settings
) -> Iterator[str]:
    vectors = dense_vectors(information)
    found = vectors.get(fields.dense)
    shown = fields.dense or UNNAMED
    if found is None:
        known = nearest(shown, (name or UNNAMED for name in vectors))
        yield (
            f"vector: no vector {fields.dense!r}; {known}"
            if fields.dense
            else f"vector: none is named, and the collection has none without a name; {known}"
        )
    elif found.multivector_config is not None:
        yield f"vector: {shown!r} holds several vectors a point, and questions have one"
    elif found.size != settings.dimension:
        yield (
            f"vector: {shown!r} has {found.size} dimensions, and questions have "
            f"{settings.dimension}; embed them with the model that made the collection"
        )


def payload_faults(sample: models.Record | None, fields: Fields) -> Iterator[str]:
    """Fields that a point with an owner does not have, or not as text; None: there is none."""
    if sample is None:
        yield f"tenant: no point has a payload field {fields.tenant!r}"
        return
    payload = sample.payload or {}
    owner = value_at(payload, fields.tenant)
    if type(owner) not in {str, int}:
        yield (
            f"tenant: field {fields.tenant!r} of point {sample.id} holds {_kind(owner)}, neither "
            "text nor a whole number: no tenant is compared with it exactly; name a field that "
            "holds one owner in each point, as text or as a whole number"
        )
    if uid_of(sample.id, payload, fields) is None:
        yield (
            f"id: point {sample.id} has no text or number in payload field {fields.uid!r}; "
            f"{nearest(fields.uid, payload)}; write {POINT_ID} for the point's own id"
        )


def strict_faults(information: models.CollectionInfo, fields: Fields) -> Iterator[str]:
    """What the server's strict mode will answer to every search."""
    strict = information.config.strict_mode_config
    if strict is None or not strict.enabled or strict.unindexed_filtering_retrieve is not False:
        return
    if fields.tenant not in information.payload_schema:
        yield (
            f"tenant: strict mode refuses conditions on {fields.tenant!r}, which has no index; "
            "create a keyword index with is_tenant"
        )


def _kind(value: object) -> str:
    kinds: Mapping[type, str] = {
        float: "a number", bool: "true or false", list: "a list", dict: "an object"
    }  # fmt: skip
    return kinds.get(type(value), "nothing")
