"""After a block: which answers were right, and what their times say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieverbench.errors import Code
from retrieverbench.load.block import NO_ROW, BlockRecord
from retrieverbench.load.host import HostUse
from retrieverbench.load.percentiles import percentile
from retrieverbench.model import Percentile, Query, TenantId, Timings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THREAD_SHARE_LIMIT = 0.80
RUN_QUEUE_LIMIT = 0.05
LITTLE_LIMIT = 0.05
GC_LIMIT_MS = 1.0
GC_LIMIT_SHARE = 0.10
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Violation:
    """A row of another tenant, or one the ledger does not know, in a timed answer.

    `query` is the index of the query, `rank` counts from 1, `owner` is None when unknown.
    """

    query: int
    rank: int
    uid: str
    owner: str | None


@dataclass(frozen=True, slots=True)
class JudgedBlock:
    """Times in nanoseconds and final codes of one block, one entry per request."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    code: NDArray[np.int32]
    violations: tuple[Violation, ...]


def judge_block(
    block: BlockRecord,
    queries: Sequence[Query],
    expected: Sequence[int] | None,
    uids: Sequence[str],
    owners: Mapping[str, TenantId],
) -> JudgedBlock:
    """Replace code 0 where the answer held a foreign, repeated or missing row.

    `uids[ordinal]` is the uid of an ordinal; `expected` the rows a complete answer has.
    """
    import numpy as np

    layout = np.dtype(
        [("intended", "<i8"), ("start", "<i8"), ("end", "<i8"), ("query", "<i4"), ("code", "<i4")]
    )
    records = np.frombuffer(block.records, dtype=layout, count=block.count)
    answers = np.frombuffer(block.answers, dtype="<i4", count=block.count * block.k)
    answers = answers.reshape(block.count, block.k)
    query_index = records["query"]
    code = records["code"].astype(np.int32)
    ok = code == Code.OK
    rows = (answers != NO_ROW).sum(axis=1)
    if expected is not None:
        wanted = np.asarray(expected, dtype=np.int64)[query_index]
        code[ok & (rows < wanted)] = Code.WRONG_COUNT
    code[ok & _has_repeat(answers)] = Code.BAD_ANSWER
    foreign = _foreign_rows(block, answers, query_index, queries, uids, owners)
    code[[number for number, _rank, _uid in foreign]] = Code.TENANT_VIOLATION
    violations: dict[tuple[int, str], Violation] = {}
    for number, rank, uid in foreign:
        query = int(query_index[number])
        owner = owners[uid].value if uid in owners else None
        violations.setdefault((query, uid), Violation(query, rank, uid, owner))
    return JudgedBlock(records["start"], records["end"], code, tuple(violations.values()))


def _has_repeat(answers: NDArray[np.int32]) -> NDArray[np.bool_]:
    import numpy as np

    ordered = np.sort(answers, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    repeated: NDArray[np.bool_] = same.any(axis=1)
    return repeated


def _foreign_rows(
    block: BlockRecord,
    answers: NDArray[np.int32],
    query_index: NDArray[np.int32],
    queries: Sequence[Query],
    uids: Sequence[str],
    owners: Mapping[str, TenantId],
) -> list[tuple[int, int, str]]:
    """(record number, rank from 1, uid) of each row that is not the asking tenant's own.

    Rows that were kept as text, unknown uids and those beyond k, are looked up one by one.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    owner_of = np.array(
        [numbers.setdefault(owners[uid].value, len(numbers)) for uid in uids] or [-1],
        dtype=np.int64,
    )
    asker_of = np.array([numbers.get(query.tenant.value, -3) for query in queries], dtype=np.int64)
    owner = owner_of[np.maximum(answers, 0)]
    foreign = (answers >= 0) & (owner != asker_of[query_index][:, None])
    found = [
        (int(number), int(column) + 1, uids[answers[number, column]])
        for number, column in np.argwhere(foreign)
    ]
    return found + [
        (number, rank, uid)
        for number, rank, uid in block.unknown
        if owners.get(uid) != queries[query_index[number]].tenant
    ]


def summarise(
    blocks: Sequence[JudgedBlock],
    use: Sequence[HostUse],
    *,
    concurrency: int,
    timeout_ms: float,
    warmup: int,
    distinct: int,
    plan_hash: str,
    server_ms: Sequence[float],
) -> Timings:
    """All rounds together: percentiles over raw samples, throughput, errors, verdicts."""
    import numpy as np

    service = np.concatenate([(b.end - b.start) / 1e6 for b in blocks])
    code = np.concatenate([b.code for b in blocks])
    ok = np.sort(service[code == Code.OK])
    seconds = sum(float(b.end.max() - b.start.min()) / 1e9 for b in blocks if len(b.end))
    timeouts = int((code == Code.TIMEOUT).sum())
    words = Counter(Code(int(value)).word for value in code if value != Code.OK)
    times: dict[str, Percentile] = {
        name: percentile(ok, share, timeouts, timeout_ms) for name, share in PERCENTILES.items()
    }
    times["max"] = Percentile(float(ok[-1])) if len(ok) else Percentile(None, reason="n=0")
    cpu = sum(u.process_cpu_ns for u in use)
    waits = [u.wait_share for u in use if u.wait_share is not None]
    pause_ms = max((u.gc_pause_ns for u in use), default=0) / 1e6
    in_flight = _in_flight(blocks, concurrency)
    verdicts = _verdicts(use, waits, pause_ms, in_flight, concurrency, times["p50"], words)
    return Timings(
        mode="closed",
        concurrency=concurrency,
        requests=len(code),
        distinct_queries=distinct,
        warmup_requests=warmup,
        rounds=len(blocks),
        seconds=seconds,
        throughput=len(ok) / seconds if len(ok) and seconds else None,
        service=times,
        errors=dict(sorted(words.items())),
        verdicts=verdicts,
        client_cpu_us=cpu / len(code) / 1e3 if len(code) else None,
        run_queue_wait=max(waits) if waits else None,
        server_ms_p50=float(np.median(server_ms)) if server_ms else None,
        plan_hash=plan_hash,
        notes=(
            "service time in a closed loop, not the latency of a user who arrives by himself",
            f"longest pause of the client for collecting garbage: {pause_ms:.1f} ms",
        ),
    )


def _in_flight(blocks: Sequence[JudgedBlock], concurrency: int) -> float | None:
    """Requests in flight while there were more to send, on average; None where that was short.

    From the first start to the last one every worker is busy, so by Little's law this is the
    concurrency, and what lacks is time that no request accounts for.
    """
    import numpy as np

    area = window = 0
    for block in blocks:
        if len(block.start) < 2 * concurrency:
            continue
        last = block.start.max()
        area += int(np.clip(last - block.start, 0, block.end - block.start).sum())
        window += int(last - block.start.min())
    return area / window if window else None


def _verdicts(
    use: Sequence[HostUse],
    waits: Sequence[float],
    pause_ms: float,
    in_flight: float | None,
    concurrency: int,
    p50: Percentile,
    words: Mapping[str, int],
) -> tuple[str, ...]:
    verdicts = []
    if words:
        verdicts.append("errors")
    if p50.value is None:
        verdicts.append("too-few-samples")
    busy = any(u.thread_share > THREAD_SHARE_LIMIT for u in use)
    waiting = any(wait > RUN_QUEUE_LIMIT for wait in waits)
    collecting = pause_ms > max(GC_LIMIT_MS, GC_LIMIT_SHARE * (p50.value or 0.0))
    if busy or waiting or collecting:
        verdicts.append("client-limited")
    # A thread that has no core, or no time, makes the requests that wait for it look short.
    starved = busy or waiting
    if in_flight is not None and not starved:
        off = abs(in_flight - concurrency)
        verdicts += ["invalid"] if off > LITTLE_LIMIT * concurrency else []
    return tuple(verdicts) or ("ok",)
