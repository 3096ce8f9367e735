"""A user's collection that keeps tenants apart wrongly: one flaw at a time, on the engine."""

from __future__ import annotations

import runpy
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

INDEX = Path(__file__).parents[1] / "contract" / "indexes" / "qdrant.py"


@dataclass(frozen=True)
class Flaw:
    """`payload` is set on `point`, which is birch's. `seen` is the audit's verdict, `words` its."""

    name: str
    seen: str
    words: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    point: int = 1


FLAWS = (
    Flaw("right", "clean"),
    Flaw("owner-a-list-of-two", "leak", "", {"owner": ["birch", "cedar"]}),
    Flaw("owner-a-list-of-another", "leak", "", {"owner": ["cedar"]}),
    Flaw("the-first-owner-a-list", "refused", "holds a list", {"owner": ["birch"]}, 0),
    Flaw("owner-null", "told", "without an owner", {"owner": None}),
    Flaw("owner-of-another", "leak", "", {"owner": "cedar"}),
    Flaw("owner-a-number-beside-texts", "told", "lacks 1", {"owner": 7}),
    Flaw("text-of-another", "leak", "which belongs to 'cedar'", {"body": "cedar"}),
)  # fmt: skip


@asynccontextmanager
async def flawed(
    server: Connection, chunks: Sequence[Chunk], flaw: Flaw
) -> AsyncIterator[UsersIndex]:
    """The index of `tests/contract/indexes/qdrant.py`, and what was done to it since."""
    make = runpy.run_path(str(INDEX))["make"]
    async with make(server, chunks) as index:
        name = index.fields.name
        headers = {"api-key": server.secrets["api_key"].reveal()}
        async with httpx.AsyncClient(base_url=server.endpoint, headers=headers, timeout=60) as http:

            async def send(method: str, path: str, body: object = None) -> None:
                answer = await http.request(method, f"/collections{path}", json=body)
                assert answer.status_code == 200, answer.text

            payload = dict(flaw.payload)
            if payload.get("body") == "cedar":
                payload["body"] = next(c.text for c in chunks if c.tenant.value == "cedar")
            if payload:
                body = {"payload": payload, "points": [flaw.point]}
                await send("POST", f"/{name}/points/payload?wait=true", body)
            yield index
