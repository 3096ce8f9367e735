"""The server as this adapter talks to it: the official client, set up to measure with."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, TypeVar

import anyio
import httpx
from grpc.aio import AioRpcError
from httpx_aiohttp import AiohttpTransport
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from retrieverbench.adapter import Settings
from retrieverbench.errors import AdapterError
from retrieverbench_adapters.qdrant.failures import translated
from retrieverbench_adapters.qdrant.grpc_route import ask_by_grpc
from retrieverbench_adapters.qdrant.layouts import Home
from retrieverbench_adapters.qdrant.options import Connect
from retrieverbench_adapters.qdrant.points import pieces
from retrieverbench_adapters.qdrant.recording import http_hooks

T = TypeVar("T")
_IDLE_SECONDS = 3.0
"""Less than the server keeps an idle connection (4.8 s): a query that meets a connection
just being closed by the server would be counted as an error of the server's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The points of a search, and the server's own seconds for it."""

    points: Sequence[models.ScoredPoint]
    seconds: float | None


class Server:
    """Requests with a deadline, whose failures are errors of `retrieverbench.errors`."""

    def __init__(self, settings: Settings, options: Connect) -> None:
        self._settings = settings
        self._options = options
        self.client = _make_client(settings, options)

    async def call(self, request: Awaitable[T]) -> T:
        """Await a request of the client's, at most the settings' timeout."""
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await request
        except (ApiException, QdrantException, AioRpcError, TimeoutError) as error:
            raise translated(error, self._settings) from error
        except (JSONDecodeError, UnicodeDecodeError, AssertionError) as error:
            # The client's own: it reads no JSON from anything, and asserts that there is a result.
            told = f"qdrant at {self._settings.endpoint}: an answer that cannot be read: {error}"
            raise AdapterError(told) from error

    async def ask(self, home: Home, request: models.QueryRequest) -> Answer:
        """One search, by the route that the options name."""
        if self._options.grpc:
            points, seconds = await self.call(
                ask_by_grpc(self.client, home.collection, request, self._settings.recorder)
            )
            return Answer(points, seconds)
        answer = await self.call(
            self.client.http.search_api.query_points(
                collection_name=home.collection, query_request=request
            )
        )
        if answer.result is None:
            raise AdapterError("qdrant: an answer without result")
        return Answer(answer.result.points, answer.time)

    async def information(self, collection: str) -> models.CollectionInfo:
        """What the server says of a collection."""
        return await self.call(self.client.get_collection(collection))

    async def shard_keys(self, collection: str) -> list[str]:
        """Its custom shards; numbers as text."""
        answer = await self.call(self.client.http.distributed_api.list_shard_keys(collection))
        keys = answer.result.shard_keys if answer.result else None
        return [str(one.key) for one in keys or []]

    async def pages(
        self, collection: str, limit: int, **what: Any
    ) -> AsyncIterator[list[models.Record]]:
        """Points by at most `limit` at once; `what` is what the client's `scroll` takes."""
        offset: Any = None
        while True:
            page = self.client.scroll(collection, limit=limit, offset=offset, **what)
            points, offset = await self.call(page)
            yield points
            if offset is None:
                return

    async def write_all(self, collection: str, what: str, bodies: Iterable[bytes]) -> None:
        """PUT bodies, some at once; return when the server has applied all of them."""
        waiting = iter(bodies)

        async def write_next() -> None:
            for body in waiting:
                await self._write(collection, what, body)

        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(self._options.uploads):
                    tasks.start_soon(write_next)
        except ExceptionGroup as group:
            first = group.exceptions[0]
            raise first from first.__cause__

    async def _write(self, collection: str, what: str, body: bytes) -> None:
        """A body of our own through the client: its models cost five times as much CPU."""
        await self.call(
            self.client.http.client.request(
                type_=models.InlineResponse2008,
                method="PUT",
                url=f"/collections/{{collection}}/{what}",
                path_params={"collection": collection},
                params={"wait": "true"},
                headers={"Content-Type": "application/json", "Content-Length": str(len(body))},
                content=pieces(body),
            )
        )


def _make_client(settings: Settings, options: Connect) -> AsyncQdrantClient:
    """A client with a connection for every search in flight, kept alive, without retries.

    Over aiohttp: httpx's own transport costs 2.4 times as much CPU per search, and the
    client would open a new connection per request to 127.0.0.1. Deadlines are the caller's
    (see `failures`); the client's own, whole seconds only, lies above them.
    """
    connections = max(settings.concurrency, options.uploads)
    limits = httpx.Limits(
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=_IDLE_SECONDS,
    )
    encrypted = settings.endpoint.startswith("https:")  # else no certificates are read
    key = settings.secrets.get("api_key")
    hooks: dict[str, Any] = {}
    if settings.recorder is not None:
        hooks = {"event_hooks": http_hooks(settings.recorder)}
    return AsyncQdrantClient(
        url=settings.endpoint,
        grpc_port=options.grpc_port,
        timeout=math.ceil(settings.timeout) + 1,
        check_compatibility=False,  # a thread and a warning; `describe` tells it instead
        headers={} if key is None else {"api-key": key.reveal()},
        limits=limits,
        transport=AiohttpTransport(verify=encrypted, limits=limits),
        **hooks,
    )
