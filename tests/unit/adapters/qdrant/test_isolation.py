"""Tenants stay apart, and a missing filter would be seen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import product

import anyio
import pytest

from qdrant_support import (
    EXACT,
    HOSTILE,
    LAYOUTS,
    A,
    B,
    adapter,
    arm,
    ask,
    chunk,
    load,
    twins,
    uids,
    unit_vectors,
)
from retrieverbench.engines import Started, qdrant
from retrieverbench.model import MODES, Layout, Mode, TenantId, Value

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_identical_texts_of_two_tenants_stay_apart(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        await load(target, twins())
        vectors = unit_vectors(30)
        for mode, tenant in product(MODES, (A, B)):
            found = await target.search(ask(tenant, mode, vectors[3], "refund order 3", k=100))
            assert len(found.hits) == 30
            assert {uid.partition("/")[0] for uid in uids(found)} == {tenant.value}
            assert {hit.tenant for hit in found.hits} == {tenant.value}
            assert uids(found)[0] == f"{tenant}/3"
        for mode in MODES:
            nobody = await target.search(ask(TenantId("unknown"), mode, vectors[3], "refund"))
            assert nobody.hits == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_dropped_filter_would_be_seen(front: Started, mode: Mode) -> None:
    """The negative control: the same search with its filters taken away on the way."""
    async with adapter(front) as target:
        await load(target, twins())
        await arm(front, kind="unfiltered", path="points/query")
        found = await target.search(ask(A, mode, unit_vectors(1)[0], "refund", k=100))
        assert {uid.partition("/")[0] for uid in uids(found)} == {"acme", "globex"}


@pytest.mark.parametrize("leg", ["root", "prefetch"])
async def test_root_and_prefetch_each_carry_the_filter(front: Started, leg: str) -> None:
    """Either alone keeps tenants apart: the server joins them by AND."""
    async with adapter(front) as target:
        await load(target, twins())
        await arm(front, kind="unfiltered", path="points/query", leg=leg)
        found = await target.search(ask(A, "hybrid", unit_vectors(1)[0], "refund", k=100))
        assert {uid.partition("/")[0] for uid in uids(found)} == {"acme"}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_hostile_tenants_see_their_own_only(front: Started, layout: Layout) -> None:
    """Some of them where each needs a place of its own, which takes its time."""
    names = HOSTILE if layout == "filter" else HOSTILE[::6]
    tenants = [TenantId(name) for name in [*names, "acme", "globex"]]
    vector = unit_vectors(1)[0]
    async with adapter(front, layout=layout) as target:
        await load(target, [chunk("1", tenant, "the same text", vector) for tenant in tenants])
        for tenant in tenants:
            for mode in MODES:
                found = await target.search(ask(tenant, mode, vector, "same text", k=50))
                assert uids(found) == [chunk("1", tenant, "", vector).uid], (tenant, mode)
        described = await target.describe()
    assert described.chunks == {tenant.value: 1 for tenant in tenants}


async def test_hostile_questions_are_words(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins(5))
        for text in [
            *HOSTILE,
            "",
            "\0\n\t",
            "refund\0",
            "x" * 40_000,
            "\N{RIGHT-TO-LEFT OVERRIDE}",
        ]:
            for mode in ("lexical", "hybrid"):
                found = await target.search(ask(A, mode, unit_vectors(1)[0], text))
                assert {uid.partition("/")[0] for uid in uids(found)} <= {"acme"}


async def test_where_narrows_and_never_replaces(front: Started) -> None:
    vector = unit_vectors(1)[0]
    rows: list[dict[str, Value]] = [
        {"lang": "en", "n": 1, "flag": True},
        {"lang": "de", "n": 1.5, "flag": False},
        {"lang": "en", "n": 2.0, "tenant": "globex", 'odd "key".[]': "x"},
    ]
    chunks = [
        replace(chunk(str(i), tenant, "text", vector), metadata=row)
        for i, row in enumerate(rows)
        for tenant in (A, B)
    ]
    cases: list[tuple[dict[str, Value], list[str]]] = [
        ({"lang": "en"}, ["acme/0", "acme/2"]),
        ({"lang": "en", "n": 1}, ["acme/0"]),
        ({"n": 1.0}, ["acme/0"]),
        ({"n": 2}, ["acme/2"]),
        ({"n": 1.5}, ["acme/1"]),
        ({"n": "1"}, []),
        ({"flag": True}, ["acme/0"]),
        ({"flag": 1}, []),
        ({"tenant": "globex"}, ["acme/2"]),
        ({'odd "key".[]': "x"}, ["acme/2"]),
        ({"absent": "x"}, []),
    ]
    async with adapter(front) as target:
        await load(target, chunks)
        for mode in MODES:
            for where, expected in cases:
                asked = replace(ask(A, mode, vector, "text"), where=where)
                assert sorted(uids(await target.search(asked))) == expected, (mode, where)


async def test_thirty_two_at_once(front: Started) -> None:
    async with adapter(front, concurrency=32, options=EXACT) as target:
        await load(target, twins())
        vectors = unit_vectors(30)

        async def one(number: int) -> None:
            tenant = (A, B)[number % 2]
            for round_ in range(5):
                wanted = (number + round_) % 30
                found = await target.search(ask(tenant, "dense", vectors[wanted], k=3))
                assert uids(found)[0] == f"{tenant}/{wanted}"

        async with anyio.create_task_group() as group:
            for number in range(32):
                group.start_soon(one, number)


async def test_a_cancelled_search_leaves_nothing_behind(front: Started) -> None:
    async with adapter(front, concurrency=1) as target:
        await load(target, twins())
        vectors = unit_vectors(30)
        await arm(front, kind="delay", path="points/query", seconds=0.5)
        with anyio.move_on_after(0.1) as scope:
            await target.search(ask(B, "dense", vectors[9]))
        assert scope.cancelled_caught
        for wanted in range(20):
            found = await target.search(ask(A, "dense", vectors[wanted], k=1))
            assert uids(found) == [f"acme/{wanted}"]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
