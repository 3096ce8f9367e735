"""All rounds of one target together: percentiles, throughput, errors, verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from retrieverbench.errors import Code
from retrieverbench.load.host import HostUse
from retrieverbench.load.judge import JudgedBlock
from retrieverbench.load.percentiles import percentile
from retrieverbench.load.rounds import round_of, steadiness_notes, variation
from retrieverbench.load.signals import client_notes, client_signals, is_starved
from retrieverbench.model import Agreement, Percentile, Signal, Timings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LITTLE_LIMIT = 0.05
CLOSED = "service time in a closed loop, not the latency of a user who arrives by himself"
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


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
    agreement: Agreement | None = None,
) -> Timings:
    """Percentiles over the raw samples of all rounds, and what they are worth."""
    import numpy as np

    service = np.concatenate([(b.end - b.start) / 1e6 for b in blocks])
    code = np.concatenate([b.code for b in blocks])
    ok = np.sort(service[code == Code.OK])
    seconds = sum(float(b.end.max() - b.start.min()) / 1e9 for b in blocks if len(b.end))
    timeouts = int((code == Code.TIMEOUT).sum())
    words = Counter(Code(int(value)).word for value in code if value != Code.OK)
    times = _percentiles(ok, timeouts, timeout_ms)
    cpu_us = sum(u.process_cpu_ns for u in use) / len(code) / 1e3 if len(code) else None
    p50 = times["p50"].value
    signals = client_signals(use, p50)
    void = _void(blocks, use, concurrency, agreement)
    rounds = tuple(round_of(block) for block in blocks)
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
        verdicts=tuple(verdict_words(words, p50, signals, void)) or ("ok",),
        client_cpu_us=cpu_us,
        run_queue_wait=max((u.wait_share for u in use if u.wait_share is not None), default=None),
        server_ms_p50=float(np.median(server_ms)) if server_ms else None,
        plan_hash=plan_hash,
        notes=(CLOSED, *client_notes(concurrency, cpu_us, p50), *steadiness_notes(blocks)),
        agreement=agreement,
        signals=signals,
        per_round=rounds,
        round_variation=variation(rounds),
        void=void,
    )


def _percentiles(
    ok: NDArray[np.float64], timeouts: int, timeout_ms: float
) -> dict[str, Percentile]:
    times = {
        name: percentile(ok, share, timeouts, timeout_ms) for name, share in PERCENTILES.items()
    }
    times["max"] = Percentile(float(ok[-1])) if len(ok) else Percentile(None, reason="n=0")
    return times


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


def verdict_words(
    words: Mapping[str, int], p50: float | None, signals: Sequence[Signal], void: str | None
) -> Iterator[str]:
    """The verdicts of a measurement but `not-steady`; none where nothing is wrong with it."""
    if words:
        yield "errors"
    if p50 is None:
        yield "too-few-samples"
    if any(signal.over for signal in signals):
        yield "client-limited"
    if void is not None:
        yield "invalid"


def _void(
    blocks: Sequence[JudgedBlock],
    use: Sequence[HostUse],
    concurrency: int,
    agreement: Agreement | None,
) -> str | None:
    """Why the times mean nothing at all; None if they mean something."""
    if agreement is not None and not agreement.holds:
        return unlike(agreement)
    # A thread that has no core, or no time, makes the requests that wait for it look short.
    in_flight = None if is_starved(use) else _in_flight(blocks, concurrency)
    if in_flight is not None and abs(in_flight - concurrency) > LITTLE_LIMIT * concurrency:
        return unaccounted(in_flight, concurrency)
    return None


def unaccounted(in_flight: float, concurrency: int) -> str:
    """Why times are void where fewer or more requests were in flight than there are workers."""
    return (
        f"{in_flight:.2f} of {concurrency} requests were in flight on average; "
        "the rest is time that no request accounts for"
    )


def unlike(agreement: Agreement) -> str:
    """Why times are void where the answers are not those of the quality pass."""
    if agreement.overlap is None:
        return "no timed answer could be compared with one of the quality pass"
    share = 100 * agreement.equal / agreement.compared
    return (
        f"timed answers are not those of the quality pass: {share:.0f} % the same, "
        f"overlap {math.floor(1000 * agreement.overlap) / 1000:.3f} < {agreement.least:g}"
    )
