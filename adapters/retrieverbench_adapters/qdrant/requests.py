"""Bodies of requests, made without I/O: query in, request out."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from qdrant_client import models

from retrieverbench.errors import InputError, TenantError
from retrieverbench.model import Chunk, Query, TenantId, Value
from retrieverbench_adapters.qdrant.options import Search
from retrieverbench_adapters.qdrant.terms import TermCounts

DENSE, SPARSE = "dense", "lexical"
TENANT, WHERE = "tenant", "where"
_PIECE = 256 * 1024
_POINT_NAMESPACE = uuid.UUID("6f1c5ad8-2a5c-4d0a-9d0e-5a2f3f0f6c11")


def tenant_filter(tenant: TenantId, where: Mapping[str, Value] | None = None) -> models.Filter:
    """The condition that every request and every prefetch carries; no other code makes one.

    The user's conditions stand in a filter of their own beside the tenant's `must`.
    """
    own = models.FieldCondition(key=TENANT, match=models.MatchValue(value=tenant_text(tenant)))
    if not where:
        return models.Filter(must=[own])
    user: list[models.Condition] = [
        models.FieldCondition(key=WHERE, match=models.MatchValue(value=where_token(key, value)))
        for key, value in where.items()
    ]
    return models.Filter(must=[own, models.Filter(must=user)])


def build_request(
    query: Query, counts: TermCounts, search: Search, *, idf_corpus: bool
) -> models.QueryRequest:
    """The body of one search; `counts` are the question's terms.

    `idf_corpus`: IDF over the tenant's chunks, whatever the user's conditions.
    """
    own = tenant_filter(query.tenant, query.where)
    wanted = ["uid", TENANT, *(["text"] if "text" in query.want else [])]
    common: dict[str, Any] = {"limit": query.k, "filter": own, "with_payload": wanted}
    if query.mode == "dense":
        return models.QueryRequest(**_dense_leg(query, search), **common)
    if query.mode == "lexical":
        return models.QueryRequest(**_sparse_leg(query, counts, idf_corpus=idf_corpus), **common)
    depth = max(query.k, search.prefetch)
    legs = (_dense_leg(query, search), _sparse_leg(query, counts, idf_corpus=idf_corpus))
    return models.QueryRequest(
        prefetch=[models.Prefetch(**leg, filter=own, limit=depth) for leg in legs],
        # The server's ranks begin at 0: its k is one more than the constant everyone means.
        query=models.RrfQuery(rrf=models.Rrf(k=search.rank_constant + 1)),
        **common,
    )


def point_id(uid: str) -> str:
    """The physical id: a UUID of the uid."""
    return str(uuid.uuid5(_POINT_NAMESPACE, uid))


def point_row(chunk: Chunk, vectors: Mapping[str, object]) -> bytes:
    """A point as JSON; vectors may be numpy arrays."""
    import orjson

    payload = {
        "uid": chunk.uid,
        "id": chunk.id,
        TENANT: tenant_text(chunk.tenant),
        "text": chunk.text,
        "title": chunk.title,
        "metadata": dict(chunk.metadata),
        WHERE: [where_token(key, value) for key, value in chunk.metadata.items()],
    }
    point = {"id": point_id(chunk.uid), "vector": vectors, "payload": payload}
    return orjson.dumps(point, option=orjson.OPT_SERIALIZE_NUMPY)


def vector_row(identity: str, vectors: Mapping[str, object]) -> bytes:
    """New vectors of a point that is there already, as JSON."""
    import orjson

    return orjson.dumps({"id": identity, "vector": vectors})


def sparse_vector(counts: TermCounts, weights: list[float]) -> dict[str, object]:
    """A sparse vector as JSON values."""
    return {"indices": list(counts.by_id), "values": weights}


def bodies(rows: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Rows joined to bodies of at most `most` bytes; a larger row stands alone."""
    head, tail = b'{"points":[', b"]}"
    batch: list[bytes] = []
    size = len(head) + len(tail)
    for row in rows:
        if batch and size + len(row) + 1 > most:
            yield head + b",".join(batch) + tail
            batch, size = [], len(head) + len(tail)
        batch.append(row)
        size += len(row) + 1
    if batch:
        yield head + b",".join(batch) + tail


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body in parts, between which the event loop can do other work."""
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def tenant_text(tenant: TenantId) -> str:
    """The stored and asked value; only a non-empty text can be one."""
    value = tenant.value
    if type(value) is not str or not value:
        raise TenantError(f"tenant: {value!r:.80} is not a non-empty text")
    return value


def where_token(key: str, value: Value) -> str:
    """A pair as it is stored and asked for: equal pairs, and only those, have equal tokens."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps([key, value], ensure_ascii=False, separators=(",", ":"))


def _dense_leg(query: Query, search: Search) -> dict[str, Any]:
    if query.vector is None:
        raise InputError(f"query {query.text!r:.80}: vector: missing; mode {query.mode} needs one")
    return {
        "query": query.vector.tolist(),
        "using": DENSE,
        "params": models.SearchParams(hnsw_ef=search.hnsw_ef, exact=search.exact),
    }


def _sparse_leg(query: Query, counts: TermCounts, *, idf_corpus: bool) -> dict[str, Any]:
    corpus = models.IdfCorpusParams(corpus=tenant_filter(query.tenant)) if idf_corpus else None
    return {
        "query": models.SparseVector(
            indices=list(counts.by_id), values=[float(n) for n in counts.by_id.values()]
        ),
        "using": SPARSE,
        "params": models.SearchParams(idf=corpus),
    }
