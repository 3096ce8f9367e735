"""Chunks by id on a node, in every layout: read, deleted and moved only by their owner."""

from __future__ import annotations

import pytest

from lucene_support import LAYOUTS, Backend, chunk, query, uids
from retrieverbench.errors import Rejected
from retrieverbench.leaks.record import RequestLog
from retrieverbench.model import MODES, Layout, TenantId

pytestmark = pytest.mark.anyio

A, B = TenantId("a"), TenantId("b")


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_chunks_are_read_moved_and_deleted_by_their_owner_only(
    backend: Backend, layout: Layout
) -> None:
    """With one shard for all, a moved chunk must not be deleted in its new place."""
    place = {"partitions": 1} if layout == "partition" else {}
    async with backend.opened(layout=layout, options={"place": place}) as adapter:
        await adapter.put([chunk(t, "1", f"leave {t}", n, lang="en") for n, t in enumerate("ab")])
        await adapter.settle()
        both = ["b/1", "a/1", "a/1", "none"]
        (hit,) = await adapter.get(A, both)
        assert (hit.uid, hit.tenant, hit.text, hit.score) == ("a/1", "a", "leave a", 1.0)
        assert await adapter.get(A, []) == []
        await adapter.move("b/1", A, B)  # not a's to give
        await adapter.move("a/1", A, A)
        await adapter.delete(B, ["a/1", "none"])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"a": 1, "b": 1}
        await adapter.move("a/1", A, B)
        await adapter.settle()
        assert await adapter.get(A, both) == []
        for mode in MODES:
            assert await uids(adapter, query("a", mode)) == []
            found = await uids(adapter, query("b", mode, where={"lang": "en"}))
            assert sorted(found) == ["a/1", "b/1"]
        await adapter.delete(B, ["a/1"])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"b": 1}


async def test_what_was_just_written_is_deleted_too(backend: Backend) -> None:
    """Without a `settle` between: the search that finds it must see it."""
    async with backend.opened() as adapter:
        await adapter.put([chunk("a", str(n), "leave", n) for n in range(600)])
        await adapter.delete(A, [f"a/{n}" for n in range(599)])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"a": 1}


async def test_totals_count_own_matches_in_every_mode(backend: Backend) -> None:
    """By words those that match, by vector all that pass the conditions; None when not asked."""
    async with backend.opened() as adapter:
        texts = ["leave"] * 7 + ["other"] * 5
        own = [chunk("a", str(n), text, n, even=n % 2 == 0) for n, text in enumerate(texts)]
        await adapter.put([*own, *(chunk("b", str(n), "leave", n) for n in range(30))])
        await adapter.settle()
        want = frozenset({"total"})
        for mode, all_, even in (("lexical", 7, 4), ("dense", 12, 6), ("hybrid", 12, 6)):
            asked = query("a", mode, k=3, want=want)  # type: ignore[arg-type]
            assert (await adapter.search(asked)).total == all_
            asked = query("a", mode, k=3, want=want, where={"even": True})  # type: ignore[arg-type]
            assert (await adapter.search(asked)).total == even


async def test_plans_tell_index_and_filter_by_the_profile(backend: Backend) -> None:
    """And tell neither where the profile shows no condition of the tenant."""
    search = {"exact": True}
    async with backend.opened() as fast, backend.opened(options={"search": search}) as exact:
        for adapter, index, moment in ((fast, "hnsw of vector", "during"), (exact, "", "before")):
            await adapter.put([chunk(t, "1", "leave policy", n) for n, t in enumerate("ab")])
            await adapter.settle()
            for mode in MODES:
                plan = await adapter.explain(query("a", mode))
                assert any("tenant:a" in line for line in plan.lines)
                assert not any("tenant:b" in line for line in plan.lines)
                lexical = mode == "lexical"
                assert plan.vector_index == ("" if lexical else index), mode
                assert plan.filtered == ("before" if lexical else moment), mode
                assert "slower" in plan.caveat


async def test_a_condition_beside_the_vector_search_is_told_as_applied_after_it(
    backend: Backend,
) -> None:
    search = {"knn_filter": "outside"}
    async with backend.opened(options={"search": search}) as adapter:
        await adapter.put([chunk(t, "1", "leave policy", n) for n, t in enumerate("ab")])
        await adapter.settle()
        moments = [(await adapter.explain(query("a", mode))).filtered for mode in MODES]
        told = dict(zip(MODES, moments, strict=True))
        assert told == {"dense": "after", "lexical": "before", "hybrid": "after"}


async def test_a_recorder_sees_every_request_answer_and_error(backend: Backend) -> None:
    log = RequestLog()
    async with backend.opened(recorder=log) as adapter:
        log.take()
        with pytest.raises(Rejected):
            await adapter._send("POST", f"/{backend.settings().place}/_search", b"{}")
        (request,), (answer,) = log.take()
        assert request.operation.startswith("POST /rb_")
        assert "'status': 404" in str(answer)
        assert "index_not_found" in str(answer)
        await adapter.search(query("a", "hybrid"))
        (request,), (answer,) = log.take()
        assert len(request.legs) == 2
        assert {str(leg.condition).count("'tenant': 'a'") for leg in request.legs} == {1}
        assert "'content-type': 'application/" in str(answer).lower()
