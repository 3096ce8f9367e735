"""One block: `concurrency` workers ask one target without pause, and every request is recorded.

The loop keeps no task, timeout context, dict, log line or parsed answer per request. A
deadline is one number in a table; a single sweeper cancels the slots that are past it. A
record is 32 bytes (`intended`, `start`, `end` in nanoseconds of `time.perf_counter_ns`, query
index, code); the returned uids are kept as int32 ordinals beside it and are judged after
the block.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter_ns

import anyio

from retrieverbench.errors import BackendError, Code
from retrieverbench.model import Query, Response

RECORD = struct.Struct("<qqqii")
NO_ROW = -2
UNKNOWN = -1
SWEEP_SECONDS = 0.02
_NEVER = 2**63 - 1

Search = Callable[[Query], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """What one block asks: indexes into `queries`, in this order.

    `ordinals` numbers the known uids from 0. `timeout_ns` is counted from a request's
    start; `stop_ns` is how long requests are started at all.
    """

    queries: Sequence[Query]
    order: Sequence[int]
    concurrency: int
    timeout_ns: int
    stop_ns: int
    ordinals: Mapping[str, int]
    k: int


@dataclass(slots=True)
class BlockRecord:
    """What one block recorded. `records` holds `count` records of RECORD's layout.

    `answers` holds k int32 per record: an ordinal, UNKNOWN or NO_ROW. `unknown` keeps the
    text of unknown uids as (record number, rank from 1, uid). `server_ms` are the times
    that the backend told, if it told any.
    """

    records: bytearray
    answers: bytearray
    count: int = 0
    k: int = 0
    unknown: list[tuple[int, int, str]] = field(default_factory=list)
    server_ms: list[float] = field(default_factory=list)


async def run_block(search: Search, plan: BlockPlan) -> BlockRecord:
    """Ask the whole plan with `plan.concurrency` long-lived workers; return the records.

    Whatever a search raises is a code of its record; a cancelled block raises as usual.
    """
    answer = struct.Struct(f"<{plan.k}i")
    block = BlockRecord(
        bytearray(RECORD.size * len(plan.order)), bytearray(answer.size * len(plan.order)), k=plan.k
    )
    slots = _Slots(plan.concurrency)
    pending = iter(plan.order)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slots.sweep)
        async with anyio.create_task_group() as workers:
            for slot in range(plan.concurrency):
                workers.start_soon(_work, slot, pending, search, plan, block, answer, slots)
        tasks.cancel_scope.cancel()
    return block


class _Slots:
    """The deadline, task and sweeper's mark of every worker."""

    __slots__ = ("deadlines", "swept", "tasks")

    def __init__(self, count: int) -> None:
        self.deadlines = [_NEVER] * count
        self.swept = [False] * count
        self.tasks: list[asyncio.Task[object] | None] = [None] * count

    async def sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = perf_counter_ns()
            for slot, deadline in enumerate(self.deadlines):
                task = self.tasks[slot]
                if now > deadline and task is not None:
                    self.deadlines[slot] = _NEVER
                    self.swept[slot] = True
                    task.cancel()


async def _work(
    slot: int,
    pending: Iterator[int],
    search: Search,
    plan: BlockPlan,
    block: BlockRecord,
    answer: struct.Struct,
    slots: _Slots,
) -> None:
    """Take the next index, ask, record; until the plan or its time is used up."""
    task = asyncio.current_task()
    assert task is not None
    slots.tasks[slot] = task
    queries, clock, timeout, deadlines = (
        plan.queries,
        perf_counter_ns,
        plan.timeout_ns,
        slots.deadlines,
    )
    last_start = clock() + plan.stop_ns
    for index in pending:
        response: Response | None = None
        query = queries[index]
        start = clock()
        if start > last_start:
            return
        deadlines[slot] = start + timeout
        try:
            response = await search(query)
            code = 0
        except asyncio.CancelledError:
            if not slots.swept[slot]:
                raise
            code = Code.TIMEOUT
        except BackendError as error:
            code = error.code
        except Exception:  # noqa: BLE001 - an adapter may raise anything; it is recorded
            code = Code.BAD_ANSWER
        end = clock()
        deadlines[slot] = _NEVER
        if slots.swept[slot]:
            # A client may swallow the cancellation and return: it is a timeout all the same.
            slots.swept[slot] = False
            task.uncancel()
            code = Code.TIMEOUT
        elif end - start > timeout:
            code = Code.TIMEOUT
        number = block.count
        block.count = number + 1
        if response is not None:
            code = _keep_answer(response, code, number, plan, block, answer)
        else:
            answer.pack_into(block.answers, number * answer.size, *repeat(NO_ROW, plan.k))
        RECORD.pack_into(block.records, number * RECORD.size, start, start, end, index, code)


def _keep_answer(
    response: Response,
    code: int,
    number: int,
    plan: BlockPlan,
    block: BlockRecord,
    answer: struct.Struct,
) -> int:
    """Pack the answer's ordinals; return the code, replaced where the answer is broken."""
    try:
        uids = [hit.uid for hit in response.hits]
        total = sum([hit.score for hit in response.hits])
        ordinals = list(map(plan.ordinals.get, uids, repeat(UNKNOWN)))
    except (AttributeError, TypeError):
        answer.pack_into(block.answers, number * answer.size, *repeat(NO_ROW, plan.k))
        return code or Code.BAD_ANSWER
    if len(uids) > plan.k:
        code = code or Code.WRONG_COUNT
        ordinals = ordinals[: plan.k]
    if total - total != 0:  # only NaN and infinity differ from themselves this way
        code = code or Code.BAD_ANSWER
    if response.partial:
        code = code or Code.PARTIAL
    if UNKNOWN in ordinals:
        block.unknown += [
            (number, rank, str(uids[rank - 1]))
            for rank, ordinal in enumerate(ordinals, start=1)
            if ordinal == UNKNOWN
        ]
    if response.server_ms is not None:
        block.server_ms.append(response.server_ms)
    missing = plan.k - len(ordinals)
    answer.pack_into(
        block.answers, number * answer.size, *ordinals, *((NO_ROW,) * missing if missing else ())
    )
    return code
