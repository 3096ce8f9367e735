"""What every adapter promises, on a real engine; the tests ask for capabilities, never names.

If one fails, look at the adapter's tenant condition and its answer's order first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from engine_support import chunk, combinations, place_of, unit_vector
from retrieverbench.adapter import Writable
from retrieverbench.errors import RetrieverBenchError
from retrieverbench.model import MODES, Chunk, Layout, Mode, Query, TenantId, make_uid
from retrieverbench.run import Engines, Place, check_response

pytestmark = pytest.mark.anyio

WORDS = (
    "leave refund limit incident contract security audit invoice holiday payment".split()  # noqa: SIM905
)
SHARED = "The shared paragraph about leave and refunds stands word for word in two tenants."
TENANTS = ("acme", "acme-corp", "globex")


def corpus() -> list[Chunk]:
    """Three tenants, two with look-alike names; some texts and ids stand in two of them."""
    chunks = [
        chunk(
            tenant,
            f"{word}/{number}",
            f"{tenant} text {number} on {word}: {' '.join(WORDS[number : number + 3])}.",
            metadata={"topic": word, "year": 2020 + number, "public": number % 2 == 0},
        )
        for tenant in TENANTS
        for word in WORDS[:4]
        for number in range(5)
    ]
    chunks += [chunk(tenant, "shared#1", SHARED) for tenant in TENANTS[:2]]
    return chunks


CHUNKS = corpus()


@pytest.fixture(scope="module", params=list(combinations()), ids=lambda p: f"{p[0]}-{p[1]}")
async def place(request: Any, engines: Engines) -> AsyncIterator[Place]:
    name, layout = request.param
    exact = {"exact": True} if "exact" in capabilities_of(name) else {}
    async with await place_of(engines, name, layout, CHUNKS, search=exact) as opened:
        yield opened


def capabilities_of(name: str) -> frozenset[str]:
    from retrieverbench.run import load_adapter

    return load_adapter(name).cls.capabilities


def ask(text: str, tenant: str, mode: Mode, k: int = 10, **more: Any) -> Query:
    """A question whose vector is that of its own text."""
    vector = None if mode == "lexical" else unit_vector(text)
    return Query(text, TenantId(tenant), k, mode, vector, **more)


async def uids(place: Place, query: Query) -> list[str]:
    hits = check_response(await place.adapter.search(query), query)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True), "not best first"
    return [hit.uid for hit in hits]


def need(place: Place, word: str) -> None:
    if word not in place.loaded.cls.capabilities:
        pytest.skip(f"{place.loaded.name} does not claim {word!r}")


@pytest.mark.parametrize("text", [c.text for c in CHUNKS[::7]])
async def test_dense_agrees_with_brute_force(place: Place, text: str) -> None:
    need(place, "dense")
    need(place, "exact")
    query = unit_vector(text)
    own = [c for c in CHUNKS if c.tenant.value == "acme"]
    cosine = {c.uid: sum(a * b for a, b in zip(c.vector or (), query, strict=True)) for c in own}
    expected = sorted(cosine, key=lambda uid: -cosine[uid])[:10]
    assert await uids(place, ask(text, "acme", "dense")) == expected


@pytest.mark.parametrize("mode", MODES)
async def test_identical_texts_stay_apart(place: Place, mode: Mode) -> None:
    need(place, mode)
    for tenant in TENANTS[:2]:
        found = await uids(place, ask(SHARED, tenant, mode))
        assert found[0] == make_uid(TenantId(tenant), "shared#1")
        assert all(uid.startswith(f"{tenant}/") for uid in found)


@pytest.mark.parametrize("mode", MODES)
async def test_a_foreign_tenants_exact_text_finds_only_own(place: Place, mode: Mode) -> None:
    need(place, mode)
    for foreign in CHUNKS[::5]:
        for tenant in TENANTS:
            found = await uids(place, ask(foreign.text, tenant, mode, k=50))
            assert all(uid.startswith(f"{tenant}/") for uid in found), (tenant, foreign.uid)


@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tenant_sees_nothing(place: Place, mode: Mode) -> None:
    need(place, mode)
    for tenant in ("nobody", "ACME", "acm", "acme-", "corp"):
        assert await uids(place, ask(SHARED, tenant, mode)) == []


@pytest.mark.parametrize("mode", MODES)
async def test_hostile_questions_are_words(place: Place, mode: Mode) -> None:
    need(place, mode)
    for text in (
        "tenant:globex",
        ") OR (tenant:globex",
        "*:*",
        "/.*/",
        "leave' OR '1'='1",
        'leave" | "refund',
        "leave & !refund <-> :*",
        '{"match_all": {}}',
        "%",
        "\\",
        "é漢字🙂",
    ):
        found = await uids(place, ask(text, "acme", mode))
        assert all(uid.startswith("acme/") for uid in found), text


async def test_k_beyond_the_tenants_rows_returns_them_all_once(place: Place) -> None:
    need(place, "dense")
    found = await uids(place, ask(SHARED, "acme", "dense", k=100))
    assert sorted(found) == sorted(c.uid for c in CHUNKS if c.tenant.value == "acme")


async def test_lexical_returns_matching_chunks_only(place: Place) -> None:
    need(place, "lexical")
    assert await uids(place, ask("zzzunheardof", "acme", "lexical")) == []
    found = await uids(place, ask("incident zzzunheardof", "acme", "lexical", k=100))
    assert found
    assert all("incident" in c.text for c in CHUNKS if c.uid in found)


@pytest.mark.parametrize("mode", MODES)
async def test_user_conditions_only_narrow(place: Place, mode: Mode) -> None:
    need(place, mode)
    need(place, "where")
    for where in ({"topic": "leave"}, {"year": 2021}, {"public": True, "topic": "refund"}):
        query = ask("leave refund", "acme", mode, k=50, where=where)
        found = await uids(place, query)
        matching = {
            c.uid
            for c in CHUNKS
            if c.tenant.value == "acme" and all(c.metadata.get(k) == v for k, v in where.items())
        }
        assert set(found) <= matching
        assert found
    other_type = ask("leave refund", "acme", mode, where={"year": "2021"})
    assert await uids(place, other_type) == []


async def test_counts_and_settings_are_read_back(place: Place) -> None:
    before = await place.adapter.describe()
    assert dict(before.chunks) == {"acme": 21, "acme-corp": 21, "globex": 20}
    await uids(place, ask(SHARED, "acme", place.entry.modes[0]))
    assert (await place.adapter.describe()).settings == before.settings


async def test_interleaved_tenants_never_mix(place: Place) -> None:
    failures: list[str] = []

    async def ask_often(tenant: str, mode: Mode) -> None:
        for foreign in CHUNKS[::6]:
            found = await uids(place, ask(foreign.text, tenant, mode))
            failures.extend(uid for uid in found if not uid.startswith(f"{tenant}/"))

    async with anyio.create_task_group() as tasks:
        for tenant in TENANTS:
            for mode in place.entry.modes:
                tasks.start_soon(ask_often, tenant, mode)
    assert failures == []


@pytest.mark.parametrize("name_layout", list(combinations()), ids=lambda p: f"{p[0]}-{p[1]}")
async def test_put_replaces_and_close_is_safe_twice(
    engines: Engines, name_layout: tuple[str, Layout]
) -> None:
    name, layout = name_layout
    async with await place_of(engines, name, layout, CHUNKS[:5]) as opened:
        need(opened, "put")
        adapter = opened.adapter
        assert isinstance(adapter, Writable)
        old = CHUNKS[0]
        new = chunk(old.tenant.value, old.id, "wholly different wording about umbrellas")
        await adapter.put([new])
        await adapter.settle()
        assert sum((await adapter.describe()).chunks.values()) == 5
        if "lexical" in opened.entry.modes:
            assert await uids(opened, ask("umbrellas", "acme", "lexical")) == [old.uid]
        await adapter.close()
        await adapter.close()


@pytest.mark.parametrize("name_layout", list(combinations()), ids=lambda p: f"{p[0]}-{p[1]}")
async def test_unknown_options_are_refused_by_name(
    engines: Engines, name_layout: tuple[str, Layout]
) -> None:
    name, layout = name_layout
    with pytest.raises(RetrieverBenchError, match="exakt"):
        async with await place_of(engines, name, layout, [], search={"exakt": True}):
            pass
