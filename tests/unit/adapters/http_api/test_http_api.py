"""Questions through a real HTTP service: who is named, what comes back, what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from http_service_support import FIELDS, TOKENS, Service, described, question, settings
from qdrant_attach_support import Recorded
from qdrant_support import HOSTILE
from retrieverbench.adapter import Leg, Secret
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    Refused,
    TenantError,
    TimedOut,
    Unavailable,
)
from retrieverbench_adapters.http_api import HttpApi

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[HttpApi]]


async def test_each_tenant_asks_with_its_own_credential(opened: Open, service: Service) -> None:
    async with opened() as adapter:
        for tenant, token in TOKENS.items():
            found = await adapter.search(question(tenant, want=frozenset({"text", "tenant"})))
            assert {hit.uid.partition("/")[0] for hit in found.hits} == {tenant}
            assert found.hits[0].text == "red note of all"
            headers, asked = service.requests[-1]
            assert headers["authorization"] == f"Bearer {token}"
            assert asked == {
                "tenant": tenant,
                "query": "red note",
                "top_k": 5,
                "mode": "lexical",
                "vector": None,
            }


async def test_a_stranger_asks_without_a_credential_and_is_refused(
    opened: Open, service: Service
) -> None:
    async with opened() as adapter:
        with pytest.raises(Refused, match="http_api: 401"):
            await adapter.search(question("nobody"))
    assert "authorization" not in service.requests[-1][0]


@pytest.mark.parametrize("tenant", [*HOSTILE, "", " ", "a\0b", '","tenant":"globex'])
async def test_a_hostile_name_reaches_the_service_as_it_is(
    opened: Open, service: Service, tenant: str
) -> None:
    async with opened() as adapter:
        with pytest.raises(Refused):
            await adapter.search(question(tenant))
    assert service.requests[-1][1]["tenant"] == tenant


@pytest.mark.parametrize("tenant", [None, 1, True, ["acme"], {"$ne": ""}, b"acme", "\ud800"])
async def test_what_is_no_text_is_refused_before_any_request(
    opened: Open, service: Service, tenant: object
) -> None:
    async with opened() as adapter:
        with pytest.raises(TenantError):
            await adapter.search(question(tenant))
    assert service.requests == []


BY_PATH = described(path="/v1/{tenant}/search?q={query}&k={k}", body={}, method="GET")


async def test_names_and_words_in_a_path_are_encoded(opened: Open, service: Service) -> None:
    service.tokens = {}
    async with opened(options=BY_PATH, attached=replace(FIELDS, tenant="path")) as adapter:
        found = await adapter.search(question("acme", "red & k=1#?/note"))
        assert len(found.hits) == 3
        assert service.requests[-1][1]["query"] == "red & k=1#?/note"
        for tenant in ("acme?x=1", "acme#", "acme&k=9", "a b", "acme%2Fglobex", "ß"):
            await adapter.search(question(tenant))
            assert service.requests[-1][1]["tenant"] == tenant
        asked = len(service.requests)
        for tenant in ("", ".", ".."):
            with pytest.raises(TenantError, match="cannot stand in a path"):
                await adapter.search(question(tenant))
        assert len(service.requests) == asked


async def test_a_header_names_only_what_it_can_hold(opened: Open, service: Service) -> None:
    options = described(headers={"X-Tenant": "{tenant}", "Authorization": "Bearer {credential}"})
    async with opened(options=options) as adapter:
        await adapter.search(question("acme"))
        assert service.requests[-1][0]["x-tenant"] == "acme"
        for tenant in ("acme ", " acme", "acme\r\nX-Admin: 1", "", "ß"):
            with pytest.raises(TenantError, match="cannot stand in a header"):
                await adapter.search(question(tenant))
    assert len(service.requests) == 1


async def test_every_request_and_answer_is_shown_without_a_credential(opened: Open) -> None:
    log = Recorded()
    async with opened(recorder=log) as adapter:
        await adapter.search(question("acme"))
        with pytest.raises(Refused):
            await adapter.search(question("nobody"))
    (operation, legs, body), other = log.requests
    assert operation == "POST /v1/search"
    assert legs == (Leg("request", {"term": {"tenant": "acme"}}),)
    assert body["headers"]["authorization"] == "Bearer ***"
    assert "authorization" not in other[2]["headers"]
    assert [told["status"] for _operation, told in log.responses] == [200, 401]
    assert not any(token in repr(log) for token in TOKENS.values())


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        ("broken", Unavailable, Code.HTTP_5XX),
        ("garbage", AdapterError, Code.BAD_ANSWER),
        ("silent", TimedOut, Code.TIMEOUT),
        ("packed", AdapterError, Code.BAD_ANSWER),
    ],
)
async def test_each_failure_has_its_kind(
    opened: Open, service: Service, fault: str, kind: type[BackendError], code: Code
) -> None:
    service.fault = fault
    async with opened(timeout=0.3 if fault == "silent" else 20.0) as adapter:
        with pytest.raises(kind) as caught:
            await adapter.search(question())
    assert caught.value.code is code


async def test_the_service_repeats_a_credential_and_no_text_does(
    opened: Open, service: Service
) -> None:
    """Asked with another tenant's token, this service says whose it was."""
    service.tokens = dict(zip(TOKENS, reversed(TOKENS.values()), strict=True))
    async with opened() as adapter:
        with pytest.raises(Refused, match=r"403: .*whose token is \*\*\*") as caught:
            await adapter.search(question())
    assert "secret 'tenant:" in caught.value.remedy
    assert str(caught.value).count("check ") == 1


async def test_a_credential_may_stand_beside_another_name(opened: Open, service: Service) -> None:
    async with opened() as adapter:
        assert {n: s.reveal() for n, s in adapter.credentials.items()} == TOKENS
        for given, sent in ((Secret("t"), "Bearer t"), (None, None)):
            with pytest.raises(Refused):
                await adapter.search_with(question("acme"), given)
            headers, asked = service.requests[-1]
            assert (headers.get("authorization"), asked["tenant"]) == (sent, "acme")
    options = described(body={"query": "{query}", "top_k": "{k}"})
    by_credential = replace(FIELDS, tenant="Authorization")
    async with opened(options=options, attached=by_credential) as adapter:
        assert set(adapter.credentials) == set(TOKENS), "the credential alone says who asks"


async def test_connections_are_kept_and_no_more_than_are_needed(
    opened: Open, service: Service
) -> None:
    async with opened(concurrency=2) as adapter:
        for _ in range(5):
            await adapter.search(question())
        assert len(service.sockets) == 1
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(adapter.search, question())
    assert len(service.sockets) == 2


async def test_nothing_is_asked_twice() -> None:
    """The client would ask a GET again when the server closes a kept connection."""
    asked: list[bytes] = []
    body = b'{"results":[]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(head % len(body) + body)
        await writer.drain()
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(once, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        options = described(path="/search?t={tenant}&q={query}&k={k}", body={}, method="GET")
        given = settings(
            f"http://127.0.0.1:{port}", options=options, attached=replace(FIELDS, tenant="path")
        )
        adapter = await HttpApi.open(given)
        assert (await adapter.search(question())).hits == []
        with pytest.raises(Unavailable) as caught:
            await adapter.search(question())
        await adapter.close()
    assert caught.value.code is Code.RESET
    assert len(asked) == 2


async def test_what_is_described_is_told(opened: Open) -> None:
    async with opened() as adapter:
        told = await adapter.describe()
    assert told.chunks == {}
    assert told.unchecked


@pytest.mark.parametrize(
    ("endpoint", "warned"), [("http://10.0.0.1", True), ("https://10.0.0.1", False)]
)
async def test_credentials_in_the_clear_are_a_weakness(endpoint: str, *, warned: bool) -> None:
    adapter = await HttpApi.open(settings(endpoint))
    told: Any = await adapter.describe()
    await adapter.close()
    assert ("unencrypted" in " ".join(told.weaknesses)) is warned
