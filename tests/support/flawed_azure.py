"""A user's index of the stand-in that keeps tenants apart wrongly: one flaw at a time."""

from __future__ import annotations

import runpy
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from azure_support import VERSION
from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

INDEX = Path(__file__).parents[1] / "contract" / "indexes" / "azure_search.py"
PARAMETERS = {"api-version": VERSION}


@dataclass(frozen=True)
class Flaw:
    """`owner` changes the tenant field, `document` birch's first one. `seen` is the verdict."""

    name: str
    seen: str
    words: str = ""
    owner: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    lists: bool = False


FLAWS = (
    Flaw("right", "clean"),
    Flaw("owner-a-collection", "refused", "Collection(Edm.String)",
         {"type": "Collection(Edm.String)", "sortable": False}, lists=True),
    Flaw("owner-not-filterable", "refused", "not a filterable", {"filterable": False}),
    Flaw("owner-analysed", "clean", "", {"searchable": True, "analyzer": "en.lucene"}),
    Flaw("owner-of-another", "leak", document={"org": "cedar"}),
    Flaw("owner-null", "told", "1 of 8 chunks", document={"org": None}),
    Flaw("text-of-another", "leak", "which belongs to 'cedar'", document={"body": "cedar"}),
)  # fmt: skip


@asynccontextmanager
async def flawed(
    server: Connection, chunks: Sequence[Chunk], flaw: Flaw
) -> AsyncIterator[UsersIndex]:
    """The index of `tests/contract/indexes/azure_search.py`, made with the flaw."""
    name = f"flawed-{secrets.token_hex(4)}"
    headers = {"api-key": server.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(
        base_url=server.endpoint, headers=headers, params=PARAMETERS
    ) as http:
        defined = runpy.run_path(str(INDEX))["definition"]
        body = defined(name, len(chunks[0].vector or ()), "Edm.String")
        (owner,) = (each for each in body["fields"] if each["name"] == "org")
        owner |= flaw.owner
        made = await http.post("/indexes", json=body)
        assert made.status_code == 201, made.text
        documents = []
        for number, chunk in enumerate(chunks):
            document: dict[str, Any] = {
                "id": f"d{number}",
                "pk": chunk.uid,
                "org": [chunk.tenant.value] if flaw.lists else chunk.tenant.value,
                "body": chunk.text,
                "embedding": list(chunk.vector or ()),
            }
            if number == 0:
                document |= flaw.document
            if document["body"] == "cedar":
                document["body"] = next(c.text for c in chunks if c.tenant.value == "cedar")
            documents.append(document)
        stored = await http.post(f"/indexes/{name}/docs/index", json={"value": documents})
        assert stored.status_code == 200, stored.text
        key = {"api_key": server.secrets["query_key"]}
        yield UsersIndex(Attached(name, "pk", "org", ("body",), "embedding"), key)
        await http.delete(f"/indexes/{name}")
