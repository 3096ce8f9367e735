"""Tenants, conditions, life cycle and refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from memory_support import ACME, ALL_MODES, GLOBEX, ask, chunk, opened, uids
from retrieverbench.adapter import CAPABILITIES, Settings, Writable
from retrieverbench.errors import InputError, Rejected, TenantError, Unavailable
from retrieverbench.model import Layout, Mode, Query, Response, TenantId, Value
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


def test_it_keeps_the_protocol() -> None:
    kept: type[Writable] = Memory
    assert set(CAPABILITIES) >= kept.capabilities


@pytest.mark.parametrize("layout", ["filter", "index"])
@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
async def test_only_the_askers_chunks_are_returned(mode: Mode, layout: Layout) -> None:
    """Both tenants hold the same text and vector, so a missing condition must show."""
    chunks = [chunk(t, f"{i}", "same words", 1, 0) for t in (ACME, GLOBEX) for i in range(5)]
    memory = await opened(chunks, layout=layout, dimension=2)
    for tenant in (ACME, GLOBEX):
        response = await ask(memory, mode, "words", 1, 0, tenant=tenant, k=10)
        assert uids(response) == [f"{tenant}/{i}" for i in range(5)]
    nobody = await ask(memory, mode, "words", 1, 0, tenant=TenantId("Acme"))
    assert uids(nobody) == []


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
async def test_conditions_are_equalities_combined_by_and(mode: Mode) -> None:
    chunks = [
        chunk(ACME, "one", "words", 1, 0, year=1, lang="en"),
        chunk(ACME, "true", "words", 1, 0, year=True, lang="en"),
        chunk(ACME, "german", "words", 1, 0, year=1, lang="de"),
        chunk(ACME, "none", "words", 1, 0),
        chunk(GLOBEX, "foreign", "words", 1, 0, year=1, lang="en"),
    ]
    memory = await opened(chunks, dimension=2)

    async def kept(**where: Value) -> list[str]:
        return uids(await ask(memory, mode, "words", 1, 0, where=where))

    assert await kept(year=1, lang="en") == ["acme/one"]
    assert await kept(year=1.0) == ["acme/german", "acme/one"]
    assert await kept(year=True) == ["acme/true"]
    assert await kept(tenant="acme") == []  # no key of the chunks, though the asker's name
    assert await kept(lang="1") == []


async def test_an_answer_carries_what_is_wanted_and_no_more() -> None:
    memory = await opened([chunk(ACME, f"{i}", f"words {i}", title="t") for i in range(3)])
    bare = await ask(memory, "lexical", "words", k=1)
    assert (bare.hits[0].text, bare.hits[0].tenant, bare.total) == (None, None, None)
    full = await ask(memory, "lexical", "words", k=1, want=frozenset({"text", "tenant", "total"}))
    assert (full.hits[0].text, full.hits[0].tenant, full.total) == ("words 0", "acme", 3)


async def test_what_was_put_is_searchable_after_settle_only() -> None:
    memory = await opened([chunk(ACME, "a", "old words")])
    await memory.put([chunk(ACME, "a", "new words"), chunk(ACME, "b", "new")])
    assert uids(await ask(memory, "lexical", "new")) == []
    assert (await memory.describe()).chunks == {"acme": 1}
    await memory.settle()
    assert uids(await ask(memory, "lexical", "new")) == ["acme/b", "acme/a"]
    assert uids(await ask(memory, "lexical", "old")) == []
    assert (await memory.describe()).chunks == {"acme": 2}


async def test_settle_does_not_block_the_loop() -> None:
    memory = await opened([])
    await memory.put([chunk(ACME, f"{i}", f"some words of chunk {i} " * 20) for i in range(500)])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await memory.settle()
        seen = ticks
        tasks.cancel_scope.cancel()
    assert seen > 10


async def test_describe_tells_counts_settings_and_sizes() -> None:
    memory = await opened(
        [chunk(ACME, "a", "the refund policy"), chunk(GLOBEX, "a", "refund")],
        options={"place": {"k1": 0.9}},
    )
    described = await memory.describe()
    assert described.chunks == {"acme": 1, "globex": 1}
    assert described.settings["k1"] == 0.9
    assert (described.settings["terms"], described.settings["distinct_terms"]) == (3, 2)
    assert described == await memory.describe()
    assert described.fidelity == "engine"
    json.dumps(dict(described.settings))


async def test_concurrent_tenants_do_not_meet() -> None:
    tenants = [TenantId(f"t{i}") for i in range(8)]
    chunks = [chunk(t, f"{i}", "same words", 1, 0) for t in tenants for i in range(4)]
    memory = await opened(chunks, dimension=2)
    seen: dict[TenantId, list[str]] = {}

    async def one(tenant: TenantId) -> None:
        for mode in ALL_MODES:
            seen.setdefault(tenant, []).extend(
                uids(await ask(memory, mode, "words", 1, 0, tenant=tenant))
            )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.settle)
        for tenant in tenants:
            tasks.start_soon(one, tenant)
    for tenant in tenants:
        assert {uid.split("/")[0] for uid in seen[tenant]} == {tenant.value}
        assert len(seen[tenant]) == 12


async def test_closed_twice_is_closed() -> None:
    memory = await opened([chunk(ACME, "a", "words")])
    await memory.close()
    await memory.close()
    with pytest.raises(Unavailable, match="closed"):
        await ask(memory, "lexical", "words")


async def test_an_empty_place_answers_nothing() -> None:
    memory = await opened([], dimension=2)
    assert (await memory.describe()).chunks == {}
    wanted = frozenset({"total"})
    assert (await ask(memory, "hybrid", "words", 1, 0, want=wanted)) == Response([], total=0)


@pytest.mark.parametrize(
    ("vector", "text"),
    [
        ((1, 2, 3), "chunk 'acme/bad': 3 numbers, expected 2"),
        ((0, 0), "no cosine"),
        ((math.nan, 1), "no cosine"),
        ((), "missing"),
    ],
)
async def test_a_wrong_vector_is_refused_and_nothing_of_the_batch_kept(
    vector: tuple[float, ...], text: str
) -> None:
    memory = await opened([], dimension=2)
    with pytest.raises(Rejected, match=text):
        await memory.put([chunk(ACME, "good", "x", 1, 0), chunk(ACME, "bad", "x", *vector)])
    await memory.settle()
    assert (await memory.describe()).chunks == {}


async def test_a_question_with_a_wrong_vector_is_refused() -> None:
    memory = await opened([chunk(ACME, "a", "x", 1, 0)], dimension=2)
    with pytest.raises(Rejected, match="query: 3 numbers, expected 2"):
        await ask(memory, "dense", "x", 1, 0, 0)
    with pytest.raises(Rejected, match="query: missing"):
        await ask(memory, "hybrid", "x")


async def test_an_unchecked_tenant_is_refused() -> None:
    memory = await opened([chunk(ACME, "a", "x")])
    for wrong in (None, "", "acme", ["acme"]):
        with pytest.raises(TenantError):
            await ask(memory, "lexical", "x", tenant=wrong)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"options": {"place": {"k2": 1}}}, r"memory: options: place.k2: unknown key"),
        ({"options": {"place": {"b": 1.5}}}, r"place.b: 1.5 is wrong"),
        ({"options": {"search": {"exact": False}}}, r"search.exact: False"),
        ({"options": {"connect": {"url": "x"}}}, r"connect.url: unknown key"),
        ({"options": {"index": {}}}, r"index: unknown key"),
        ({"layout": "rls"}, r"layout: 'rls'"),
        ({"modes": ALL_MODES}, r"dimension: 0"),
        ({"endpoint": "http://x"}, r"endpoint: 'http://x'"),
        ({"place": "mine"}, r"place: 'mine'"),
    ],
)
async def test_wrong_settings_are_refused(settings: dict[str, Any], fault: str) -> None:
    base: dict[str, Any] = {
        "endpoint": "",
        "place": "rb_x",
        "modes": frozenset({"lexical"}),
    }
    with pytest.raises(InputError, match=fault):
        await Memory.open(Settings(**(base | settings)))


async def test_reads_by_id_show_the_askers_own_alone() -> None:
    chunks = [chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "two")]
    memory = await opened(chunks)
    found = await memory.get(ACME, ["acme/a", "globex/b", "acme/none"])
    assert [(hit.uid, hit.tenant, hit.text) for hit in found] == [("acme/a", "acme", "one")]


async def test_a_delete_takes_the_owners_chunk_alone() -> None:
    memory = await opened([chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "one")])
    await memory.delete(ACME, ["acme/a", "globex/b"])
    await memory.settle()
    assert await memory.get(ACME, ["acme/a"]) == []
    assert len(await memory.get(GLOBEX, ["globex/b"])) == 1


async def test_a_moved_chunk_keeps_its_uid_and_changes_its_owner() -> None:
    memory = await opened([chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "one")])
    with pytest.raises(Rejected, match="'acme' has no chunk 'globex/b'"):
        await memory.move("globex/b", ACME, GLOBEX)
    await memory.move("acme/a", ACME, GLOBEX)
    await memory.settle()
    assert await memory.get(ACME, ["acme/a"]) == []
    assert [hit.uid for hit in await memory.get(GLOBEX, ["acme/a"])] == ["acme/a"]
    response = await memory.search(Query("one", GLOBEX, 5, "lexical"))
    assert uids(response) == ["acme/a", "globex/b"]
