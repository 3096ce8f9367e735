"""Stored points as JSON, and their cut into bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

from qdrant_client import models

from retrieverbench.errors import InputError
from retrieverbench.model import Chunk
from retrieverbench.remote import batches, metadata_term
from retrieverbench_adapters.qdrant.fields import OWN, WHERE, point_id, tenant_text
from retrieverbench_adapters.qdrant.terms import TermCounts

_PIECE = 256 * 1024


def point_row(chunk: Chunk, vectors: Mapping[str, object]) -> bytes:
    """A point; vectors may be numpy arrays. InputError for a text that no JSON can hold."""
    import orjson

    payload = {
        OWN.uid: chunk.uid,
        "id": chunk.id,
        OWN.tenant: tenant_text(chunk.tenant),
        "text": chunk.text,
        "title": chunk.title,
        "metadata": dict(chunk.metadata),
        WHERE: [metadata_term(key, value) for key, value in chunk.metadata.items()],
    }
    point = {"id": point_id(chunk.uid), "vector": vectors, "payload": payload}
    try:
        return orjson.dumps(point, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError as error:
        raise InputError(
            f"chunk {chunk.uid!r:.80}: its text or metadata cannot be sent ({error}); "
            "write characters, not halves of surrogate pairs"
        ) from error


def stored_row(point: models.Record, change: Mapping[str, object]) -> bytes:
    """A point as it was read, vectors included, with a change of its payload."""
    import orjson

    vectors = point.model_dump(mode="json", include={"vector"})["vector"]
    payload = {**(point.payload or {}), **change}
    return orjson.dumps({"id": point.id, "vector": vectors, "payload": payload})


def vector_row(identity: str, vectors: Mapping[str, object]) -> bytes:
    """New vectors of a point that is there already."""
    import orjson

    return orjson.dumps({"id": identity, "vector": vectors})


def sparse_vector(counts: TermCounts, weights: list[float]) -> dict[str, object]:
    """A sparse vector as JSON values."""
    return {"indices": counts.ids.tolist(), "values": weights}


def bodies(rows: Iterable[bytes], most: int, shard: str | None = None) -> Iterator[bytes]:
    """Rows joined to bodies of at most `most` bytes; a larger row stands alone."""
    import orjson

    key = b"" if shard is None else b'"shard_key":' + orjson.dumps(shard) + b","
    head, tail = b"{" + key + b'"points":[', b"]}"
    room = most - len(head) - len(tail)
    for batch in batches(rows, room, measure=lambda row: len(row) + 1):
        yield head + b",".join(batch) + tail


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """The body in parts, between which the event loop can do other work."""
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]
