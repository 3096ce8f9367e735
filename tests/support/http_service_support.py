"""A retrieval service behind HTTP, as a team might have written it, over the memory adapter."""

from __future__ import annotations

import asyncio
import gzip
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from engine_support import chunk
from retrieverbench.adapter import Attached, Secret, Settings
from retrieverbench.errors import TenantError
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.model import MODES, Chunk, Hit, Query, TenantId
from retrieverbench_adapters.memory import Memory

FAULTS = (
    "unfiltered", "folded", "nothing", "unknown", "silent", "broken", "garbage",
    "any credential", "no credential", "credential decides", "end unread", "half will do",
    "debug", "packed", "busy",
)  # fmt: skip


@dataclass
class Service:
    """Answers `POST /v1/search` with a bearer token per tenant, if it has `tokens`.

    `fault` is one of FAULTS, "" for none. `requests` are headers (names in small letters) and body
    of each, `sockets` the connections that they came over.
    """

    chunks: Sequence[Chunk]
    tokens: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    endpoint: str = ""
    requests: list[tuple[Mapping[str, str], Any]] = field(default_factory=list)
    sockets: set[object] = field(default_factory=set)
    memory: Memory | None = None

    async def start(self) -> web.AppRunner:
        """On a free port of this machine."""
        dimension = len(self.chunks[0].vector or ())
        modes = frozenset(MODES if dimension else ("lexical",))
        self.memory = await Memory.open(Settings("", "rb_service", modes, dimension=dimension))
        await self.memory.put(self.chunks)
        await self.memory.settle()
        app = web.Application()
        app.router.add_post("/v1/search", self.answer)
        app.router.add_get("/v1/{tenant}/search", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.endpoint = f"http://{host}:{port}"
        return runner

    async def answer(self, request: web.Request) -> web.Response:
        """One question."""
        asked = await self._asked(request)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((headers, asked))
        assert request.transport is not None
        self.sockets.add(request.transport.get_extra_info("peername"))
        if self.fault == "silent":
            await asyncio.sleep(3_600)
        if self.fault == "broken":
            return web.json_response({"error": "out of order"}, status=500)
        if self.fault == "garbage":
            return web.Response(text="<html>", content_type="application/json")
        if self.fault == "packed":
            body = gzip.compress(b" " * (64 << 20))
            return web.Response(body=body, headers={"Content-Encoding": "gzip"})
        if self.fault == "busy" and len(self.requests) % 7 == 0:
            headers = {"Retry-After": "0"}
            return web.json_response({"error": "slow down"}, status=429, headers=headers)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens and not self._is_let_in(asked, token):
            status = 403 if token in self.tokens.values() else 401
            return web.json_response({"error": f"not yours, whose token is {token}"}, status=status)
        hits = await self._hits(asked)
        results = [
            {"doc": {"id": h.uid, "body": h.text, "owner": h.tenant}, "score": h.score}
            for h in hits
        ]
        seen = [chunk.uid for chunk in self.chunks] if self.fault == "debug" else []
        return web.json_response({"results": results, "seen": seen})

    def _is_let_in(self, asked: dict[str, Any], token: str) -> bool:
        """Whether it answers; as whom `asked` says, which a credential that decides changes."""
        owners = {token: name for name, token in self.tokens.items()}
        if self.fault == "credential decides" and token in owners:
            asked["tenant"] = owners[token]
        if self.fault == "any credential":
            return token in owners
        for name, known in self.tokens.items() if token else ():
            is_like = {
                "end unread": known[:-2] == token[:-2],
                "half will do": known.startswith(token),
            }
            if is_like.get(self.fault):
                owners.setdefault(token, name)
        return self.fault == "no credential" or bool(token and owners.get(token) == asked["tenant"])

    async def _asked(self, request: web.Request) -> dict[str, Any]:
        if request.method == "POST":
            found: dict[str, Any] = await request.json()
            return found
        given = request.query
        return {
            "tenant": request.match_info["tenant"],
            "query": given["q"],
            "top_k": int(given["k"]),
            "mode": "lexical",
        }

    async def _hits(self, asked: Mapping[str, Any]) -> list[Hit]:
        tenant, k = asked["tenant"], asked["top_k"]
        if self.fault == "nothing":
            return []
        names = [chunk.tenant.value for chunk in self.chunks]
        if self.fault == "folded":
            tenant = next((name for name in names if name == str(tenant).casefold()), tenant)
        if self.fault == "unfiltered" and tenant in names:
            found = [hit for name in dict.fromkeys(names) for hit in await self._own(name, asked)]
            return sorted(found, key=lambda hit: -hit.score)[:k]
        own = await self._own(tenant, asked)
        if self.fault == "unknown" and own:
            own[-1].uid = "from-elsewhere"
        return own

    async def _own(self, tenant: object, asked: Mapping[str, Any]) -> list[Hit]:
        assert self.memory is not None
        try:
            asker = TenantId(tenant)  # type: ignore[arg-type]
        except TenantError:
            return []
        vector = asked.get("vector")
        query = Query(
            asked["query"],
            asker,
            asked["top_k"],
            asked.get("mode", "lexical"),
            None if vector is None else array("f", vector),
            want=frozenset({"text", "tenant"}),
        )
        return (await self.memory.search(query)).hits


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """The service in a thread of its own, so that tests that are no coroutines can ask it."""
    started, ended = threading.Event(), threading.Event()

    async def main() -> None:
        runner = await service.start()
        started.set()
        await asyncio.to_thread(ended.wait)
        await runner.shutdown()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert started.wait(30)
    try:
        yield service
    finally:
        ended.set()
        thread.join(30)


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "connect": {
        "path": "/v1/search",
        "headers": {"Authorization": "Bearer {credential}"},
        "body": {
            "query": "{query}",
            "tenant": "{tenant}",
            "top_k": "{k}",
            "mode": "{mode}",
            "vector": "{vector}",
        },
    },
    "search": {"hits": "results", "owner": "doc.owner"},
}
"""How this service is described."""

TOKENS = {"acme": "t0ken-of-acme", "globex": "t0ken-of-globex"}
CHUNKS = [
    chunk(tenant, str(n), f"{word} note of all")
    for tenant in TOKENS
    for n, word in enumerate(("red", "green", "blue"))
]
FIELDS = Attached("docs", "doc.id", "tenant", ("doc.body",), "vector")


def settings(endpoint: str, **changes: Any) -> Settings:
    """With a credential for each tenant."""
    given: dict[str, Any] = {
        "place": "",
        "modes": frozenset({"lexical"}),
        "attached": FIELDS,
        "timeout": 20.0,
        "options": OPTIONS,
        "secrets": {f"tenant:{name}": Secret(token) for name, token in TOKENS.items()},
    }
    return Settings(endpoint, **(given | changes))


def question(tenant: object = "acme", text: str = "red note", **more: Any) -> Query:
    """A tenant of any kind asks."""
    return Query(text, unchecked_tenant(tenant), more.pop("k", 5), "lexical", **more)


def described(**connect: Any) -> dict[str, Mapping[str, Any]]:
    """The options with parts of the request replaced."""
    return {**OPTIONS, "connect": {**OPTIONS["connect"], **connect}}
