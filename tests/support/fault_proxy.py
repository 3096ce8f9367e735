"""An HTTP server in front of another one, that spoils its answers on purpose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

LIMIT = 2**24
END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back. `told` is the length that the head claims, None for the true one.

    With `body` None nothing is sent and the connection is closed; `silent` keeps it open.
    """

    body: bytes | None
    status: str = "200 OK"
    kind: str = "application/json"
    more: str = ""
    told: int | None = None
    silent: bool = False


Fault = Callable[[Answer], Answer]


@dataclass
class FaultProxy:
    """`fault` spoils every answer while it is set; `dies_after` counts requests down to the end."""

    upstream: str
    fault: Fault | None = None
    dies_after: int | None = None
    endpoint: str = ""
    requests: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request."""
        self._open.add(writer)
        with suppress(asyncio.IncompleteReadError, OSError):
            while await self._one(reader, writer):
                pass
        self._open.discard(writer)
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read_message(reader)
        self.requests += 1
        if self.dies_after is not None and self.requests > self.dies_after:
            self.die()
            return False
        answer = await self._forward(request)
        if self.fault is not None:
            answer = self.fault(answer)
        if answer.silent:
            await asyncio.Event().wait()
        if answer.body is None:
            return False
        told = len(answer.body) if answer.told is None else answer.told
        head = f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.kind}\r\nContent-Length: {told}"
        writer.write(f"{head}{answer.more}\r\n\r\n".encode() + answer.body)
        await writer.drain()
        return answer.told is None

    async def _forward(self, request: bytes) -> Answer:
        """The true answer, over a connection of its own, without compression."""
        parts = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=LIMIT)
        head, _, body = request.partition(END)
        kept = [
            line
            for line in head.decode("latin-1").split("\r\n")
            if line.partition(":")[0].lower() not in {"connection", "accept-encoding"}
        ]
        writer.write("\r\n".join([*kept, "Connection: close"]).encode("latin-1") + END + body)
        found = await _read_message(reader, bodiless=request.startswith(b"HEAD "))
        writer.close()
        head, _, body = found.partition(END)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        product = headers.get("x-elastic-product")
        return Answer(
            body,
            first.partition(" ")[2],
            headers.get("content-type", "application/json"),
            f"\r\nX-Elastic-Product: {product}" if product else "",
        )

    def die(self) -> None:
        """Nobody listens any more, and every connection is cut."""
        if self._server is not None:
            self._server.close()
        for writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def fault_proxy(upstream: str) -> AsyncIterator[FaultProxy]:
    """A proxy on a free port, in front of the server at `upstream`."""
    proxy = FaultProxy(upstream)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=LIMIT)
    port = server.sockets[0].getsockname()[1]
    proxy._server = server
    proxy.endpoint = urlunsplit(urlsplit(upstream)._replace(netloc=f"127.0.0.1:{port}"))
    try:
        yield proxy
    finally:
        proxy.die()


async def _read_message(reader: asyncio.StreamReader, *, bodiless: bool = False) -> bytes:
    """Head and body of a request or an answer; a chunked body comes in one piece."""
    head = await reader.readuntil(END)
    lines = [line.lower() for line in head.decode("latin-1").split("\r\n")]
    if any(line.startswith("transfer-encoding:") and "chunked" in line for line in lines):
        body = b"".join([piece async for piece in _pieces(reader)])
        first = head.split(b"\r\n")
        kept = [line for line in first[:-2] if not line.lower().startswith(b"transfer-encoding")]
        return b"\r\n".join([*kept, b"Content-Length: %d" % len(body)]) + END + body
    sizes = [int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")]
    if bodiless or not sizes:
        return head
    return head + await reader.readexactly(sizes[0])


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")


def rows_of(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Every list of hits in a JSON answer: of objects with a score."""
    if isinstance(value, list):
        if value and all(isinstance(row, dict) and score_key(row) for row in value):
            yield value
        for item in value:
            yield from rows_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from rows_of(item)


def score_key(row: dict[str, Any]) -> str:
    """Under which name a hit carries its score, "" where it is no hit."""
    return next((name for name in row if name.lower().endswith("score")), "")


def changed(change: Callable[[list[dict[str, Any]]], None]) -> Fault:
    """A fault that changes every list of hits in place."""

    def fault(answer: Answer) -> Answer:
        value = json.loads(answer.body or b"null")
        for rows in rows_of(value):
            change(rows)
        return Answer(json.dumps(value).encode(), answer.status, answer.kind, answer.more)

    return fault
