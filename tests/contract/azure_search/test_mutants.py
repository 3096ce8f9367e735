"""The right adapter against a stand-in that is broken on purpose: each way must be seen.

What is asked here are the probes of `retrieverbench.leaks` in small: every answer against the
owner ledger, totals and lists against what each tenant owns, and owners after a change.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import anyio
import pytest

from azure_support import VERSION
from engine_support import chunk, unit_vector
from retrieverbench.adapter import Secret, Settings
from retrieverbench.engines.azure_search import start
from retrieverbench.engines.azure_search.mutants import BREAKS, HEADER, Mutant
from retrieverbench.engines.azure_search.replies import Call
from retrieverbench.engines.azure_search.server import serving
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.errors import AdapterError, InputError, TimedOut
from retrieverbench.leaks import foreign_hits, make_ledger
from retrieverbench.model import MODES, Chunk, Mode, Query, TenantId
from retrieverbench_adapters.azure_search import AzureSearch
from stand_in_support import ADMIN_KEY, CREDENTIALS

pytestmark = pytest.mark.anyio
DIMENSION = 16
TENANTS = [TenantId(n) for n in ("acme", "ACME", "acme-corp", "acme corp", "corp", "globex")]
ACME, GLOBEX = TENANTS[0], TENANTS[-1]
CHUNKS = [
    chunk(tenant.value, f"c{i}", f"shared paragraph {i} as {tenant.value} wrote it")
    for tenant in TENANTS
    for i in range(12)
]
DELETED, MOVED = CHUNKS[1], CHUNKS[2]
STRANGERS: list[dict[str, Any]] = [
    {"key": "s-orphan", "uid": "orphan", "tenant": None, "content": "shared orphan"},
    {"key": "s-blank", "uid": "blank", "tenant": "acme ", "content": "shared blank"},
]
"""Written by somebody else: without a tenant, and with one that no TenantId can name."""

EXPECTED: dict[Mutant, str] = {
    "ignore_filter": "LEAK",
    "text_leg_unfiltered": "LEAK",
    "vector_leg_unfiltered": "LEAK",
    "filter_page1_only": "LEAK",
    "ci_eq": "LEAK",
    "prefix_eq": "LEAK",
    "strip_eq": "LEAK",
    "search_in_default_delimiters": "LEAK",
    "null_matches_eq": "LEAK",
    "post_filter_only": "STARVATION",
    "cache_without_tenant": "LEAK",
    "stale_delete": "NOT SETTLED",
    "stale_move": "LEAK",
    "total_unfiltered": "SIDE CHANNEL",
    "cross_talk": "LEAK",
}
NOT_SHOWN: dict[Mutant, str] = {
    "or_precedence": "the adapter joins by `and` alone and puts both parts in parentheses",
    "facets_unfiltered": "the adapter asks for no facets under a tenant's condition",
}


def settings(endpoint: str, form: str) -> Settings:
    return Settings(
        endpoint=endpoint,
        place="rb_mutants",
        modes=frozenset(MODES),
        dimension=DIMENSION,
        concurrency=8,
        timeout=20.0,
        options={
            "search": {"exact": True, "tenant_filter": form},
            "place": {"settle_seconds": 1.0},
        },
        secrets={"api_key": Secret(ADMIN_KEY)},
    )


@pytest.fixture(scope="module")
async def stand_in() -> AsyncIterator[tuple[Service, str]]:
    """One service for all mutants, its index loaded by the adapter and by strangers."""
    service = Service(CREDENTIALS)
    async with serving(service) as endpoint:
        adapter = await AzureSearch.open(settings(endpoint, "eq"))
        await adapter.put(CHUNKS)
        await adapter.settle()
        vector = list(unit_vector("stranger"))
        documents = [{**stranger, "id": "x", "vector": vector} for stranger in STRANGERS]
        body = json.dumps({"value": documents}).encode()
        headers = {"api-key": ADMIN_KEY}
        path = "/indexes/rb_mutants/docs/index"
        reply = service.answer(Call("POST", path, {"api-version": VERSION}, headers, body))
        assert reply.status == 200
        yield service, endpoint
        await adapter.close()


@asynccontextmanager
async def broken(
    stand_in: tuple[Service, str], mutant: Mutant | None, form: str
) -> AsyncIterator[AzureSearch]:
    """The unmodified adapter, with the service broken until it is closed."""
    service, endpoint = stand_in
    adapter = await AzureSearch.open(settings(endpoint, form))
    try:
        _break(service, mutant)
        await adapter.put([DELETED, MOVED])  # another test may have changed them
        await adapter.settle()
        yield adapter
    finally:
        _break(service, None)
        await adapter.close()


def _break(service: Service, mutant: Mutant | None) -> None:
    service.options = Options(BROKEN_ON_PURPOSE=mutant)
    for index in service.indexes.values():
        index.options = service.options


def ask(text: str, tenant: TenantId, mode: Mode, k: int = 10) -> Query:
    vector = None if mode == "lexical" else unit_vector(text)
    return Query(text, tenant, k, mode, vector, want=frozenset({"total"}))


async def audited(adapter: AzureSearch) -> set[str]:
    """What was seen that should not be."""
    seen: set[str] = set()
    ledger = make_ledger(CHUNKS)

    async def probe(query: Query, own: int | None = None) -> None:
        response = await adapter.search(query)
        uids = [hit.uid for hit in response.hits]
        if foreign_hits(uids, query.tenant, ledger, target="", case_id="", seen_in="quality"):
            seen.add("LEAK")
        if own is not None and len(uids) < own:
            seen.add("STARVATION")
        if own is not None and response.total is not None and response.total > own:
            seen.add("SIDE CHANNEL")

    for tenant in TENANTS:
        await probe(ask("shared", tenant, "lexical", 50), own=12)
        await probe(ask("shared", tenant, "dense", 12), own=12)
    for mode in MODES:
        async with anyio.create_task_group() as tasks:  # the same questions by all at once
            for tenant in TENANTS:
                tasks.start_soon(probe, ask(DELETED.text, tenant, mode))
                tasks.start_soon(probe, ask("shared paragraph", tenant, mode, 70))
    try:
        seen |= await changed_owners(adapter)
    except TimedOut:
        seen.add("NOT SETTLED")
    except AdapterError:
        seen.add("NOTHING CHANGED")
    return seen


async def changed_owners(adapter: AzureSearch) -> set[str]:
    """Whether a former owner still finds what was deleted or moved."""
    await adapter.move(MOVED.uid, ACME, GLOBEX)
    await adapter.settle()
    assert MOVED.uid in await found(adapter, MOVED, GLOBEX)
    seen = {"LEAK"} if MOVED.uid in await found(adapter, MOVED, ACME) else set()
    await adapter.delete(ACME, [DELETED.uid])
    await adapter.settle()
    return seen | ({"LEAK"} if DELETED.uid in await found(adapter, DELETED, ACME) else set())


async def found(adapter: AzureSearch, wanted: Chunk, tenant: TenantId) -> list[str]:
    return [hit.uid for hit in (await adapter.search(ask(wanted.text, tenant, "lexical"))).hits]


@pytest.mark.parametrize("form", ["eq", "search.in"])
async def test_the_whole_stand_in_is_clean(stand_in: tuple[Service, str], form: str) -> None:
    async with broken(stand_in, None, form) as adapter:
        assert await audited(adapter) == set()
        described = await adapter.describe()
        assert not any("broken" in line for line in described.weaknesses)


@pytest.mark.parametrize("mutant", EXPECTED)
async def test_a_mutant_is_caught(stand_in: tuple[Service, str], mutant: Mutant) -> None:
    form = "search.in" if mutant == "search_in_default_delimiters" else "eq"
    async with broken(stand_in, mutant, form) as adapter:
        assert EXPECTED[mutant] in await audited(adapter)
        described = await adapter.describe()
        assert any(f"broken on purpose ({mutant})" in line for line in described.weaknesses)


@pytest.mark.parametrize("mutant", NOT_SHOWN)
async def test_a_mutant_that_the_right_adapter_does_not_meet(
    stand_in: tuple[Service, str], mutant: Mutant
) -> None:
    """These are no holes in the probes: nothing that the adapter sends is answered wrongly."""
    async with broken(stand_in, mutant, "eq") as adapter:
        assert await audited(adapter) == set()


async def test_the_usual_tenant_filter_does_not_depend_on_delimiters(
    stand_in: tuple[Service, str],
) -> None:
    async with broken(stand_in, "search_in_default_delimiters", "eq") as adapter:
        assert await audited(adapter) == set()


def test_every_mutant_is_told() -> None:
    names = set(get_args(Mutant))
    assert names == set(BREAKS) == {*EXPECTED, *NOT_SHOWN}


async def test_nothing_is_broken_by_accident() -> None:
    """Off by default; by its loud name alone, and by a name of a mutant alone."""
    for options in ({"broken_on_purpose": "ci_eq"}, {"BROKEN_ON_PURPOSE": True}):
        with pytest.raises(InputError, match="BROKEN_ON_PURPOSE"):
            async with start(options):
                pytest.fail("started")
    assert Options().BROKEN_ON_PURPOSE is None


async def test_a_broken_process_says_so() -> None:
    async with start({"BROKEN_ON_PURPOSE": "ignore_filter"}) as started:
        notes = started.details["notes"]
        assert isinstance(notes, list)
        assert notes[0].startswith("BROKEN ON PURPOSE: ignore_filter: the filter is accepted")
        assert HEADER.startswith("x-retrieverbench-")
