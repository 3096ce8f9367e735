"""Each probe of starvation catches its fault, and passes a retriever that filters first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from audit_support import DRAW, audit, audit_one
from retrieverbench.leaks import crowds
from retrieverbench.leaks.probes.starvation import short_of
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Chunk, Mode, Query, Response, TenantId
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
ALL = ("P07", "P08", "P09", "P34", "P42")


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every probe works alike on fewer chunks."""
    monkeypatch.setattr(crowds, "ROWS", 2_000)


class PostFilter(Memory):
    """Searches everybody's chunks and drops the foreign ones from the best `budget`."""

    budget = 10

    async def search(self, query: Query) -> Response:
        index = next(iter(self._built.values()))
        hits = []
        for tenant in index.spans:
            best = replace(query, tenant=TenantId(tenant), k=self.budget, want=frozenset())
            hits += (await Memory.search(self, best)).hits
        hits.sort(key=lambda hit: -hit.score)
        own = [hit for hit in hits[: self.budget] if hit.uid.startswith(f"{query.tenant.value}/")]
        return Response(own[: query.k])


class LongerList(PostFilter):
    """The same with headroom for a crowd of a hundred."""

    budget = 100


class FirstRowsOnly(Memory):
    """Looks at what was written in the first half only."""

    async def search(self, query: Query) -> Response:
        known = list(self._chunks)[: max(len(self._chunks) // 2, 700)]
        found = await Memory.search(self, query)
        return Response([hit for hit in found.hits if hit.uid in known])


class RemembersPlan(Memory):
    """After ten questions it plans for the largest tenant."""

    asked = 0

    async def search(self, query: Query) -> Response:
        self.asked += 1
        found = await Memory.search(self, query)
        return Response(found.hits[:2]) if self.asked > 10 and len(found.hits) else found


async def test_retriever_that_filters_first_passes() -> None:
    results = await audit(*ALL)
    assert len(results) == 15
    assert {result.outcome for result in results.values()} == {"pass"}
    assert all(result.control for result in results.values())


async def test_condition_after_the_search_is_caught() -> None:
    results = await audit("P07", "P42", adapter=PostFilter, modes=("dense",))
    result = results["P07", "dense"]
    assert (result.outcome, result.severity, result.leak_class) == ("fail", "high", "starvation")
    assert (
        f"{DRAW.words('small tenants')[0]!r} got 0 of 5 own chunks beside 10 foreign ones"
        in result.reason
    )
    assert results["P42", "dense"].outcome == "fail"


@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_crowd_that_breaks_a_longer_list_is_told(mode: Mode) -> None:
    results = await audit("P07", "P08", adapter=LongerList, modes=(mode,))
    assert results["P07", mode].outcome == "pass"
    result = results["P08", mode]
    assert result.outcome == "fail"
    assert result.facts["breaks at"] == 250
    assert (result.facts["crowd 50"], result.facts["crowd 250"]) == (1.0, 0.0)


def test_worse_own_chunks_in_place_of_better_ones_are_called_lost_recall() -> None:
    small = crowds.smalls(DRAW)[0]
    uids = tuple("abcde")
    told = short_of(small, Seen(uids, (0.5,) * 5), 0.6, 5)
    assert "got 5 of 5 own chunks beside 10 foreign ones, 60% of the exact answer" in told
    assert told.endswith("recall lost, worse own chunks stand in for better ones")
    assert "recall" not in short_of(small, Seen(uids[:3], (0.5,) * 3), 0.6, 5)


async def test_order_of_writing_that_hides_chunks_is_caught() -> None:
    result = await audit_one("P09", adapter=FirstRowsOnly)
    assert result.outcome == "fail"
    assert (result.facts["own first"], result.facts["own last"]) == (1.0, 0.0)


async def test_plan_made_for_another_tenant_is_caught() -> None:
    result = await audit_one("P34", adapter=RemembersPlan)
    assert result.outcome == "fail"
    assert "got 2 chunks, 10 before" in result.reason


async def test_what_tenants_find_alone_is_looked_up_once() -> None:
    """A place each, and a connection, would be more than a server has."""
    places = []

    class Counted(PostFilter):
        budget = 100  # of 600 chunks

        async def put(self, chunks: Sequence[Chunk]) -> None:
            places.append(len(chunks))
            await Memory.put(self, chunks)

    result = await audit_one("P42", adapter=Counted)
    assert result.outcome == "fail"
    assert "and 1" in result.reason, "many tenants fail"
    assert places.count(3) == 1


async def test_retriever_that_finds_nothing_proves_nothing() -> None:
    class Silent(Memory):
        async def search(self, query: Query) -> Response:
            return Response([])

    results = await audit("P07", "P08", "P09", "P34", adapter=Silent, modes=("dense",))
    assert {result.outcome for result in results.values()} == {"inconclusive"}


async def test_question_asked_again_is_no_further_trial() -> None:
    """P34 asks two tenants one question each, 27 times in all."""
    assert (await audit_one("P34")).trials == 2
