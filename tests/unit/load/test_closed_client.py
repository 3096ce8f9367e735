"""The closed loop against clients and answers that falsify times, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from retrieverbench.load import (
    BlockPlan,
    BlockRecord,
    ClosedPlan,
    Subject,
    TimedResult,
    measure_closed,
    query_order,
    run_block,
)
from retrieverbench.load.block import RECORD
from retrieverbench.metrics import score_run
from retrieverbench.model import (
    GoldenCase,
    GoldenSet,
    Hit,
    Query,
    Response,
    Target,
    TenantId,
)
from retrieverbench.run import ask_all

pytestmark = pytest.mark.anyio

ACME = TenantId("acme")
K, CHUNKS = 5, 40
UIDS = [f"acme/{number}" for number in range(CHUNKS)]
OWNERS = dict.fromkeys(UIDS, ACME)
QUERIES = [Query(str(number), ACME, K, "lexical") for number in range(20)]
PLAN = ClosedPlan(
    concurrency=4, rounds=1, requests=100, warmup=0, seconds=20.0, timeout=5.0, seed=7
)


def answer(number: int) -> Response:
    """The one right answer of a question, unlike those of all others."""
    rows = [(number + step) % CHUNKS for step in range(1 + number % K)]
    return Response([Hit(UIDS[row], 1.0 - rank / 10) for rank, row in enumerate(rows)])


async def slow_search(query: Query) -> Response:
    """Takes 1 to 4 ms, so that answers of several workers come back out of order."""
    number = int(query.text)
    await asyncio.sleep(0.001 * (1 + number % 4))
    return answer(number)


async def measure(search: object, plan: ClosedPlan = PLAN) -> TimedResult:
    subject = Subject("fake", search, QUERIES, None)  # type: ignore[arg-type]  # any fake
    return (await measure_closed([subject], plan, OWNERS))["fake"]


def kept(block: BlockRecord) -> list[tuple[int, int, tuple[int, ...]]]:
    """(query, code, ordinals) of every request, sorted."""
    answers = np.frombuffer(block.answers, dtype="<i4").reshape(-1, K).tolist()
    records = [RECORD.unpack_from(block.records, n * RECORD.size) for n in range(block.count)]
    return sorted(
        (record[3], record[4], tuple(row)) for record, row in zip(records, answers, strict=True)
    )


def block_plan(concurrency: int) -> BlockPlan:
    order = query_order(len(QUERIES), 200, seed=1, round_number=0)
    ordinals = {uid: number for number, uid in enumerate(UIDS)}
    return BlockPlan(QUERIES, order, concurrency, 5 * 10**9, 20 * 10**9, ordinals, K)


@pytest.mark.parametrize("workers", [2, 7, 16])
async def test_many_workers_get_the_answers_and_counts_of_one(workers: int) -> None:
    alone = await run_block(slow_search, block_plan(1))
    together = await run_block(slow_search, block_plan(workers))
    assert together.count == alone.count == 200
    assert kept(together) == kept(alone)


async def test_each_request_keeps_its_own_answer() -> None:
    """Swapped answers would show here: every question has an answer of its own."""
    block = await run_block(slow_search, block_plan(8))
    for query, _, ordinals in kept(block):
        uids = [UIDS[ordinal] for ordinal in ordinals if ordinal >= 0]
        assert uids == [hit.uid for hit in answer(query).hits]


class Swapped:
    """Answers every question with the answer of the one `back` before it."""

    def __init__(self, back: int) -> None:
        self.back = back

    async def search(self, query: Query) -> Response:
        number = (int(query.text) - self.back) % len(QUERIES)
        return Response([Hit(f"acme/{number}", 1.0)])


@pytest.mark.parametrize(("back", "recall"), [(0, 1.0), (1, 0.0)], ids=["right", "swapped"])
async def test_swapped_answers_have_no_recall(back: int, recall: float) -> None:
    cases = tuple(
        GoldenCase(id=f"q{n}", query=str(n), tenant=ACME, relevant=(str(n),)) for n in range(20)
    )
    run = await ask_all(
        Swapped(back),  # type: ignore[arg-type]  # only its search is asked
        Target("fake", "fake", "lexical", "filter", {}),
        cases,
        QUERIES,
        fidelity="engine",
        concurrency=1,
        timeout=5.0,
    )
    scores = score_run(run, GoldenSet("g", 1, "", cases), ["recall@5"])
    assert scores.means["recall@5"].value == recall


async def test_adapter_that_burns_its_time_is_client_limited() -> None:
    async def search(query: Query) -> Response:
        end = time.thread_time_ns() + 2_000_000
        while time.thread_time_ns() < end:
            pass
        await asyncio.sleep(0)
        return answer(int(query.text))

    assert "client-limited" in (await measure(search)).finished.verdicts


@contextmanager
def spinners(count: int) -> Iterator[None]:
    """Processes that take every core."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.skipif(
    not Path("/proc/thread-self/schedstat").exists(),
    reason="this kernel does not tell how long a thread waits for a core; "
    "run the test on one with CONFIG_SCHEDSTATS",
)
async def test_host_without_a_free_core_is_client_limited() -> None:
    async def search(query: Query) -> Response:
        end = time.thread_time_ns() + 500_000
        while time.thread_time_ns() < end:
            pass
        await asyncio.sleep(0.0005)
        return answer(int(query.text))

    with spinners(3 * (os.cpu_count() or 1)):
        found = await measure(search)
    assert "client-limited" in found.finished.verdicts
    assert found.finished.run_queue_wait is not None
    assert found.finished.run_queue_wait > 0.05


async def test_adapter_that_keeps_parsed_answers_is_client_limited() -> None:
    rubbish: list[object] = []

    async def search(query: Query) -> Response:
        rubbish.append([{"hit": [number]} for number in range(2_000)])
        await asyncio.sleep(0.002)
        return answer(int(query.text))

    found = await measure(search)
    assert "client-limited" in found.finished.verdicts
    (pause,) = [signal for signal in found.finished.signals if "garbage" in signal.name]
    assert pause.over


class LazyHits(list[Hit]):
    """Hits that are fetched when they are first read, after the clock has stopped."""

    def __iter__(self) -> Iterator[Hit]:
        time.sleep(0.005)
        return super().__iter__()


async def test_answer_that_is_fetched_when_it_is_read_is_invalid() -> None:
    async def search(query: Query) -> Response:
        return Response(LazyHits(answer(int(query.text)).hits))

    found = await measure(search, ClosedPlan(1, 1, 40, 0, 20.0, 5.0, 7))
    assert {"invalid", "client-limited"} & set(found.finished.verdicts)


@pytest.mark.parametrize("broken", [None, {}, "text", Response(None), Response([None])])  # type: ignore[arg-type,list-item]  # broken on purpose
async def test_answer_that_is_none_of_the_protocol_is_a_bad_answer(broken: object) -> None:
    async def search(_query: Query) -> object:
        return broken

    assert (await measure(search)).finished.errors == {"bad_answer": 100}


async def test_answer_that_raises_when_it_is_read_is_a_bad_answer() -> None:
    class Broken(list[Hit]):
        def __iter__(self) -> Iterator[Hit]:
            raise ConnectionError

    async def search(_query: Query) -> Response:
        return Response(Broken([Hit("acme/1", 1.0)]))

    assert (await measure(search)).finished.errors == {"bad_answer": 100}


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(0)])
async def test_no_exception_of_an_adapter_ends_a_worker(error: BaseException) -> None:
    async def search(_query: Query) -> Response:
        raise error

    assert (await measure(search)).finished.errors == {"bad_answer": 100}


async def test_server_time_is_kept_and_nonsense_is_a_bad_answer() -> None:
    nonsense = ["fast", "7", float("nan"), float("inf"), -1.0, True]
    times: list[object] = [2.0, 4, np.float64(6.0), None, *nonsense]

    async def search(query: Query) -> Response:
        told = times[int(query.text) % 10]
        return Response([Hit("acme/1", 1.0)], server_ms=told)  # type: ignore[arg-type]  # nonsense

    found = await measure(search)
    assert found.finished.server_ms_p50 == 4.0
    assert found.finished.errors == {"bad_answer": 60}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"total": 3}, {}),
        ({"total": 3.0}, {"bad_answer": 100}),
        ({"total": -3}, {"bad_answer": 100}),
        ({"partial": 1}, {"bad_answer": 100}),
        ({"partial": ""}, {"bad_answer": 100}),
        ({"partial": True, "total": 3}, {"partial": 100}),
    ],
    ids=str,
)
async def test_fields_beside_the_hits_are_checked(
    fields: dict[str, Any], errors: dict[str, int]
) -> None:
    async def search(_query: Query) -> Response:
        return Response([Hit("acme/1", 1.0)], **fields)

    found = await measure(search)
    assert found.finished.errors == errors
    is_total = repr(fields.get("total")) == "3"
    assert set(found.totals.values()) == ({3} if is_total else set())


async def test_cancelled_measurement_leaves_nothing_running() -> None:
    inside = 0

    async def search(_query: Query) -> Response:
        nonlocal inside
        inside += 1
        try:
            await asyncio.sleep(3600)
        finally:
            inside -= 1
        return Response([])

    before = asyncio.all_tasks()
    with anyio.move_on_after(0.1) as scope:
        await measure(search)
    assert scope.cancelled_caught
    assert inside == 0
    assert asyncio.all_tasks() == before
    assert gc.get_freeze_count() == 0
    assert not [callback for callback in gc.callbacks if "GcWatch" in repr(callback)]


async def test_garbage_of_before_is_frozen_while_measuring_and_not_after() -> None:
    frozen: list[int] = []

    async def search(_query: Query) -> Response:
        if not frozen:  # counting takes long
            frozen.append(gc.get_freeze_count())
        return Response([])

    gc.unfreeze()
    await measure(search)
    assert frozen[0] > 0
    assert gc.get_freeze_count() == 0
