"""Faults on demand, for tests of what stands before the server. Off unless asked for.

`PUT /faults` with `{"kind": ..., "path": ..., "times": ..., ...}` arms one fault for the
next `times` requests whose path ends with `path`; `DELETE /faults` disarms all.

    delay       the answer comes `seconds` later
    stall       no answer at all
    status      `status` with the text `text` and, if given, `retry_after`
    reset       the connection is cut before the answer
    short       the connection is cut in the middle of the answer
    unfiltered  `filter` is taken out of the body: `leg` is `root`, `prefetch` or `all`
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(slots=True)
class Fault:
    """One armed fault; `times` counts down."""

    kind: Literal["delay", "stall", "status", "reset", "short", "unfiltered"]
    path: str = ""
    times: int = 1
    seconds: float = 0.0
    status: int = 503
    text: str = "Service internal error: armed fault"
    retry_after: str | None = None
    leg: Literal["root", "prefetch", "all"] = "all"


class FaultInjector:
    """Stands before the application and does what was armed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._armed: list[Fault] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Arm, disarm, or pass a request on with the first armed fault that fits it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["path"] == "/faults":
            return await self._change(scope, receive, send)
        for fault in self._armed:
            if fault.times > 0 and scope["path"].endswith(fault.path):
                fault.times -= 1
                return await self._fail(fault, scope, receive, send)
        return await self._app(scope, receive, send)

    async def _change(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read(receive)
        if scope["method"] == "PUT":
            self._armed.append(Fault(**json.loads(body)))
        else:
            self._armed.clear()
        await Response(b"{}")(scope, receive, send)

    async def _fail(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind == "unfiltered":
            body = without_filter(json.loads(await _read(receive)), fault.leg)
            return await self._app(scope, _replay(json.dumps(body).encode()), send)
        if fault.kind == "stall":
            await asyncio.Event().wait()
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return await self._app(scope, receive, send)
        if fault.kind == "status":
            await _read(receive)
            content = json.dumps({"status": {"error": fault.text}, "time": 0.0}).encode()
            retry = {} if fault.retry_after is None else {"retry-after": fault.retry_after}
            return await Response(content, fault.status, retry)(scope, receive, send)
        if fault.kind == "short":
            return await self._app(scope, receive, _cut_short(send))
        await _read(receive)
        _transport(send).abort()
        return None


def without_filter(body: dict[str, Any], leg: str) -> dict[str, Any]:
    """A query's body whose filters are gone from the root, the prefetches, or both."""
    kept = dict(body)
    if leg in {"root", "all"}:
        kept.pop("filter", None)
    inner = kept.get("prefetch")
    if inner is not None and leg in {"prefetch", "all"}:
        listed = inner if isinstance(inner, list) else [inner]
        kept["prefetch"] = [without_filter(one, "all") for one in listed]
    return kept


def _transport(send: Send) -> Any:
    """The connection under uvicorn's `send`, which is a method of its request cycle."""
    return send.__self__.transport  # type: ignore[attr-defined]


def _cut_short(send: Send) -> Send:
    async def cut(message: Message) -> None:
        if message["type"] != "http.response.body":
            return await send(message)
        half = message["body"][: len(message["body"]) // 2]
        await send({**message, "body": half, "more_body": True})
        _transport(send).close()
        return None

    return cut


async def _read(receive: Receive) -> bytes:
    chunks = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
