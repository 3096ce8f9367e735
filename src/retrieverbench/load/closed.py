"""The timed pass: closed loop, blocks of all targets interleaved, answers judged afterwards."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from retrieverbench.errors import Code
from retrieverbench.load.agreement import Ranked, compare_answers
from retrieverbench.load.block import (
    RECORD,
    BlockPlan,
    BlockRecord,
    Search,
    empty_record,
    run_block,
)
from retrieverbench.load.host import GcWatch, HostUse, LoopWatch, host_use, read_host
from retrieverbench.load.judge import JudgedBlock, Violation, judge_block
from retrieverbench.load.summary import summarise
from retrieverbench.model import Agreement, Query, TenantId, Timings
from retrieverbench.run import Abandoned, to_give, uid_of


@dataclass(frozen=True, slots=True)
class ClosedPlan:
    """Seconds are seconds; `requests` is per block, `warmup` per worker and target.

    Below `min_overlap` with the quality pass's answers (see Agreement) times are void.
    """

    concurrency: int
    rounds: int
    requests: int
    warmup: int
    seconds: float
    timeout: float
    seed: int
    min_overlap: float = 0.95


@dataclass(frozen=True, slots=True)
class Subject:
    """One target of the timed pass: its queries are those of the quality pass, in order.

    The adapter gets copies of them: who asked, by which answers are judged, is not its to change.
    `expected` is, per query, how many rows a complete answer has; None where only the
    backend knows (lexical mode). `keys` translates the ids of an attached index to uids of
    the ledger; None where hits carry uids. `reference` is, per query, what the quality pass
    returned, None where it had no answer; without it no answer is compared.
    """

    label: str
    search: Search
    queries: Sequence[Query]
    expected: Sequence[int] | None
    keys: Mapping[str, str] | None = None
    reference: Sequence[Ranked | None] | None = None


@dataclass(slots=True)
class Measured:
    """All blocks of one target.

    `unscored` blocks, the warm-up and one that was cut off, give no times; what they
    returned is judged for leaks like any other answer. `abandoned` is why it is asked no more.
    """

    blocks: list[BlockRecord] = field(default_factory=list)
    use: list[HostUse] = field(default_factory=list)
    unscored: list[BlockRecord] = field(default_factory=list)
    warmup_requests: int = 0
    abandoned: Abandoned | None = None


@dataclass(frozen=True, slots=True)
class TimedResult:
    """Timings, None if no block was finished, and the foreign rows seen meanwhile.

    A target that was `abandoned` has no timings: its slowest request is the one that lacks.
    `rows` are those of all answers that were judged. `totals` are the largest that answers bore,
    by the number of their query.
    """

    timings: Timings | None
    violations: tuple[Violation, ...]
    answers: int
    abandoned: Abandoned | None = None
    rows: int = 0
    totals: Mapping[int, int] = field(default_factory=dict)

    @property
    def finished(self) -> Timings:
        """The timings of a result that has some: at least one block was finished."""
        assert self.timings is not None
        return self.timings


async def measure_closed(
    subjects: Sequence[Subject],
    plan: ClosedPlan,
    owners: Mapping[str, TenantId],
    on_block: Callable[[str], None] = lambda _label: None,
    *,
    into: dict[str, TimedResult] | None = None,
) -> dict[str, TimedResult]:
    """Time every subject: warm-up, then `rounds` blocks each in mirrored order.

    Each subject gets the identical order of queries in the same round. `owners` is the
    ledger (uid → tenant); a row of another owner is code 11 whatever else happened. The
    results, by label, are put into `into` also when the measurement is cancelled.
    """
    uids = list(owners)
    ordinals = {uid: number for number, uid in enumerate(uids)}
    measured = {subject.label: Measured() for subject in subjects}
    results = {} if into is None else into
    try:
        await _all_blocks(subjects, plan, ordinals, measured, on_block)
    finally:
        for subject in subjects:
            if measured[subject.label].unscored or measured[subject.label].blocks:
                done = _result(subject, measured[subject.label], plan, uids, owners)
                results[subject.label] = done
    return results


async def _all_blocks(
    subjects: Sequence[Subject],
    plan: ClosedPlan,
    ordinals: Mapping[str, int],
    measured: Mapping[str, Measured],
    on_block: Callable[[str], None],
) -> None:
    for subject in subjects:
        warm = _block_plan(subject, plan, ordinals, plan.warmup * plan.concurrency, seed=-1)
        record = empty_record(warm)
        measured[subject.label].unscored.append(record)
        await _ask(subject, warm, record, measured[subject.label])
        measured[subject.label].warmup_requests = record.count
        on_block(subject.label)
    gc.collect()
    gc.freeze()
    try:
        for number in range(plan.rounds):
            turn = subjects if number % 2 == 0 else list(reversed(subjects))
            for subject in turn:
                if _is_down(measured[subject.label]):
                    continue
                block_plan = _block_plan(subject, plan, ordinals, plan.requests, seed=number)
                await _one_block(subject, block_plan, measured[subject.label])
                on_block(subject.label)
    finally:
        gc.unfreeze()


def _is_down(measured: Measured) -> bool:
    """Whether the last block brought no answer at all: more of them would say the same."""
    if measured.abandoned:
        return True
    if not measured.blocks:
        return False
    last = measured.blocks[-1]
    records = memoryview(last.records)[: last.count * RECORD.size]
    return all(record[-1] != Code.OK for record in RECORD.iter_unpack(records))


async def _one_block(subject: Subject, plan: BlockPlan, measured: Measured) -> None:
    record = empty_record(plan)
    measured.unscored.append(record)
    before = read_host()
    with GcWatch() as watch, LoopWatch() as loop:
        await _ask(subject, plan, record, measured)
    if measured.abandoned:
        return
    measured.use.append(
        replace(
            host_use(before, read_host()),
            gc_pause_ns=watch.longest_ns,
            loop_lags_ns=loop.lags_ns,
            windows=loop.windows,
        )
    )
    measured.blocks.append(measured.unscored.pop())


async def _ask(subject: Subject, plan: BlockPlan, record: BlockRecord, measured: Measured) -> None:
    try:
        await run_block(subject.search, plan, record)
    except Abandoned as error:
        measured.abandoned = error


def query_order(queries: int, requests: int, seed: int, round_number: int) -> list[int]:
    """`requests` indexes below `queries`: whole shuffled passes, and a part of one.

    These parts go on from round to round, so that no question is asked more than once oftener
    than another, in a round or in all of them from the first on: percentiles weigh them alike.
    """
    whole, rest = divmod(requests, queries)
    order = [
        index
        for number in range(whole)
        for index in _shuffled(queries, f"{seed}/{round_number}/{number}")
    ]
    begun, done = divmod(round_number * rest, queries)
    parts = [i for n in (begun, begun + 1) for i in _shuffled(queries, f"{seed}/part {n}")]
    return order + parts[done : done + rest]


def _shuffled(count: int, seed: str) -> list[int]:
    """Python's own generator: its stream is the same in every version."""
    order = list(range(count))
    Random(seed).shuffle(order)
    return order


def plan_hash(queries: int, plan: ClosedPlan) -> str:
    """A checksum of the expanded plan, equal on every machine."""
    digest = hashlib.sha256(f"{plan.concurrency} {queries}".encode())
    for number in range(plan.rounds):
        digest.update(repr(query_order(queries, plan.requests, plan.seed, number)).encode())
    return digest.hexdigest()[:16]


def _block_plan(
    subject: Subject, plan: ClosedPlan, ordinals: Mapping[str, int], requests: int, *, seed: int
) -> BlockPlan:
    return BlockPlan(
        queries=[to_give(query) for query in subject.queries],
        order=query_order(len(subject.queries), requests, plan.seed, seed),
        concurrency=plan.concurrency,
        timeout_ns=int(plan.timeout * 1e9),
        stop_ns=int(plan.seconds * 1e9),
        ordinals=_ordinals(subject, ordinals),
        k=subject.queries[0].k,
    )


def _ordinals(subject: Subject, ordinals: Mapping[str, int]) -> Mapping[str, int]:
    """The number of each uid, by the name under which the subject returns it."""
    if subject.keys is None:
        return ordinals
    return {key: ordinals[uid] for key, uid in subject.keys.items()}


def _result(
    subject: Subject,
    measured: Measured,
    plan: ClosedPlan,
    uids: Sequence[str],
    owners: Mapping[str, TenantId],
) -> TimedResult:
    if subject.keys is not None:
        for block in (*measured.blocks, *measured.unscored):
            block.unknown = [(n, rank, uid_of(key, subject.keys)) for n, rank, key in block.unknown]
    judged, unscored = (
        [
            judge_block(block, subject.queries, subject.expected, uids, owners)
            for block in blocks
            if block.count
        ]
        for blocks in (measured.blocks, measured.unscored)
    )
    timings = None
    if judged and not measured.abandoned:
        timings = summarise(
            judged,
            measured.use,
            concurrency=plan.concurrency,
            timeout_ms=plan.timeout * 1e3,
            warmup=measured.warmup_requests,
            distinct=_distinct(subject, measured.blocks),
            plan_hash=plan_hash(len(subject.queries), plan),
            server_ms=[value for block in measured.blocks for value in block.server_ms],
            agreement=_agreement(subject, measured, judged, plan, uids),
        )
    seen = {(v.query, v.uid): v for block in (*unscored, *judged) for v in block.violations}
    answers = sum(block.count for block in measured.blocks)
    rows = sum(block.rows for block in judged)
    totals = largest(*(block.totals for block in (*unscored, *judged)))
    return TimedResult(timings, tuple(seen.values()), answers, measured.abandoned, rows, totals)


def largest(*totals: Mapping[int, int]) -> dict[int, int]:
    """The largest total of each query."""
    return {query: max(t.get(query, 0) for t in totals) for told in totals for query in told}


def _distinct(subject: Subject, blocks: Sequence[BlockRecord]) -> int:
    """How many different questions were asked: two cases may ask the same one."""
    asked = {
        record[3]
        for block in blocks
        for record in RECORD.iter_unpack(memoryview(block.records)[: block.count * RECORD.size])
    }
    return len({(subject.queries[index].text, subject.queries[index].tenant) for index in asked})


def _agreement(
    subject: Subject,
    measured: Measured,
    judged: Sequence[JudgedBlock],
    plan: ClosedPlan,
    uids: Sequence[str],
) -> Agreement | None:
    if subject.reference is None:
        return None
    codes = [block.code.tolist() for block in judged]
    blocks = [block for block in measured.blocks if block.count]
    return compare_answers(blocks, codes, subject.reference, uids, plan.min_overlap)
