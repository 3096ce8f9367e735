"""A user's index that Elasticsearch keeps apart wrongly: one flaw at a time, on a real node."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex

KEYWORD = {"type": "keyword"}


@dataclass(frozen=True)
class Flaw:
    """`owner` maps the tenant field of a copy, `document` changes birch's first one there.

    `alias` is the filter of an alias that is attached. `seen` is the audit's verdict, `words` are
    its.
    """

    name: str
    seen: str
    words: str = ""
    owner: Mapping[str, Any] = field(default_factory=lambda: KEYWORD)
    document: Mapping[str, Any] = field(default_factory=dict)
    alias: Mapping[str, Any] | None = None


FLAWS = (
    Flaw("right", "clean"),
    Flaw("owner-analysed", "refused", "text", {"type": "text"}),
    Flaw("owner-normalized", "refused", "normalizer", {**KEYWORD, "normalizer": "lowercase"}),
    Flaw("owner-ignored-above", "refused", "ignores values", {**KEYWORD, "ignore_above": 3}),
    Flaw("owner-by-another-name", "refused", "is an alias", {"type": "alias", "path": "org"}),
    Flaw("nobody-is-cedar", "leak", "", {**KEYWORD, "null_value": "cedar"}, {"owner": None}),
    Flaw("owner-of-another", "leak", document={"owner": "cedar"}),
    Flaw("owner-a-list-of-two", "leak", document={"owner": ["birch", "cedar"]}),
    Flaw("owner-absent", "told", "without an owner", document={"owner": None}),
    Flaw("owner-copied", "leak", document={"team": "cedar"}),
    Flaw("text-of-another", "leak", "which belongs to 'cedar'", document={"body": "cedar"}),
    Flaw("alias-with-a-hole", "told", "an alias with a filter", alias={"match_all": {}}),
    Flaw("alias-that-hides", "told", "lacks 1", alias={"bool": {"must_not": [{"term": {"n": 0}}]}}),
)  # fmt: skip


@asynccontextmanager
async def flawed(
    server: Connection, chunks: Sequence[Chunk], flaw: Flaw
) -> AsyncIterator[UsersIndex]:
    """An index with plain fields, filled with the chunks, and with the flaw."""
    name = f"flawed-{secrets.token_hex(4)}"
    properties: dict[str, Any] = {
        "owner": flaw.owner,
        "org": KEYWORD,
        "team": {**KEYWORD, **({"copy_to": "owner"} if flaw.owner == KEYWORD else {})},
        "n": {"type": "long"},
        "body": {"type": "text", "analyzer": "english"},
        "embedding": {
            "type": "dense_vector",
            "dims": len(chunks[0].vector or ()),
            "similarity": "cosine",
        },
    }
    mappings: dict[str, Any] = {"properties": properties}
    async with httpx.AsyncClient(base_url=server.endpoint, trust_env=False, timeout=60) as http:

        async def send(method: str, path: str, *bodies: object) -> None:
            lines = "".join(f"{json.dumps(body)}\n" for body in bodies)
            kind = "application/x-ndjson" if len(bodies) > 1 else "application/json"
            answer = await http.request(
                method, path, content=lines or None, headers={"content-type": kind}
            )
            assert answer.status_code == 200, answer.text
            assert '"errors":true' not in answer.text, answer.text

        await send("PUT", f"/{name}", {"mappings": mappings})
        lines: list[object] = []
        for number, chunk in enumerate(chunks):
            document: dict[str, Any] = {
                "owner": chunk.tenant.value,
                "org": chunk.tenant.value,
                "n": number,
                "body": chunk.text,
                "embedding": list(chunk.vector or ()),
            }
            if number == 0:
                document |= flaw.document
            if document["body"] == "cedar":
                document["body"] = next(c.text for c in chunks if c.tenant.value == "cedar")
            if flaw.owner["type"] == "alias":
                del document["owner"]
            lines += [{"index": {"_id": chunk.uid}}, document]
        await send("POST", f"/{name}/_bulk?refresh=true", *lines)
        shown = name
        if flaw.alias:
            shown = f"{name}-alias"
            await send("PUT", f"/{name}/_alias/{shown}", {"filter": flaw.alias})
        yield UsersIndex(Attached(shown, "_id", "owner", ("body",), "embedding"))
        await send("DELETE", f"/{name}")
