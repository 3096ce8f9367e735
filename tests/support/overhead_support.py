"""The runner beside a bare loop: the same workers, the same adapter, nothing recorded.

What a block costs over the bare loop is the runner's own cost.
"""

from __future__ import annotations

import cProfile
import gc
from collections.abc import Iterator, Sequence

import anyio

from retrieverbench.load import BlockPlan, block, run_block
from retrieverbench.load.block import Search
from retrieverbench.model import Hit, Query, Response, TenantId

K = 10
UIDS = [f"chunk/{number}" for number in range(1_000)]


class Null:
    """An adapter that answers at once, with the same `rows` rows every time."""

    def __init__(self, rows: int) -> None:
        self._answer = Response([Hit(uid, 1.0 / (n + 1)) for n, uid in enumerate(UIDS[:rows])])

    async def search(self, query: Query) -> Response:
        return self._answer


def block_plan(requests: int, concurrency: int = 4) -> BlockPlan:
    """`requests` questions of one tenant, k = 10, a thousand known chunks."""
    tenant = TenantId("acme")
    queries = [Query(f"question {number}", tenant, K, "lexical") for number in range(100)]
    return BlockPlan(
        queries=queries,
        order=[number % len(queries) for number in range(requests)],
        concurrency=concurrency,
        timeout_ns=10 * 10**9,
        stop_ns=3600 * 10**9,
        ordinals={uid: number for number, uid in enumerate(UIDS)},
        k=K,
    )


async def run_bare(search: Search, plan: BlockPlan) -> None:
    """Ask the same questions with as many workers; keep nothing."""
    pending = iter(plan.order)
    async with anyio.create_task_group() as workers:
        for _ in range(plan.concurrency):
            workers.start_soon(_ask, pending, plan.queries, search)


async def _ask(pending: Iterator[int], queries: Sequence[Query], search: Search) -> None:
    for index in pending:
        await search(queries[index])


async def calls_per_request(search: Search, plan: BlockPlan, *, bare: bool) -> float:
    """Python and C calls that cProfile counts, the start and end of the block included.

    What depends on time and not on requests stands still while we count: the sweeper of
    deadlines, and collections of garbage, on which test tools hang calls of their own. The
    first round loads what is loaded once.
    """
    work = run_bare if bare else run_block
    await work(search, plan)
    profile = cProfile.Profile()
    sweep, block.SWEEP_SECONDS = block.SWEEP_SECONDS, 3600.0
    gc.disable()
    profile.enable()
    try:
        await work(search, plan)
    finally:
        profile.disable()
        gc.enable()
        block.SWEEP_SECONDS = sweep
    return sum(entry.callcount for entry in profile.getstats()) / len(plan.order)
