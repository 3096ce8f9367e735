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
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import inf
from time import perf_counter_ns

import anyio

from retrieverbench.errors import Code
from retrieverbench.model import Hit, Query, Response
from retrieverbench.run import BadAnswer, foreign, read_response
from retrieverbench.run.foreign import Allowance, Blocked, allowed, give_up
from retrieverbench.run.guard import LEFT_BEHIND, Abandoned, is_sound, is_stop

RECORD = struct.Struct("<qqqii")
NO_ROW = -2
UNKNOWN = -1
SWEEP_SECONDS = 0.02
_NEVER = 2**63 - 1
_CANCELLATIONS = 2
_ORDINAL = 4  # bytes

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

    `answers` holds k int32 per record: an ordinal, UNKNOWN or NO_ROW. `unknown` keeps as
    text what has no place there, unknown uids and rows beyond k, as (record number, rank from
    1, uid). `server_ms` are the times that the backend told, if it told any; `totals` what
    answers bore though none was asked for, as (record number, total).
    """

    records: bytearray
    answers: bytearray
    count: int = 0
    k: int = 0
    unknown: list[tuple[int, int, str]] = field(default_factory=list)
    server_ms: list[float] = field(default_factory=list)
    totals: list[tuple[int, int]] = field(default_factory=list)


def empty_record(plan: BlockPlan) -> BlockRecord:
    """Room for every request of the plan, none recorded yet."""
    requests = len(plan.order)
    no_rows = struct.pack(f"<{plan.k}i", *repeat(NO_ROW, plan.k))
    return BlockRecord(bytearray(RECORD.size * requests), bytearray(no_rows * requests), k=plan.k)


async def run_block(
    search: Search, plan: BlockPlan, block: BlockRecord | None = None
) -> BlockRecord:
    """Ask the whole plan with `plan.concurrency` long-lived workers; return the records.

    Whatever a search raises is a code of its record. A cancelled block raises as usual; a
    `block` of the caller's then holds what had ended by then. Raises Abandoned when a search
    neither ends nor gives in to cancellation: its worker is left behind. Workers are therefore
    plain tasks: a task group waits for all of its own, for ever if need be.
    """
    block = block or empty_record(plan)
    rows = [struct.Struct(f"<{count}i") for count in range(plan.k + 1)]
    slots = _Slots(plan.concurrency)
    pending = iter(plan.order)
    allowance = Allowance(plan.timeout_ns / 1e9)
    with allowed(allowance):
        workers = [
            asyncio.create_task(
                _work(slot, pending, search, plan, block, rows, slots), name=f"timed search {slot}"
            )
            for slot in range(plan.concurrency)
        ]
    sweeper = asyncio.create_task(slots.sweep())
    try:
        await _all_ended(workers, sweeper)
    finally:
        slots.stopping = True
        deque(pending, maxlen=0)  # who swallows the cancellation finds nothing more to ask
        with anyio.CancelScope(shield=True):
            left = await give_up([*workers, sweeper])
    if left:
        raise Abandoned(f"a search did not end within {plan.timeout_ns / 1e9:g} s {LEFT_BEHIND}")
    for worker in workers:
        if allowance.overrun or worker.cancelled():
            raise Abandoned(f"a search was broken off: {allowance.overrun or Blocked()}")
        worker.result()
    return block


async def _all_ended(workers: Sequence[asyncio.Task[None]], sweeper: asyncio.Task[None]) -> None:
    """Wait for all workers, or for the sweeper, which ends when one is stuck."""
    waiting = set(workers)
    while waiting and not sweeper.done():
        ended, _ = await asyncio.wait({*waiting, sweeper}, return_when=asyncio.FIRST_COMPLETED)
        waiting -= ended


class _Slots:
    """The deadline, task and sweeper's mark of every worker; whether they shall stop."""

    __slots__ = ("deadlines", "stopping", "swept", "tasks")

    def __init__(self, count: int) -> None:
        self.deadlines = [_NEVER] * count
        self.swept = [0] * count
        self.tasks: list[asyncio.Task[object] | None] = [None] * count
        self.stopping = False

    async def sweep(self) -> None:
        """Cancel who is past its deadline, again after a while; end when that is no use."""
        again = int(foreign.CANCEL_SECONDS / 2 * 1e9)
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = perf_counter_ns()
            for slot, deadline in enumerate(self.deadlines):
                task = self.tasks[slot]
                if now <= deadline or task is None:
                    continue
                if self.swept[slot] == _CANCELLATIONS:
                    return
                self.deadlines[slot] = now + again
                self.swept[slot] += 1
                task.cancel()

    def must_stop(self, error: BaseException, slot: int) -> bool:
        """Whether an exception ends the worker: neither the adapter's nor the sweeper's."""
        if isinstance(error, Blocked):
            return True
        return (
            (self.stopping or isinstance(error, GeneratorExit))
            and not self.swept[slot]
            and is_stop(error)
        )


async def _work(
    slot: int,
    pending: Iterator[int],
    search: Search,
    plan: BlockPlan,
    block: BlockRecord,
    rows: Sequence[struct.Struct],
    slots: _Slots,
) -> None:
    """Take the next index, ask, record; until the plan or its time is used up."""
    task = asyncio.current_task()
    assert task is not None
    slots.tasks[slot] = task
    # Looked up once: what stands between two requests slows every adapter down alike.
    deadlines, swept, queries, timeout = slots.deadlines, slots.swept, plan.queries, plan.timeout_ns
    records, size, write, clock = block.records, RECORD.size, RECORD.pack_into, perf_counter_ns
    last_start = clock() + plan.stop_ns
    for index in pending:
        query = queries[index]
        response: Response | None = None
        start = clock()
        if start > last_start:
            return
        deadlines[slot] = start + timeout
        try:
            response = await search(query)
            code = 0
        except BaseException as error:  # an adapter may raise anything
            if slots.must_stop(error, slot):
                raise
            code = error.code if is_sound(error) else Code.BAD_ANSWER
            if not swept[slot] and task.cancelling():  # by the adapter itself
                task.uncancel()
        end = clock()
        deadlines[slot] = _NEVER
        if swept[slot]:
            # A client may swallow the cancellation and return: it is a timeout all the same.
            for _ in range(swept[slot]):
                task.uncancel()
            swept[slot] = 0
            code = Code.TIMEOUT
        elif end - start > timeout:
            code = Code.TIMEOUT
        number = block.count
        block.count = number + 1
        if response is not None or code == 0:
            code = _keep_answer(response, code, number, plan, block, rows)
        write(records, number * size, start, start, end, index, code)


def _keep_answer(
    response: Response | None,
    code: int,
    number: int,
    plan: BlockPlan,
    block: BlockRecord,
    rows: Sequence[struct.Struct],
) -> int:
    """Pack the answer's ordinals; return the code, replaced where the answer is broken."""
    try:
        # An adapter may return anything, None too; what raises is looked at below, in full.
        # Only Python's own types are believed: a text of another class may equal any other.
        hits = response.hits  # type: ignore[union-attr]
        total = response.total  # type: ignore[union-attr]
        plain = (
            type(response) is Response
            and type(hits) is list
            and response.partial is False
            and (total is None or (type(total) is int and total >= 0))
        )
        if hits and plain:
            known = plan.ordinals
            ordinals = [
                known[hit.uid]
                for hit in hits
                if type(hit) is Hit and type(hit.uid) is str and type(hit.score) is float
            ]
            score = sum([hit.score for hit in hits])
            # Not so for NaN and infinity.
            plain = len(ordinals) == len(hits) and score - score == 0
            rows[len(ordinals)].pack_into(block.answers, number * plan.k * _ORDINAL, *ordinals)
        if total is not None and plain:
            block.totals.append((number, total))
        server_ms = response.server_ms  # type: ignore[union-attr]
        if plain and server_ms is not None:
            plain = type(server_ms) is float and 0.0 <= server_ms < inf
            if plain:
                block.server_ms.append(server_ms)
    except BaseException:  # noqa: BLE001 - an unknown uid, a row too many, or no answer at all
        plain = False
    return code if plain else _keep_odd_answer(response, code, number, plan, block)


def _keep_odd_answer(
    response: object, code: int, number: int, plan: BlockPlan, block: BlockRecord
) -> int:
    """The checks of the quality pass; whatever uids can be read are kept all the same."""
    found = Code.OK
    uids: Sequence[str] = ()
    try:
        answer = read_response(response, plan.k)
        uids = [hit.uid for hit in answer.hits]
        if answer.server_ms is not None:
            block.server_ms.append(answer.server_ms)
        if answer.total is not None:
            block.totals.append((number, answer.total))
    except BadAnswer as error:
        uids = error.shown(plan.ordinals)
        if error.total is not None:
            block.totals.append((number, error.total))
        found = Code.WRONG_COUNT if len(error.uids) > plan.k else error.code
    ordinals = [plan.ordinals.get(uid, UNKNOWN) for uid in uids[: plan.k]]
    block.unknown += [
        (number, rank, uid)
        for rank, uid in enumerate(uids, start=1)
        if rank > plan.k or ordinals[rank - 1] == UNKNOWN
    ]
    ordinals += [NO_ROW] * (plan.k - len(ordinals))
    struct.pack_into(f"<{plan.k}i", block.answers, number * plan.k * _ORDINAL, *ordinals)
    return code or found
