"""Requests: chunk or query in, body out, nothing else."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retrieverbench.adapter import Settings
from retrieverbench.errors import Rejected, TenantError
from retrieverbench.model import Chunk, Query, TenantId, Value
from retrieverbench_adapters.elasticsearch.options import Options, Search

Json = dict[str, Any]

_ID_BYTES = 512  # the longest _id that the server takes
_TERM_LENGTH = 8_000  # longer conditions are stored as their sum; the server takes 32,766 bytes
_ORJSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE


def tenant_filter(tenant: TenantId) -> Json:
    """The tenant condition; no other code writes one."""
    if not isinstance(tenant, TenantId) or type(tenant.value) is not str:
        raise TenantError(f"elasticsearch: tenant: {tenant!r:.80} is not a checked tenant")
    return {"term": {"tenant": tenant.value}}


def condition(name: str, value: Value) -> str:
    """The term of one metadata entry: injective, and equal as in JSON (1 is 1.0, not true)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = json.dumps([name, value], ensure_ascii=False)
    return text if len(text) <= _TERM_LENGTH else _sum(text)


def document_id(uid: str) -> str:
    """The uid, or its sum where the server would refuse its length; no uid looks like a sum."""
    return uid if len(uid.encode("utf-8", "surrogatepass")) <= _ID_BYTES else _sum(uid)


def place_body(settings: Settings, options: Options) -> Json:
    """Mapping and settings of the index."""
    place = options.place
    fields: Json = {
        "uid": {"type": "keyword"},
        "tenant": {"type": "keyword"},  # no normalizer, no ignore_above: every byte counts
        "text": {"type": "text", "analyzer": place.analyzer, "similarity": "bm25"},
        "metadata": {"type": "keyword", "doc_values": False},
    }
    if settings.dimension:
        kind: Json = {"type": place.vector_index or ("flat" if options.search.exact else "hnsw")}
        if kind["type"] != "flat":
            kind |= {"m": place.m, "ef_construction": place.ef_construction}
        fields["vector"] = {
            "type": "dense_vector",
            "dims": settings.dimension,
            "similarity": "cosine",
            "index_options": kind,
        }
    return {
        "mappings": {"dynamic": "strict", "properties": fields},
        "settings": {
            "index": {
                "number_of_shards": 1,  # statistics are per shard
                "number_of_replicas": 0,
                "refresh_interval": "-1",
                "similarity": {"bm25": {"type": "BM25", "k1": place.k1, "b": place.b}},
            }
        },
    }


def search_body(query: Query, search: Search) -> Json:
    """The request of one search; hybrid is the server's own fusion here."""
    if query.mode == "lexical":
        return {"query": _words(query), **_answer(query, query.k)}
    if query.mode == "dense":
        return {"knn": _nearest(query, query.k, search), **_answer(query, query.k)}
    depth = max(query.k, search.depth)
    retrievers = [
        {"standard": {"query": _words(query)}},
        {"knn": _nearest(query, depth, search)},
    ]
    fusion = {"rank_constant": search.rrf_k, "rank_window_size": depth, "retrievers": retrievers}
    return {"retriever": {"rrf": fusion}, **_answer(query, query.k)}


def legs(query: Query, search: Search) -> list[bytes]:
    """The lines of a multi-search: for each leg a header and a body."""
    depth = max(query.k, search.depth)
    words = {"query": _words(query), **_answer(query, depth)}
    nearest = {"knn": _nearest(query, depth, search), **_answer(query, depth)}
    return [_line(line) for line in ({}, words, {}, nearest)]


def bulk_lines(chunk: Chunk, dimension: int) -> bytes:
    """The two lines that store one chunk; its vector only where the place has vectors."""
    document: Json = {
        "uid": chunk.uid,
        "tenant": chunk.tenant.value,
        "text": chunk.searchable_text,
        "metadata": [condition(name, value) for name, value in chunk.metadata.items()],
    }
    if dimension:
        document["vector"] = _float32(chunk.vector, f"chunk {chunk.uid!r}")
    lines = ({"index": {"_id": document_id(chunk.uid)}}, document)
    return b"".join(_line(line) for line in lines)


def _words(query: Query) -> Json:
    """BM25 by `match`, which takes words and no query language."""
    match = {"match": {"text": {"query": query.text}}}
    return {"bool": {"must": [match], "filter": _conditions(query)}}


def _nearest(query: Query, k: int, search: Search) -> Json:
    """The filter stands inside: beside it, it would cut hits after the search."""
    return {
        "field": "vector",
        "query_vector": _float32(query.vector, "the query"),
        "k": k,
        "num_candidates": max(k, search.num_candidates),
        "filter": _conditions(query),
    }


def _conditions(query: Query) -> list[Json]:
    where = [{"term": {"metadata": condition(*entry)}} for entry in query.where.items()]
    return [tenant_filter(query.tenant), *where]


def _answer(query: Query, size: int) -> Json:
    return {
        "size": size,
        "_source": ["text"] if "text" in query.want else False,
        "docvalue_fields": ["uid", "tenant"],
        "track_total_hits": "total" in query.want,
    }


def _line(body: Json) -> bytes:
    try:
        return orjson.dumps(body, option=_ORJSON)
    except orjson.JSONEncodeError as error:
        raise Rejected(f"elasticsearch: this cannot be sent: {error}") from error


def _float32(vector: array[float] | None, owner: str) -> NDArray[np.float32]:
    if vector is None:
        raise Rejected(f"elasticsearch: vector of {owner}: missing; this mode needs one")
    return np.frombuffer(vector, dtype=np.float32)


def batches(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Runs of at most `size` bytes; a longer item goes alone."""
    batch: list[bytes] = []
    filled = 0
    for item in items:
        if batch and filled + len(item) > size:
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += len(item)
    if batch:
        yield batch


def _sum(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
