"""Every failure is one typed error; nothing is repeated."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.abc
import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import CustomHookPolicy
from azure.search.documents.aio import SearchClient

from azure_adapter_support import (
    ACME,
    KEY,
    ask,
    chunks_of,
    fault,
    opened,
    settings,
    stand_in,
)
from azure_support import make_certificate
from retrieverbench.adapter import Secret, Settings
from retrieverbench.engines.azure_search.server import serving
from retrieverbench.engines.azure_search.service import Fault, Service
from retrieverbench.engines.azure_search.store import Options as StandInOptions
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    MissingClient,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
)
from retrieverbench_adapters.azure_search import AzureSearch
from retrieverbench_adapters.azure_search.documents import key
from stand_in_support import CREDENTIALS, READER_TOKEN, TOKEN

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("script", "kind", "code", "text"),
    [
        (fault(status=503), Throttled, Code.THROTTLED, "503"),
        (fault(status=429, headers={"Retry-After": "7"}), Throttled, Code.THROTTLED, "429"),
        (fault(status=400, headers={"Retry-After": "1"}), Rejected, Code.HTTP_4XX, "400"),
        (fault(status=401), Refused, Code.AUTH, "401"),
        (fault(status=403), Refused, Code.AUTH, "403"),
        (fault(status=404), Rejected, Code.HTTP_4XX, "404"),
        (fault(status=500, body="broken\ndisk"), Unavailable, Code.HTTP_5XX, "broken disk"),
        (fault(status=307, headers={"Location": "/x"}), AdapterError, Code.BAD_ANSWER, ""),
        (fault(status=200, body="<html>"), AdapterError, Code.BAD_ANSWER, "unexpected answer"),
        (fault(status=200, body="{}"), AdapterError, Code.BAD_ANSWER, ""),
        (fault(status=400, body=f"key {KEY} is bad"), Rejected, Code.HTTP_4XX, "key *** is bad"),
    ],
)  # fmt: skip
async def test_az_52_each_failure_is_one_error_of_its_class(
    script: Callable[[Service], None], kind: type[BackendError], code: Code, text: str
) -> None:
    """No retry: the one scripted failure is what the caller gets, and the next call works."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        script(served.service)
        with pytest.raises(BackendError) as caught:
            await adapter.search(ask("lexical"))
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert text in str(caught.value)
        assert KEY not in str(caught.value)
        if isinstance(caught.value, Throttled):
            assert caught.value.retry_after == (7.0 if "429" in str(caught.value) else None)
        assert (await adapter.search(ask("lexical"))).hits == []


@pytest.mark.parametrize(
    ("script", "attempts", "raised"),
    [
        ([Fault("search", 503, count=1)], 2, None),
        ([Fault("search", 503, count=4)], 4, 503),
        ([Fault("search", 429)], 1, 429),
        ([Fault("search", 429, {"Retry-After": "0"})], 2, None),
        ([Fault("search", 400, {"Retry-After": "0"})], 2, None),
    ],
    ids=["503-once", "503-ever", "429", "429-later", "400-later"],
)
async def test_az_52_what_the_client_would_repeat_by_itself(
    script: list[Fault], attempts: int, raised: int | None
) -> None:
    """Why the adapter switches it off: hidden in one call, these would count as slow answers."""
    asked = 0

    def count(_response: object) -> None:
        nonlocal asked
        asked += 1

    async with stand_in() as served, opened(settings(served.endpoint)):
        served.service.faults += script
        client = SearchClient(
            served.endpoint,
            "rb_test",
            AzureKeyCredential(KEY),
            retry_backoff_factor=0,
            per_retry_policies=[CustomHookPolicy(raw_response_hook=count)],
        )
        async with client:
            if raised is None:
                assert [hit async for hit in await client.search("refund")] == []
            else:
                with pytest.raises(HttpResponseError, match=f"{raised}|invalid status"):
                    assert [hit async for hit in await client.search("refund")]
    assert asked == attempts


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Rejected), (404, Rejected), (409, Rejected), (422, Rejected), (503, Throttled)],
)
async def test_each_failed_item_of_a_207_is_one_error(
    status: int, kind: type[BackendError]
) -> None:
    """AZ-13, through the adapter: the client raises nothing for a 207."""
    keys = [key(chunk.uid) for chunk in chunks_of(ACME, 2)]
    items = [
        {"key": keys[0], "status": True, "errorMessage": None, "statusCode": 201},
        {"key": keys[1], "status": False, "errorMessage": "said so", "statusCode": status},
    ]
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        body = json.dumps({"value": items})
        content = {"Content-Type": "application/json"}
        served.service.faults.append(Fault("write", 207, content, body))
        with pytest.raises(
            BackendError, match=f"status {status}: chunk 'acme/c1': said so"
        ) as told:
            await adapter.put(chunks_of(ACME, 2))
        assert type(told.value) is kind


async def test_an_item_that_is_not_mentioned_is_lost() -> None:
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        content = {"Content-Type": "application/json"}
        served.service.faults.append(Fault("write", 200, content, '{"value": []}'))
        with pytest.raises(AdapterError, match="does not name every chunk"):
            await adapter.put(chunks_of(ACME, 2))


@asynccontextmanager
async def over_tls(folder: Path) -> AsyncIterator[Callable[..., Settings]]:
    """A stand-in with tokens; what it takes to reach it with one of them."""
    made = make_certificate(folder)
    options = StandInOptions(certificate=made.certificate, certificate_key=made.key)
    async with serving(Service(CREDENTIALS, options)) as endpoint:

        def reaching(token: str, ca_file: str = made.authority) -> Settings:
            connect = {"connect": {"auth": "entra", "ca_file": ca_file}}
            return settings(endpoint, secrets={"token": Secret(token)}, options=connect)

        yield reaching


@pytest.mark.parametrize(
    ("token", "text"), [(READER_TOKEN, "403: Authorization failed."), ("unknown-0815", "401")]
)
async def test_tokens_that_open_nothing_or_too_little(
    tmp_path: Path, token: str, text: str
) -> None:
    """AZ-23, AZ-24, through the adapter; no token stands in a text."""
    async with over_tls(tmp_path) as reaching:
        with pytest.raises(Refused, match=text) as caught:
            await AzureSearch.open(reaching(token))
        assert token not in str(caught.value)


async def test_an_authority_that_is_not_trusted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = make_certificate(tmp_path_factory.mktemp("other"))
    async with over_tls(tmp_path) as reaching:
        with pytest.raises(Unavailable, match="certificate") as caught:
            await AzureSearch.open(reaching(TOKEN, other.authority))
        assert caught.value.code == Code.CONNECT


async def test_without_a_token_azure_identity_is_asked_for() -> None:
    if find_spec("azure.identity") is not None:
        pytest.skip("azure-identity is installed; run: pip uninstall azure-identity")
    given = settings("https://127.0.0.1:1", secrets={}, options={"connect": {"auth": "entra"}})
    with pytest.raises(MissingClient, match="pip install azure-identity"):
        await AzureSearch.open(given)


async def test_a_timeout_is_an_error_and_the_next_answer_is_the_next_questions() -> None:
    async with stand_in() as served, opened(settings(served.endpoint, timeout=5.0)) as adapter:
        await adapter.put(chunks_of(ACME))
        await adapter.settle()
        expected = await adapter.search(ask("dense"))
        adapter._indexes._settings = replace(adapter._settings, timeout=0.2)
        served.service.faults.append(Fault(route="search", delay=60))
        with pytest.raises(TimedOut, match=r"no answer in 0\.2 s"):
            await adapter.search(ask("lexical"))
        adapter._indexes._settings = adapter._settings
        for _ in range(20):
            found = await adapter.search(ask("dense"))
            assert [h.uid for h in found.hits] == [h.uid for h in expected.hits]


async def test_a_dead_server_is_unavailable() -> None:
    async with stand_in() as served:
        adapter = await AzureSearch.open(settings(served.endpoint))
    with pytest.raises(Unavailable) as caught:
        await adapter.search(ask("lexical"))
    assert caught.value.code == Code.CONNECT
    with pytest.raises(Unavailable):
        await adapter.close()
    await adapter.close()
    with pytest.raises(Unavailable):
        await AzureSearch.open(settings(served.endpoint))


async def test_no_client_repeats_a_request(loaded: AzureSearch) -> None:
    for client in (loaded._indexes.clients.documents("rb_loaded"), loaded._indexes.clients.indexes):
        policy = client._config.retry_policy
        assert policy.total_retries == 0


async def test_a_lost_connection_is_reset_and_asked_once() -> None:
    connections = []

    async def hang_up(stream: anyio.abc.SocketStream) -> None:
        connections.append(stream)
        async with stream:
            await stream.receive()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hang_up)
            with pytest.raises(Unavailable) as caught:
                await AzureSearch.open(settings(f"http://127.0.0.1:{port}"))
            tasks.cancel_scope.cancel()
    assert caught.value.code == Code.RESET
    assert len(connections) == 1


async def test_a_failed_item_is_raised_with_its_chunk() -> None:
    """207 does not raise in the client; the text is the service's."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        bad = replace(chunks_of(ACME, 1)[0], id="bad", metadata={"long": "x" * 40_000})
        with pytest.raises(Rejected, match=r"'acme/bad': .*too large to process.*1 of 3"):
            await adapter.put([*chunks_of(ACME, 2), bad])


async def test_a_batch_too_large_is_fatal_once() -> None:
    """The client would split it and fail with a TypeError; the adapter says what happened."""
    async with stand_in(max_body=10_000) as served, opened(settings(served.endpoint)) as adapter:
        with pytest.raises(Rejected, match="413"):
            await adapter.put(chunks_of(ACME, 100))
        assert served.service.indexes["rb_test"].count() == 0


async def test_wrong_and_read_only_keys_are_refused() -> None:
    async with stand_in() as served:
        for wrong in ("wrong-key-4711", "read-only"):
            with pytest.raises(Refused, match="403") as caught:
                await AzureSearch.open(settings(served.endpoint, wrong))
            assert wrong not in str(caught.value)
        assert served.service.indexes == {}
