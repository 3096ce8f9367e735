"""Elasticsearch and OpenSearch alike: an adapter on its node, and a stub for other answers."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import numpy as np

from retrieverbench.adapter import Settings
from retrieverbench.engines import Started
from retrieverbench.model import MODES, Chunk, Layout, Mode, Query, TenantId, Value
from retrieverbench_adapters.elasticsearch import Elasticsearch
from retrieverbench_adapters.opensearch import OpenSearch

DIMENSION = 16
ALL = frozenset(MODES)
LAYOUTS: tuple[Layout, ...] = ("filter", "partition", "index")
ADAPTERS: Mapping[str, type[Elasticsearch | OpenSearch]] = {
    "elasticsearch": Elasticsearch,
    "opensearch": OpenSearch,
}
_numbers = count()


@dataclass(frozen=True, slots=True)
class Backend:
    """An adapter and where it connects to."""

    name: str
    endpoint: str
    started: Started | None = None

    def settings(self, **changes: Any) -> Settings:
        """Settings of a place of its own."""
        usual: dict[str, Any] = {
            "place": f"rb_{threading.get_native_id()}_{next(_numbers)}",
            "modes": ALL,
            "dimension": DIMENSION,
            "concurrency": 4,
        }
        return Settings(changes.pop("endpoint", self.endpoint), **{**usual, **changes})

    async def open(self, settings: Settings) -> Elasticsearch | OpenSearch:
        """The adapter; the caller closes it."""
        return await ADAPTERS[self.name].open(settings)

    @asynccontextmanager
    async def opened(self, **changes: Any) -> AsyncIterator[Elasticsearch | OpenSearch]:
        """The adapter on a place of its own, closed afterwards."""
        adapter = await self.open(self.settings(**changes))
        try:
            yield adapter
        finally:
            await adapter.close()


def vector(seed: int, dimension: int = DIMENSION) -> array[float]:
    numbers = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return array("f", numbers.tobytes())


def chunk(owner: str, name: str, text: str, seed: int, **metadata: Value) -> Chunk:
    return Chunk(name, TenantId(owner), text, vector=vector(seed), metadata=metadata)


def query(tenant: str, mode: Mode, text: str = "leave policy", **changes: Any) -> Query:
    usual: dict[str, Any] = {"k": 10, "vector": vector(1)}
    return Query(text, TenantId(tenant), mode=mode, **{**usual, **changes})


async def uids(adapter: Elasticsearch | OpenSearch, asked: Query) -> list[str]:
    return [hit.uid for hit in (await adapter.search(asked)).hits]


def error_body(kind: str, why: str) -> dict[str, Any]:
    cause = {"type": kind, "reason": why}
    return {"error": {**cause, "root_cause": [cause]}, "status": 400}


def empty_answer(*, failed: int = 0, timed_out: bool = False) -> dict[str, Any]:
    return {
        "took": 1,
        "timed_out": timed_out,
        "_shards": {"failed": failed},
        "hits": {"hits": []},
    }


@dataclass
class Stub:
    """A server that answers every search so; `GET /` and the rest answer as a node would."""

    url: str = ""
    status: int = 200
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    info: tuple[int, object] = (
        200,
        {"version": {"number": "9.5.3", "build_type": "docker", "distribution": "opensearch"}},
    )
    rest: tuple[int, object] = (200, {"acknowledged": True})
    product: str | None = "Elasticsearch"
    stall: threading.Event = field(default_factory=threading.Event)
    behaviour: str = "answer"
    logins: list[str | None] = field(default_factory=list)
    clients: set[object] = field(default_factory=set)


@contextmanager
def stub_server() -> Iterator[Stub]:
    """A stub on a free port of 127.0.0.1."""
    told = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.logins.append(self.headers.get("authorization"))
            told.clients.add(self.client_address)
            self.rfile.read(int(self.headers.get("content-length") or 0))
            searched = "search" in self.path
            if searched and told.behaviour == "stall":
                told.stall.wait(20)
            if searched and told.behaviour != "answer":
                self.close_connection = True
                return
            status, body = told.info if self.path == "/" else told.rest
            if searched:
                status, body = told.status, told.body
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if told.product:
                self.send_header("X-Elastic-Product", told.product)
            kind = "text/plain" if isinstance(body, bytes) and status != 200 else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815  # the names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield told
        finally:
            told.stall.set()
            server.shutdown()
            thread.join()
