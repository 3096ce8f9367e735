"""What the runner adds to a request, in calls: a count that no noise of the machine moves."""

from __future__ import annotations

import pytest

from overhead_support import K, Null, block_plan, calls_per_request

pytestmark = pytest.mark.anyio

REQUESTS = 1_000
TIMES_AND_RECORD = 6.0
ORDINALS = 12.0
AGREE = 0.002


async def added(rows: int) -> float:
    """Calls per request of a block minus those of the bare loop."""
    null, plan = Null(rows), block_plan(REQUESTS)
    runner = await calls_per_request(null.search, plan, bare=False)
    return runner - await calls_per_request(null.search, plan, bare=True)


async def test_times_and_record_cost_no_more_calls_than_they_may() -> None:
    assert 0.0 < await added(rows=0) <= TIMES_AND_RECORD


async def test_ordinals_cost_no_more_calls_than_they_may() -> None:
    assert 0.0 <= await added(rows=K) - await added(rows=0) <= ORDINALS


async def test_repeated_counts_agree() -> None:
    null, plan = Null(K), block_plan(REQUESTS)
    counts = [await calls_per_request(null.search, plan, bare=False) for _ in range(3)]
    assert max(counts) - min(counts) <= AGREE * min(counts)
