"""A collection of a user's, and a key that only reads."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

TENANT_INDEX = {"field_name": "owner", "field_schema": {"type": "keyword", "is_tenant": True}}


def point(number: int, chunk: Chunk) -> dict[str, object]:
    words = {"text": chunk.text, "model": "qdrant/bm25"}
    return {
        "id": number,
        "vector": {"v": list(chunk.vector or ()), "words": words},
        "payload": {"pk": chunk.uid, "owner": chunk.tenant.value, "body": chunk.text},
    }


@asynccontextmanager
async def make(server: Connection, chunks: Sequence[Chunk]) -> AsyncIterator[UsersIndex]:
    name = f"docs-{secrets.token_hex(4)}"
    declared = {
        "vectors": {"v": {"size": len(chunks[0].vector or ()), "distance": "Cosine"}},
        "sparse_vectors": {"words": {"modifier": "idf"}},
    }
    points = {"points": [point(number, chunk) for number, chunk in enumerate(chunks)]}
    headers = {"api-key": server.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=server.endpoint, headers=headers) as http:
        for path, body in (("", declared), ("/index", TENANT_INDEX), ("/points", points)):
            answer = await http.put(f"/collections/{name}{path}?wait=true", json=body)
            assert answer.status_code == 200, answer.text
        yield UsersIndex(
            Attached(name, "pk", "owner", ("body",), "v"),
            {"api_key": server.secrets["read_only_api_key"]},
            {"search": {"sparse": "words"}},
        )
        await http.delete(f"/collections/{name}")
