"""A collection of a user's, and a key that only reads."""

from __future__ import annotations

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
KEYWORD = {"field_name": "owner", "field_schema": {"type": "keyword", "is_tenant": True}}
INTEGER = {"field_name": "owner", "field_schema": "integer"}


def point(number: int, chunk: Chunk, owner: object) -> dict[str, object]:
    vectors: dict[str, object] = {"words": {"text": chunk.text, "model": "qdrant/bm25"}}
    if chunk.vector:
        vectors["v"] = list(chunk.vector)
    return {
        "id": number,
        "vector": vectors,
        "payload": {"pk": chunk.uid, "owner": owner, "body": chunk.text},
    }


@asynccontextmanager
async def make(
    server: Connection, chunks: Sequence[Chunk], owner: Callable[[str], object] = str
) -> AsyncIterator[UsersIndex]:
    """`owner` makes of a tenant's name what the index keeps of it."""
    name = f"docs-{secrets.token_hex(4)}"
    declared = {
        "vectors": {"v": {"size": len(chunks[0].vector or ()), "distance": "Cosine"}},
        "sparse_vectors": {"words": {"modifier": "idf"}},
    }
    stored = [point(n, chunk, owner(chunk.tenant.value)) for n, chunk in enumerate(chunks)]
    points, index = {"points": stored}, INTEGER if owner is int else KEYWORD
    headers = {"api-key": server.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=server.endpoint, headers=headers) as http:
        for path, body in (("", declared), ("/index", index), ("/points", points)):
            answer = await http.put(f"/collections/{name}{path}?wait=true", json=body)
            assert answer.status_code == 200, answer.text
        yield UsersIndex(
            Attached(name, "pk", "owner", ("body",), "v"),
            {"api_key": server.secrets["read_only_api_key"]},
            {"search": {"sparse": "words"}},
        )
        await http.delete(f"/collections/{name}")
