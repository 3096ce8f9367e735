"""The client for OpenAI-compatible servers against a small real server on loopback."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from retrieverbench.adapter import Secret
from retrieverbench.embedding import Endpoint, OpenAIEmbedder
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    InputError,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
)

pytestmark = pytest.mark.anyio

KEY = Secret("marked-secret-key")
Handler = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


class Recorder:
    """Answers [length of the text, 1, 0, ...], in reverse order, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, object]]] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append((request.path_qs, dict(request.headers), body))
        width = body.get("dimensions", 3)
        data = [
            {"object": "embedding", "index": i, "embedding": [len(text), 1.0] + [0.0] * (width - 2)}
            for i, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return web.json_response(
            {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}
        )


async def test_texts_become_unit_vectors_in_order_and_in_batches() -> None:
    recorder = Recorder()
    async with serving(recorder.answer) as url:
        embedder = await OpenAIEmbedder.open(Endpoint("m", f"{url}/v1", batch_size=2), KEY)
        assert embedder.dimension == 3
        vectors = await embedder.embed_documents(["a", "bbb", "cc", "d", "ee"])
    assert [v[0] / v[1] for v in vectors] == pytest.approx([1, 3, 2, 1, 2])
    assert all(math.hypot(*v) == pytest.approx(1, abs=1e-6) for v in vectors)
    assert [len(body["input"]) for _, _, body in recorder.requests] == [1, 2, 2, 1]  # type: ignore[arg-type]
    path, headers, body = recorder.requests[1]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY.reveal()}"
    assert body == {"model": "m", "input": ["a", "bbb"], "encoding_format": "float"}


async def test_azure_is_asked_by_deployment_version_and_key_header() -> None:
    recorder = Recorder()
    async with serving(recorder.answer) as url:
        endpoint = Endpoint("my-deployment", url, azure_api_version="2024-10-21")
        await OpenAIEmbedder.open(endpoint, KEY)
    path, headers, _ = recorder.requests[0]
    assert path == "/openai/deployments/my-deployment/embeddings?api-version=2024-10-21"
    assert headers["api-key"] == KEY.reveal()


async def test_dimensions_are_asked_for_and_checked() -> None:
    recorder = Recorder()
    async with serving(recorder.answer) as url:
        embedder = await OpenAIEmbedder.open(Endpoint("m", url, dimensions=8))
        assert embedder.dimension == 8
        assert embedder.identity["dimension"] == "8"
    assert recorder.requests[0][2]["dimensions"] == 8

    async def stubborn(request: web.Request) -> web.Response:
        data = [{"object": "embedding", "index": 0, "embedding": [1.0, 0.0]}]
        return web.json_response({"object": "list", "model": "m", "data": data})

    async with serving(stubborn) as url:
        with pytest.raises(InputError, match="dimensions: 8 asked for, 'm' gives 2"):
            await OpenAIEmbedder.open(Endpoint("m", url, dimensions=8))


async def test_a_busy_server_is_asked_again() -> None:
    recorder = Recorder()
    failures = [503, 429]

    async def sometimes(request: web.Request) -> web.Response:
        if failures:
            return web.Response(status=failures.pop(), headers={"retry-after-ms": "1"})
        return await recorder.answer(request)

    async with serving(sometimes) as url:
        await OpenAIEmbedder.open(Endpoint("m", url))
    assert len(recorder.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Rejected),
        (401, Refused),
        (403, Refused),
        (404, Rejected),
        (429, Throttled),
        (500, Unavailable),
    ],
)
async def test_each_answer_is_the_error_that_fits_without_the_key(
    status: int, error: type[BackendError]
) -> None:
    """The server even repeats the key; it must show nowhere, the cause included."""

    async def refuse(request: web.Request) -> web.Response:
        message = f"own words of the server about {request.headers['Authorization']}"
        return web.json_response(
            {"error": {"message": message}},
            status=status,
            headers={"retry-after-ms": "1", "retry-after": "7"},
        )

    async with serving(refuse) as url:
        with pytest.raises(error, match="own words of the server") as caught:
            await OpenAIEmbedder.open(Endpoint("m", url), KEY)
    shown: BaseException | None = caught.value
    while shown is not None:
        assert KEY.reveal() not in f"{shown} {shown!r}"
        shown = shown.__cause__
    if isinstance(caught.value, Throttled):
        assert caught.value.retry_after == 7


async def test_no_server_and_no_answer_are_told_apart(free_port: int) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
        await OpenAIEmbedder.open(Endpoint("m", f"http://127.0.0.1:{free_port}"))

    async def slow(request: web.Request) -> web.Response:
        import anyio

        await anyio.sleep(1)
        return web.Response()

    async with serving(slow) as url:
        with pytest.raises(TimedOut):
            await OpenAIEmbedder.open(Endpoint("m", url, timeout=0.05))


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"object": "embedding", "index": 1, "embedding": [1.0]}],
        [{"object": "embedding", "index": 0, "embedding": [0.0, 0.0]}],
    ],
)
async def test_a_broken_answer_is_refused(data: list[object]) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(
            text=json.dumps({"object": "list", "model": "m", "data": data}),
            content_type="application/json",
        )

    async with serving(answer) as url:
        with pytest.raises(AdapterError):
            await OpenAIEmbedder.open(Endpoint("m", url))
