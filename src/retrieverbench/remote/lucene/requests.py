"""Bodies of requests: chunk or query in, JSON out, nothing else."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from retrieverbench.errors import InputError, Rejected, TenantError
from retrieverbench.model import Chunk, Layout, Query, TenantId, Value
from retrieverbench.remote.characters import is_unicode
from retrieverbench.remote.numbers import whole_number
from retrieverbench.remote.terms import metadata_term

Json = dict[str, Any]
Isolation = Layout | Literal["alias"]
"""A layout, or `alias`: one index, and for each tenant an alias with the condition in it."""

_ID_BYTES = 512  # the longest _id that the servers take
_TERM_BYTES = 32_766  # the longest term that the servers take
_TERM_LENGTH = 8_000  # longer terms are stored as their sum; every character within _TERM_BYTES
_APART = ("title", "text")


ID = "_id"
"""As the name of an attached index's id field: the document's own id."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields hold what, in an index of ours or of the user's.

    `text` are searched in lexical mode and make up a chunk's text. `metadata` maps names of
    user conditions to fields; None means pairs of name and value in one field of ours.
    """

    id: str
    tenant: str
    text: tuple[str, ...]
    vector: str
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What keeps a request to one tenant: where it goes, and the conditions it carries."""

    index: str
    conditions: tuple[Json, ...]
    routing: str | None = None


@dataclass(frozen=True, slots=True)
class TextIndex:
    """How texts are indexed and searched.

    `fields` is `flat` (title, newline and text in one field), `summed` (the scores of both
    added) or `best_fields` (the higher one, plus `tie_breaker` times the other).
    With `attached` the fields are the user's, and several of them are `summed` or `best_fields`.
    """

    analyzer: str
    k1: float
    b: float
    fields: Literal["flat", "summed", "best_fields"] = "flat"
    tie_breaker: float = 0.5
    attached: Fields | None = None

    @property
    def names(self) -> Fields:
        """Which fields hold what; our own ones unless an index of the user's is attached."""
        if self.attached is not None:
            return self.attached
        return Fields("uid", "tenant", ("text",) if self.fields == "flat" else _APART, "vector")


def tenant_filter(tenant: TenantId, field: str = "tenant", numbers: range | None = None) -> Json:
    """The tenant condition; no other code writes one.

    `numbers` are those that the field can hold; None where it holds texts.
    """
    if not isinstance(tenant, TenantId) or type(tenant.value) is not str or not tenant.value:
        raise TenantError(f"tenant: {tenant!r:.80} is not a checked tenant")
    if not is_unicode(tenant.value):
        raise TenantError(f"tenant: {tenant.value!r:.80} holds half of a surrogate pair")
    if len(tenant.value.encode()) > _TERM_BYTES:
        raise TenantError(f"tenant: {tenant.value!r:.80} has more than {_TERM_BYTES} bytes")
    if numbers is None:
        return {"term": {field: tenant.value}}
    number = whole_number(tenant.value, numbers)
    return {"match_none": {}} if number is None else {"term": {field: number}}


def tenant_scope(
    place: str,
    isolation: Isolation,
    tenant: TenantId,
    field: str = "tenant",
    numbers: range | None = None,
) -> Scope:
    """Where the tenant's chunks lie and what restricts a search to them; nothing else does.

    `partition`: the routing only picks the shard, which others may share, so the condition
    stays. `index` and `alias`: the name alone, in which the tenant is a sum, because not every
    tenant can be part of a name.
    """
    condition = tenant_filter(tenant, field, numbers)
    if isolation == "filter":
        return Scope(place, (condition,))
    name = hashlib.sha256(tenant.value.encode()).hexdigest()[:32]
    if isolation == "partition":
        # A tenant's own name cannot be the routing: searches split it at commas.
        return Scope(place, (condition,), routing=name)
    return Scope(f"{place}.{name}", ())


def index_body(
    text: TextIndex, vector: Json | None, more: Json, *, shards: int, routed: bool
) -> Json:
    """Mapping and settings of an index; `more` are further index settings."""
    words = {"type": "text", "analyzer": text.analyzer, "similarity": "bm25"}
    fields: Json = {
        "uid": {"type": "keyword"},
        "tenant": {"type": "keyword"},  # no normalizer, no ignore_above: every byte counts
        "text": words,
        "metadata": {"type": "keyword", "doc_values": False},
    }
    if text.fields != "flat":
        fields["title"] = words
    if vector is not None:
        fields["vector"] = vector
    mappings: Json = {"dynamic": "strict", "properties": fields}
    if routed:
        mappings["_routing"] = {"required": True}
    index: Json = {
        "number_of_shards": shards,  # statistics are per shard
        "number_of_replicas": 0,
        "refresh_interval": "-1",
        "similarity": {"bm25": {"type": "BM25", "k1": text.k1, "b": text.b}},
        **more,
    }
    return {"mappings": mappings, "settings": {"index": index}}


def bulk_lines(chunk: Chunk, scope: Scope, text: TextIndex, *, vectors: bool) -> bytes:
    """The two lines that store one chunk; its vector only where the place has vectors."""
    document: Json = {
        "uid": chunk.uid,
        "tenant": chunk.tenant.value,
        "text": chunk.searchable_text if text.fields == "flat" else chunk.text,
        "metadata": [term(metadata_term(*entry)) for entry in chunk.metadata.items()],
    }
    if text.fields != "flat":
        document["title"] = chunk.title
    if vectors:
        document["vector"] = float32(chunk.vector, f"chunk {chunk.uid!r}")
    action: Json = {"_index": scope.index, "_id": document_id(chunk.uid)}
    if scope.routing is not None:
        action["routing"] = scope.routing
    return dump({"index": action}) + dump(document)


def words(query: Query, scope: Scope, text: TextIndex) -> Json:
    """BM25 by `match`, which takes words and no query language."""
    fields = text.names.text
    if len(fields) == 1:
        match: Json = {"match": {fields[0]: {"query": query.text}}}
    else:
        kind = "best_fields" if text.fields == "best_fields" else "most_fields"
        both: Json = {"query": query.text, "fields": list(fields), "type": kind}
        if kind == "best_fields":
            both["tie_breaker"] = text.tie_breaker
        match = {"multi_match": both}
    return {"bool": {"must": [match], "filter": conditions(query, scope, text)}}


def conditions(query: Query, scope: Scope, text: TextIndex) -> list[Json]:
    """The tenant's, and the user's, which can only narrow them."""
    where = [_where(name, value, text.names) for name, value in query.where.items()]
    return [*scope.conditions, *where]


def _where(name: str, value: Value, fields: Fields) -> Json:
    if fields.metadata is None:
        return {"term": {"metadata": term(metadata_term(name, value))}}
    if name not in fields.metadata:
        raise InputError(f"where: {name!r:.80} is mapped to no field; name one in attach.metadata")
    return {"term": {fields.metadata[name]: value}}


def answer_part(query: Query, size: int, text: TextIndex) -> Json:
    """What the answer shall carry."""
    return {
        "size": size,
        **_shown(text.names, whole="text" in query.want),
        "track_total_hits": "total" in query.want,
    }


def by_id(scope: Scope, uids: Sequence[str], text: TextIndex) -> Json:
    """The search for those of these chunks that are the tenant's."""
    fields = text.names
    wanted = list(uids)
    named: Json = {"ids": {"values": wanted}} if fields.id == ID else {"terms": {fields.id: wanted}}
    found = {"bool": {"filter": [*scope.conditions, named]}}
    return {"query": found, "size": len(wanted), **_shown(fields, whole=True)}


def counting(query: Query, scope: Scope, text: TextIndex) -> Json:
    """The search that counts the chunks which pass the query's conditions."""
    passing = {"bool": {"filter": conditions(query, scope, text)}}
    return {"query": passing, "size": 0, "track_total_hits": True}


def _shown(fields: Fields, *, whole: bool) -> Json:
    named = [name for name in (fields.id, fields.tenant) if name != ID]
    # A sub-field has no text of its own in the document: its parent holds it.
    texts = [path for name in fields.text for path in (name, name.rpartition(".")[0]) if path]
    return {"_source": texts if whole else False, "docvalue_fields": named}


def header(scope: Scope) -> Json:
    """Where a search goes, as a header of a multi-search and as parameters of one search.

    A tenant without an index or alias has nothing: that is an empty answer and no error.
    """
    found: Json = {} if scope.conditions else {"ignore_unavailable": True}
    return found if scope.routing is None else {**found, "routing": scope.routing}


def dump(body: Json) -> bytes:
    """One line of JSON; arrays of numpy are lists. Raises Rejected for what JSON cannot hold."""
    import orjson

    try:
        return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        raise Rejected(f"this cannot be sent: {error}") from error


def document_id(uid: str) -> str:
    """The uid, or its sum where the server would refuse its length; no uid looks like a sum."""
    return uid if len(uid.encode("utf-8", "surrogatepass")) <= _ID_BYTES else _sum(uid)


def term(text: str) -> str:
    """A term as it is stored: a long one as its sum."""
    return text if len(text) <= _TERM_LENGTH else _sum(text)


def float32(vector: array[float] | None, owner: str) -> Any:
    """A vector as `dump` writes it fastest: a view, not a copy."""
    import numpy as np

    if vector is None:
        raise Rejected(f"vector of {owner}: missing; this mode needs one")
    return np.frombuffer(vector, dtype=np.float32)


def names(indices: Sequence[str], most: int = 40) -> list[str]:
    """Names joined by commas, in parts that a request line can hold."""
    return [",".join(indices[i : i + most]) for i in range(0, len(indices), most)]


def _sum(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
