"""Opened, loaded, described, closed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest

from qdrant_support import (
    A,
    B,
    adapter,
    arm,
    ask,
    chunk,
    load,
    settings_for,
    twins,
    uids,
    unit_vectors,
)
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import (
    Rejected,
    TimedOut,
)
from retrieverbench.model import MODES, Mode
from retrieverbench_adapters.qdrant import Qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_a_second_put_replaces_and_later_chunks_are_found(front: Started) -> None:
    vectors = unit_vectors(3)
    async with adapter(front) as target:
        await target.put([chunk("1", A, "old words", vectors[0])])
        await load(target, [chunk("1", A, "new words", vectors[1]), chunk("2", A, "x", vectors[2])])
        await load(
            target, [chunk("3", A, "new canary", vectors[0]), chunk("1", B, "late", vectors[0])]
        )
        assert (await target.describe()).chunks == {"acme": 3, "globex": 1}
        assert uids(await target.search(ask(A, "lexical", [], "old"))) == []
        assert sorted(uids(await target.search(ask(A, "lexical", [], "new")))) == [
            "acme/1",
            "acme/3",
        ]
        assert uids(await target.search(ask(B, "lexical", [], "late"))) == ["globex/1"]
        found = await target.search(ask(A, "dense", vectors[1], k=1))
        assert uids(found) == ["acme/1"]


async def test_put_is_cut_into_bodies(front: Started) -> None:
    async with adapter(front, options={"connect": {"batch_bytes": 2048}}) as target:
        await load(target, twins())
        assert (await target.describe()).chunks == {"acme": 30, "globex": 30}
        assert len((await target.search(ask(A, "lexical", [], "refund", k=99))).hits) == 30


async def test_text_is_returned_when_wanted(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins(1))
        asked = ask(A, "lexical", [], "refund")
        assert (await target.search(asked)).hits[0].text is None
        found = await target.search(replace(asked, want=frozenset({"text"})))
        assert found.hits[0].text == "refund policy for order 0"
        assert found.server_ms is not None
        assert found.server_ms > 0


@pytest.mark.parametrize("mode", MODES)
async def test_one_mode_needs_only_its_own_vectors(front: Started, mode: Mode) -> None:
    async with adapter(front, modes=[mode], dimension=0 if mode == "lexical" else 16) as target:
        plain = twins(5)
        if mode == "lexical":
            plain = [replace(one, vector=None) for one in plain]
        await load(target, plain)
        assert len((await target.search(ask(A, mode, unit_vectors(5)[2], "refund"))).hits) == 5


async def test_what_is_there_is_described(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins())
        first, second = await target.describe(), await target.describe()
        assert first == second
        json.dumps(dict(first.settings))
        assert (first.server, first.client, first.fidelity) == ("qdrant", "qdrant-client", "engine")
        assert first.server_version == front.version
        expected = {
            "m": 16, "ef_construct": 100, "full_scan_threshold": 10_000,
            "indexing_threshold": 10_000, "distance": "Cosine", "dimension": 16,
            "sparse_modifier": "idf", "tenant_index": "keyword", "tenant_index_is_tenant": True,
            "idf": "tenant", "term_hash_collisions": 0,
        }  # fmt: skip
        assert {key: first.settings[key] for key in expected} == expected
        assert first.chunks == {"acme": 30, "globex": 30}


async def test_an_existing_collection_of_another_schema_is_rejected(front: Started) -> None:
    async with adapter(front, place="rb_taken") as target:
        await load(target, twins(2))
        with pytest.raises(Rejected, match=r"'rb_taken' already exists with another schema: vec"):
            await Qdrant.open(settings_for(front, place="rb_taken", dimension=8))
        with pytest.raises(Rejected, match=r"another schema: m 16"):
            await Qdrant.open(settings_for(front, place="rb_taken", options={"place": {"m": 32}}))
        guest = await Qdrant.open(settings_for(front, place="rb_taken"))
        await guest.close()
        assert (await target.describe()).chunks == {"acme": 2, "globex": 2}, "it is not the guest's"


async def test_a_tenant_field_without_its_index_is_rejected(front: Started) -> None:
    headers = {"api-key": front.secrets["api_key"].reveal()}
    async with adapter(front, place="rb_bare") as target:
        schema = {"field_name": "tenant", "field_schema": "keyword"}
        async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
            (await http.put("/collections/rb_bare/index", json=schema)).raise_for_status()
        with pytest.raises(Rejected, match="no keyword index with is_tenant"):
            await load(target, twins(1))


async def test_close_removes_its_own_collection_once(front: Started) -> None:
    settings = settings_for(front)
    target = await Qdrant.open(settings)
    await target.close()
    await target.close()
    reopened = await Qdrant.open(settings)
    assert (await reopened.describe()).chunks == {}
    await reopened.close()


async def test_a_cancelled_close_still_removes_the_collection(
    front: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(front)
    target = await Qdrant.open(settings)
    client = target._server.client
    remove = client.delete_collection

    async def remove_after_a_pause(place: str) -> bool:
        await anyio.sleep(0.01)
        return await remove(place)

    monkeypatch.setattr(client, "delete_collection", remove_after_a_pause)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await target.close()
    headers = {"api-key": front.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
        assert (await http.get(f"/collections/{settings.place}")).status_code == 404


async def test_settling_has_a_deadline(front: Started) -> None:
    options = {"place": {"settle_timeout": 0.3}}
    async with adapter(front, options=options) as target:
        await arm(front, kind="delay", seconds=2.0, path=target._settings.place)
        with pytest.raises(TimedOut, match=r"did not settle within 0\.3 s"):
            await target.settle()


async def test_a_full_pool_waits_and_does_not_fail(front: Started) -> None:
    """More searches than connections: the runner never does it, and nothing may break."""
    async with adapter(front, concurrency=2) as target:
        await load(target, twins(5))
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(target.search, ask(A, "hybrid", unit_vectors(1)[0], "refund"))


async def test_connections_are_kept_alive(front: Started) -> None:
    async with adapter(front, concurrency=1) as target:
        await load(target, twins(5))
        transport: Any = target._server.client.http.client._async_client._transport
        opened = []
        connect = transport.client.connector._create_connection

        async def counted(*arguments: Any) -> Any:
            opened.append(1)
            return await connect(*arguments)

        transport.client.connector._create_connection = counted
        for _ in range(10):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert len(opened) <= 1
        assert transport.client.connector.limit == 4, "one for every upload"
