"""HTTP around the service, on loopback only."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from retrieverbench.engines.azure_search.access import OWNER, READER
from retrieverbench.engines.azure_search.mutants import HEADER
from retrieverbench.engines.azure_search.replies import Call, Reply
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.errors import InputError

FIDELITY_HEADER = "x-retrieverbench-fidelity"
_IDLE_SECONDS = 240
"""Longer than clients keep an idle connection (aiohttp: 15 s). A request that meets a
connection just being closed would be counted as a failure of the backend."""


def bind(host: str, port: int = 0) -> socket.socket:
    """A listening socket on loopback; InputError for any other address."""
    address = ipaddress.ip_address(host)
    if not address.is_loopback:
        raise InputError(
            f"azure_search stand-in: host {host!r} is not a loopback address; use 127.0.0.1"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # With the protocol named, asyncio sends without waiting for acknowledgements.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind((host, port))
    return listening


@contextlib.asynccontextmanager
async def serving(service: Service) -> AsyncIterator[str]:
    """Serve in this process on a free port; yields the endpoint. For tests and scripts."""
    listening = bind("127.0.0.1")
    server = _server(service, secrets.token_hex(16))
    scheme = "https" if service.options.certificate else "http"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, lambda: server.run(sockets=[listening]))
        try:
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event to wait for
                await anyio.sleep(0.005)
            yield f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True


def serve(service: Service, host: str, ready_file: Path) -> None:
    """Serve until told to stop. The ready file tells the starter the port and what opens it.

    Its `token` is no credential but the mark of this very process.
    """
    listening = bind(host)
    token = secrets.token_hex(16)
    credentials = service.credentials
    _write_private(
        ready_file,
        {
            "port": listening.getsockname()[1],
            "token": token,
            "pid": os.getpid(),
            "admin_key": credentials.admin_key,
            "query_key": credentials.query_key,
            "owner_token": credentials.token_of(OWNER),
            "reader_token": credentials.token_of(READER),
        },
    )
    _server(service, token).run(sockets=[listening])


def _write_private(path: Path, value: object) -> None:
    """Write whole or not at all, readable for our user only."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file)
    part.replace(path)


def _server(service: Service, token: str) -> Any:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            _application(service, token),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=_IDLE_SECONDS,
            ssl_certfile=service.options.certificate or None,
            ssl_keyfile=service.options.certificate_key or None,
        )
    )


def _application(service: Service, token: str) -> Any:
    from starlette.requests import Request
    from starlette.responses import Response

    searching: list[str | None] = []  # the filters of searches under way, for one mutant

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begin = time.perf_counter_ns()
        request = Request(scope, receive)
        call = Call(
            request.method,
            scope["path"],
            dict(request.query_params),
            dict(request.headers),
            await request.body(),
        )
        broken = service.options.BROKEN_ON_PURPOSE
        if broken == "cross_talk":
            call = await _mixed_up(call, searching)
        reply = await _reply(service, token, call)
        headers = {
            **_standard_headers(call),
            **({HEADER: broken} if broken else {}),
            **reply.headers,
            "elapsed-time": str(round((time.perf_counter_ns() - begin) / 1e6)),
        }
        await Response(reply.body, reply.status, headers)(scope, receive, send)

    return application


async def _reply(service: Service, token: str, call: Call) -> Reply:
    if call.path == "/healthz":
        told = {"token": token, "fidelity": "stand-in"}
        broken = service.options.BROKEN_ON_PURPOSE
        body = json.dumps({**told, "broken_on_purpose": broken} if broken else told).encode()
        return Reply(200, body, {"Content-Type": "application/json"})
    fault = service.fault(call)
    if fault is not None:
        await anyio.sleep(fault.delay)
        if fault.status:
            return Reply(fault.status, fault.body.encode(), fault.headers)
    return service.answer(call)


async def _mixed_up(call: Call, searching: list[str | None]) -> Call:
    """A search with the filter of another one that is under way, if there is one."""
    if not call.path.endswith(("/docs/search.post.search", "/docs/search")):
        return call
    body = json.loads(call.body)
    own = body.get("filter")
    searching.append(own)
    await anyio.sleep(0.01)
    others = [other for other in searching if other != own]
    searching.remove(own)
    body["filter"] = others[0] if others else own
    return replace(call, body=json.dumps(body).encode())


def _standard_headers(call: Call) -> dict[str, str]:
    return {
        "OData-Version": "4.0",
        "request-id": call.headers.get("x-ms-client-request-id") or secrets.token_hex(16),
        "Preference-Applied": 'odata.include-annotations="*"',
        "Cache-Control": "no-cache",
        "Pragma": "no-cache",
        "Expires": "-1",
        FIDELITY_HEADER: "stand-in",
    }
