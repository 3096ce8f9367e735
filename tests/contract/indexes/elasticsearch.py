"""An index of a user's: the owner in an object, as a sub-field of a dynamic mapping."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import httpx

from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

HOLDS_LISTS = True
"""A field may have several values."""


def definition(dimension: int, kind: dict[str, object]) -> dict[str, object]:
    return {
        "mappings": {
            "properties": {
                "org": {"properties": {"id": kind}},
                "body": {"type": "text", "analyzer": "english"},
                "embedding": {"type": "dense_vector", "dims": dimension, "similarity": "cosine"},
            }
        },
    }


def lines(chunk: Chunk, owner: object) -> str:
    vector = {"embedding": list(chunk.vector)} if chunk.vector else {}
    document = {"org": {"id": owner}, "body": chunk.text, **vector}
    return json.dumps({"index": {"_id": chunk.uid}}) + "\n" + json.dumps(document) + "\n"


@asynccontextmanager
async def make(
    server: Connection, chunks: Sequence[Chunk], owner: Callable[[str], object] = str
) -> AsyncIterator[UsersIndex]:
    """`owner` makes of a tenant's name what the index keeps of it."""
    name = f"users-{secrets.token_hex(4)}"
    async with httpx.AsyncClient(base_url=server.endpoint, trust_env=False, timeout=60) as http:
        kind: dict[str, object] = {"type": "keyword", "ignore_above": 256}
        if owner is int:
            kind = {"type": "long"}
        made = await http.put(f"/{name}", json=definition(len(chunks[0].vector or ()), kind))
        assert made.status_code == 200, made.text
        stored = await http.post(
            f"/{name}/_bulk?refresh=true",
            content="".join(lines(chunk, owner(chunk.tenant.value)) for chunk in chunks),
            headers={"content-type": "application/x-ndjson"},
        )
        assert not stored.json()["errors"], stored.text
        # As the server makes it when it is not told otherwise: a graph, which is not exact.
        yield UsersIndex(
            Attached(name, "_id", "org.id", ("body",), "embedding"),
            options={"search": {"exact": False}},
        )
        await http.delete(f"/{name}")
