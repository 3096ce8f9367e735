"""Reading, deleting and moving by id, and totals, in every layout."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pgvector_support import (
    ACME,
    EXACT,
    GLOBEX,
    ask,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    uids,
)
from retrieverbench.adapter import Deletes, Explains, Moves, ReadsById
from retrieverbench.engines import Started
from retrieverbench.errors import TenantError
from retrieverbench.model import MODES, Layout, TenantId
from retrieverbench_adapters.pgvector import Pgvector

pytestmark = [
    pytest.mark.anyio,
    needs_server,
    pytest.mark.parametrize("layout", ["filter", "partition", "index", "rls"], scope="module"),
]


@pytest.fixture(scope="module")
async def place(server: Started, layout: Layout) -> AsyncIterator[Pgvector]:
    """One place for all tests that only read."""
    async with loaded(server, CHUNKS, place="rb_read", layout=layout, options=EXACT) as adapter:
        yield adapter


CHUNKS = [*make_chunks(ACME, 6), *make_chunks(GLOBEX, 9)]
NOBODY = TenantId("nobody")


async def test_get_reads_the_tenants_own_and_a_foreign_uid_is_absent(place: Pgvector) -> None:
    assert isinstance(place, ReadsById)
    assert isinstance(place, Explains)
    asked = ["acme/c001", "globex/c001", "acme/c000", "none", "", "' OR 1=1 --", "nul\0"]
    hits = await place.get(ACME, asked)
    assert [(h.uid, h.score, h.tenant, h.text) for h in hits] == [
        (chunk.uid, 1.0, "acme", chunk.text) for chunk in CHUNKS[:2]
    ]
    for foreign in (["globex/c000"], ["acme/none"], []):
        assert await place.get(ACME, foreign) == []
    assert await place.get(NOBODY, asked) == []


async def test_totals_count_what_matches_and_is_the_tenants_own(place: Pgvector) -> None:
    total: dict[str, Any] = {"want": frozenset({"total"}), "k": 2}
    for mode in MODES:
        for tenant, stored in ((ACME, 6), (GLOBEX, 9), (NOBODY, 0)):
            response = await place.search(make_query(tenant, mode, **total))
            every = len((await place.search(make_query(tenant, mode, k=100))).hits)
            assert response.total == every, (mode, tenant)
            assert mode == "lexical" or every == stored
            assert len(response.hits) == min(2, every)
    none = make_query(ACME, "lexical", text="unheard", **total)
    assert (await place.search(none)).total == 0
    assert (await place.search(make_query(ACME))).total is None


async def test_delete_removes_the_tenants_own_settled_or_not(
    server: Started, layout: Layout
) -> None:
    async with loaded(server, CHUNKS, layout=layout, options=EXACT) as adapter:
        assert isinstance(adapter, Deletes)
        await adapter.put(make_chunks(ACME, 8, seed=2)[6:])
        await adapter.delete(ACME, ["acme/c000", "acme/c007", "globex/c000", "none"])
        await adapter.delete(NOBODY, [chunk.uid for chunk in CHUNKS])
        await adapter.delete(ACME, [])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 6, "globex": 9}
        found = uids(await adapter.search(make_query(ACME, k=100)))
        assert sorted(found) == [f"acme/c00{number}" for number in range(1, 7)]


async def test_move_changes_the_owner_and_keeps_the_uid(server: Started, layout: Layout) -> None:
    async with loaded(server, CHUNKS, layout=layout, options=EXACT) as adapter:
        assert isinstance(adapter, Moves)
        await adapter.move("acme/c000", ACME, GLOBEX)
        await adapter.move("acme/c001", ACME, NOBODY)
        await adapter.move("globex/c002", ACME, NOBODY)  # not acme's
        await adapter.put(make_chunks(ACME, 7, seed=3)[6:])
        await adapter.move("acme/c006", ACME, GLOBEX)  # not settled yet
        await adapter.settle()
        for mode in MODES:
            owned = {
                tenant.value: uids(await adapter.search(make_query(tenant, mode, k=100)))
                for tenant in (ACME, GLOBEX, NOBODY)
            }
            moved = {"acme/c000": "globex", "acme/c001": "nobody", "acme/c006": "globex"}
            for uid, owner in moved.items():
                others = [name for name, found in owned.items() if uid in found]
                assert others in ([owner], []), (mode, uid)
            if mode != "lexical":
                assert {name: len(found) for name, found in owned.items()} == {
                    "acme": 4, "globex": 11, "nobody": 1
                }  # fmt: skip
        assert [hit.tenant for hit in await adapter.get(GLOBEX, ["acme/c000"])] == ["globex"]
        assert await adapter.get(ACME, ["acme/c000"]) == []

        await adapter.put(CHUNKS[:1])  # a uid stands once, with whom it was last put for
        await adapter.settle()
        assert [hit.tenant for hit in await adapter.get(ACME, ["acme/c000"])] == ["acme"]
        assert await adapter.get(GLOBEX, ["acme/c000"]) == []


async def test_what_names_no_tenant_is_refused_before_any_request(
    server: Started, place: Pgvector
) -> None:
    nameless: Any = object.__new__(TenantId)
    object.__setattr__(nameless, "value", "")
    before = await ask(server, "SELECT uid, tenant FROM rb_read.chunks ORDER BY uid")
    wrong: list[Any] = [nameless, None, "acme"]
    for tenant in wrong:
        for call in (
            place.get(tenant, ["acme/c000"]),
            place.delete(tenant, ["acme/c000"]),
            place.move("acme/c000", tenant, ACME),
            place.move("acme/c000", ACME, tenant),
            place.explain(make_query(tenant)),
        ):
            with pytest.raises(TenantError):
                await call
    after = await ask(server, "SELECT uid, tenant FROM rb_read.chunks ORDER BY uid")
    assert after == before
