"""Chunks read by id, counted, removed and given to another owner, in every layout."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qdrant_support import LAYOUTS, A, B, adapter, ask, chunk, load, twins, uids, unit_vectors
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import Rejected
from retrieverbench.model import MODES, Layout, TenantId

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


NOBODY = TenantId("nobody")
pytestmark.append(pytest.mark.parametrize("layout", LAYOUTS))


async def test_a_tenant_reads_its_own_by_id(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        await load(target, twins(5))
        asked = ["acme/3", "globex/2", "acme/none", "acme/0", "acme/3"]
        own = await target.get(A, asked)
        assert [(hit.uid, hit.text, hit.tenant, hit.score) for hit in own] == [
            ("acme/3", "refund policy for order 3", "acme", 1.0),
            ("acme/0", "refund policy for order 0", "acme", 1.0),
            ("acme/3", "refund policy for order 3", "acme", 1.0),
        ]
        assert await target.get(NOBODY, asked) == []
        assert await target.get(A, ["globex/2"]) == await target.get(A, ["globex/none"]) == []
        assert await target.get(A, []) == []


async def test_only_the_owners_chunks_are_removed(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        await target.put(twins(5))
        await target.delete(A, ["acme/3", "globex/2", "acme/none"])
        await target.delete(NOBODY, ["acme/1"])
        await target.settle()
        assert (await target.describe()).chunks == {"acme": 4, "globex": 5}
        for mode in MODES:
            asked = ask(A, mode, unit_vectors(5)[3], "refund order 3", k=50)
            assert sorted(uids(await target.search(asked))) == [f"acme/{n}" for n in (0, 1, 2, 4)]
        assert await target.get(A, ["acme/3"]) == []


async def test_a_chunk_changes_its_owner_and_keeps_its_uid(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        await target.put([*twins(3), chunk("only", A, "needle haystack", unit_vectors(9)[8])])
        for mover, source, to in (("globex/1", A, B), ("acme/none", A, B), ("acme/1", NOBODY, B)):
            with pytest.raises(Rejected, match=f"'{source}' has no chunk '{mover}' to move"):
                await target.move(mover, source, to)
        await target.move("acme/only", A, B)
        await target.settle()
        assert (await target.describe()).chunks == {"acme": 3, "globex": 4}
        for mode in MODES:
            asked = ask(A, mode, unit_vectors(9)[8], "needle", k=50)
            assert "acme/only" not in uids(await target.search(asked))
            now = await target.search(replace(asked, tenant=B))
            assert uids(now)[0] == "acme/only"
            assert now.hits[0].tenant == "globex"
        assert [hit.uid for hit in await target.get(B, ["acme/only"])] == ["acme/only"]
        assert await target.get(A, ["acme/only"]) == []


async def test_totals_are_the_tenants_own(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        chunks = [replace(one, metadata={"n": int(one.id)}) for one in twins(6)]
        await load(target, [*chunks, chunk("x", A, "other words", unit_vectors(1)[0])])
        wanted = frozenset({"total"})
        vector = unit_vectors(1)[0]
        totals = {
            mode: (
                await target.search(replace(ask(A, mode, vector, "refund", k=2), want=wanted))
            ).total
            for mode in MODES
        }
        assert totals == {"dense": 7, "lexical": 6, "hybrid": 7}
        for mode in MODES:
            narrow = replace(ask(A, mode, vector, "refund"), want=wanted, where={"n": 3})
            assert (await target.search(narrow)).total == 1
            assert (await target.search(replace(narrow, tenant=NOBODY))).total == 0
            assert (await target.search(replace(narrow, want=frozenset()))).total is None
