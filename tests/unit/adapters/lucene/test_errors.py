"""What goes wrong, by remedy, and without a secret in any text."""

from __future__ import annotations

import logging
import ssl
from array import array
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from lucene_support import DIMENSION, Backend, Stub, chunk, empty_answer, error_body, query, vector
from retrieverbench.adapter import Secret
from retrieverbench.engines.processes import free_port
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
)
from retrieverbench.model import Chunk, Mode, TenantId
from tls_support import terminated

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"place": "theirs"}, "must begin with 'rb_'"),
        ({"layout": "rls"}, "use filter, partition or index"),
        ({"dimension": 0}, "dimension: 0"),
        ({"options": {"search": {"dept": 5}}}, "dept: unknown key"),
        ({"options": {"place": {"b": 1.5}}}, "b: 1.5"),
        ({"options": {"place": {"fields": "both"}}}, "fields"),
        ({"secrets": {"token": Secret("hunter2")}}, "secret 'token'"),
        (
            {"options": {"connect": {"ca_certs": "/absent"}}, "endpoint": "https://h:1"},
            "connect.ca_certs",
        ),
        (
            {"options": {"connect": {"ca_certs": __file__}}, "endpoint": "https://h:1"},
            "connect.ca_certs",
        ),
    ],
)
async def test_wrong_settings_are_refused_before_anything_is_sent(
    stubbed: Backend, stub: Stub, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        await stubbed.open(stubbed.settings(**changes))
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert stub.logins == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (vector(1, 8), "dimension"),
        (array("f", [0.0] * DIMENSION), "zero"),
        (None, "missing"),
    ],
)
async def test_an_item_that_fails_is_raised(
    backend: Backend, values: array[float] | None, words: str
) -> None:
    """With its uid and the server's reason, however many others went well."""
    bad = Chunk("bad", TenantId("a"), "x", vector=values)
    async with backend.opened() as adapter:
        with pytest.raises(Rejected, match=words) as caught:
            await adapter.put([chunk("a", "1", "x", 1), bad, chunk("a", "2", "x", 2)])
        assert "a/bad" in str(caught.value)


async def test_a_request_the_server_refuses_keeps_its_words(backend: Backend) -> None:
    async with backend.opened() as adapter:
        await adapter.put([chunk("a", "1", "leave", 1)])
        await adapter.settle()
        for mode in ("dense", "hybrid"):
            with pytest.raises(Rejected, match="dimension") as caught:
                await adapter.search(query("a", mode, vector=vector(1, 8)))
            assert caught.value.code is Code.HTTP_4XX
        with pytest.raises(Rejected, match="Result window"):
            await adapter.search(query("a", "lexical", k=10_001))
        with pytest.raises(Rejected, match="cannot be sent"):
            await adapter.search(query("a", "lexical", "\ud800"))


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
async def test_a_server_that_is_gone_is_unavailable(name: str) -> None:
    gone = Backend(name, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unavailable) as caught:
        await gone.open(gone.settings())
    assert caught.value.code is Code.CONNECT


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, error_body("security_exception", "why it is so"), Refused, Code.AUTH),
        (403, error_body("security_exception", "why it is so"), Refused, Code.AUTH),
        (429, error_body("rejected_execution", "why it is so"), Throttled, Code.THROTTLED),
        (400, error_body("parsing_exception", "why it is so"), Rejected, Code.HTTP_4XX),
        (413, b"why it is so", Rejected, Code.HTTP_4XX),
        (503, error_body("cluster_block", "why it is so"), Unavailable, Code.HTTP_5XX),
        (200, b"no json", AdapterError, Code.BAD_ANSWER),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_answers_become_errors_by_remedy(
    stubbed: Backend, stub: Stub, status: int, body: object, kind: type[BackendError],
    code: Code, mode: Mode,
) -> None:  # fmt: skip
    stub.status, stub.body, stub.headers = status, body, {"Retry-After": "7"}
    async with stubbed.opened() as adapter:
        with pytest.raises(kind) as caught:
            await adapter.search(query("a", mode))
    assert type(caught.value) is kind
    assert caught.value.code is code
    assert status == 200 or "why it is so" in str(caught.value)
    if isinstance(caught.value, Throttled):
        # The client of OpenSearch forgets the headers of an error.
        assert caught.value.retry_after == (7.0 if stubbed.name == "elasticsearch" else None)


async def test_an_error_in_one_leg_is_an_error(stubbed: Backend, stub: Stub) -> None:
    """A hybrid answer of one leg alone would be another mode under a false name."""
    bad = {**error_body("circuit_breaking_exception", "Data too large"), "status": 429}
    stub.body = {"took": 1, "responses": [empty_answer(), bad]}
    async with stubbed.opened(options={"search": {"fusion": "client"}}) as adapter:
        with pytest.raises(Throttled, match="Data too large"):
            await adapter.search(query("a", "hybrid"))


async def test_no_answer_in_time_is_a_timeout(stubbed: Backend, stub: Stub) -> None:
    stub.behaviour = "stall"
    async with stubbed.opened(timeout=0.3) as adapter:
        with pytest.raises(TimedOut):
            await adapter.search(query("a", "lexical"))
        stub.stall.set()


async def test_a_lost_connection_is_a_reset_and_not_tried_again(
    stubbed: Backend, stub: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    stub.behaviour = "drop"
    async with stubbed.opened() as adapter:
        before = len(stub.logins)
        with caplog.at_level(logging.WARNING), pytest.raises(Unavailable) as caught:
            await adapter.search(query("a", "lexical"))
        assert caught.value.code is Code.RESET
        assert len(stub.logins) == before + 1
    assert caplog.records == []


async def test_searches_share_as_many_connections_as_are_in_flight(
    stubbed: Backend, stub: Stub
) -> None:
    """Kept alive between searches; no search waits in the client for another's."""
    stub.body = empty_answer()
    async with stubbed.opened(concurrency=3) as adapter:

        async def ask() -> None:
            for _ in range(10):
                await adapter.search(query("a", "lexical"))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
    assert 1 <= len(stub.clients) <= 3


@pytest.mark.parametrize(
    ("secrets", "login"),
    [
        ({"api_key": Secret("hunter2")}, "ApiKey hunter2"),
        ({"user": Secret("me"), "password": Secret("hunter2")}, "Basic bWU6aHVudGVyMg=="),
        ({}, None),
    ],
)
async def test_credentials_are_sent_and_never_shown(
    stubbed: Backend, stub: Stub, secrets: dict[str, Secret], login: str | None
) -> None:
    if "api_key" in secrets and stubbed.name == "opensearch":
        with pytest.raises(InputError, match="'api_key': use user, password"):
            await stubbed.open(stubbed.settings(secrets=secrets))
        return
    stub.status, stub.body = 401, error_body("security_exception", "unable to authenticate")
    async with stubbed.opened(secrets=secrets) as adapter:
        with pytest.raises(Refused, match="unable to authenticate") as caught:
            await adapter.search(query("a", "lexical"))
    assert set(stub.logins) == {login}
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in f"{error} {error!r}"
        error = error.__cause__


async def test_a_node_behind_tls_is_reached_with_its_authority_and_not_without(
    backend: Backend, tmp_path: Path
) -> None:
    """The certificate is of a throw-away authority that no system trusts."""
    authority = trustme.CA()
    ca_certs = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_certs))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with terminated(backend.endpoint, context) as secure:
        options = {"connect": {"ca_certs": str(ca_certs)}}
        async with backend.opened(endpoint=secure, options=options) as adapter:
            await adapter.put([chunk("a", "1", "leave policy", 1)])
            await adapter.settle()
            assert (await adapter.search(query("a", "hybrid"))).hits[0].uid == "a/1"
        with pytest.raises(Unavailable, match="certificate") as caught:
            await backend.open(backend.settings(endpoint=secure))
        assert caught.value.code is Code.CONNECT
        assert caught.value.remedy.endswith("in options.connect.ca_certs")
    with pytest.raises(Unavailable) as caught:
        await backend.open(backend.settings(endpoint=backend.endpoint.replace("http:", "https:")))
    assert "http://" in caught.value.remedy
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("another.example").configure_cert(context)
    async with terminated(backend.endpoint, context) as impostor:
        with pytest.raises(Unavailable, match=r"not valid for '127\.0\.0\.1'.*; name the host"):
            await backend.open(backend.settings(endpoint=impostor, options=options))
