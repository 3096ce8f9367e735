"""An index of a user's, and a key that only queries."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import httpx

from azure_support import VERSION
from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

PARAMETERS = {"api-version": VERSION}


def definition(name: str, dimensions: int, kind: str) -> dict[str, object]:
    return {
        "name": name,
        "fields": [
            {"name": "id", "type": "Edm.String", "key": True},
            {"name": "pk", "type": "Edm.String", "searchable": False},
            {"name": "org", "type": kind, "searchable": False},
            {"name": "body", "type": "Edm.String"},
            {
                "name": "embedding",
                "type": "Collection(Edm.Single)",
                "dimensions": dimensions,
                "vectorSearchProfile": "p",
            },
        ],
        "vectorSearch": {
            "algorithms": [{"name": "h", "kind": "hnsw"}],
            "profiles": [{"name": "p", "algorithm": "h"}],
        },
    }


def document(number: int, chunk: Chunk, owner: object) -> dict[str, object]:
    return {
        "id": f"d{number}",
        "pk": chunk.uid,
        "org": owner,
        "body": chunk.text,
        "embedding": list(chunk.vector) if chunk.vector else None,
    }


@asynccontextmanager
async def make(
    server: Connection, chunks: Sequence[Chunk], owner: Callable[[str], object] = str
) -> AsyncIterator[UsersIndex]:
    """`owner` makes of a tenant's name what the index keeps of it."""
    name = f"users-{secrets.token_hex(4)}"
    stored = [document(n, chunk, owner(chunk.tenant.value)) for n, chunk in enumerate(chunks)]
    kind = "Edm.Int64" if owner is int else "Edm.String"
    documents, declared = {"value": stored}, definition(name, len(chunks[0].vector or ()), kind)
    headers = {"api-key": server.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=server.endpoint, headers=headers) as http:
        for path, body in (("/indexes", declared), (f"/indexes/{name}/docs/index", documents)):
            answer = await http.post(path, params=PARAMETERS, json=body)
            assert answer.status_code in {200, 201}, answer.text
        yield UsersIndex(Attached(name, "pk", "org", ("body",), "embedding"))
        await http.delete(f"/indexes/{name}", params=PARAMETERS)
