"""How long it took, and whether the number means anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Percentile:
    """An exact percentile in milliseconds, or None with the reason (`n=200 < 368`).

    `low` and `high` bound the two-sided 95 % order-statistic interval within the run,
    which assumes independent samples. `censored` is True when the percentile lies among
    timeouts: the true value is larger than `value`.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    censored: bool = False


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far timed answers are those of the quality pass to the same cases.

    Of `answers`, those to cases that the quality pass had answered could be `compared`; `equal`
    of them had the same chunks in the same order, where chunks to which the quality pass gave
    equal scores may be exchanged. `overlap` is the mean of their average
    overlaps (Webber, Moffat and Zobel 2010: the share of chunks in common, averaged over all
    depths), None when nothing could be compared; below `least` the times are void.
    """

    answers: int
    compared: int
    equal: int
    overlap: float | None
    least: float

    @property
    def holds(self) -> bool:
        """Whether the times are those of the answers whose quality was measured."""
        if self.overlap is None:
            return self.answers == 0
        return self.overlap >= self.least


@dataclass(frozen=True, slots=True)
class Signal:
    """One sign of a client, or a host, that was the bottleneck.

    `value` is None where it could not be read, with the `reason`; that is never good. `over`
    is whether it lies beyond `limit`.
    """

    name: str
    value: float | None
    limit: float
    over: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One block by itself: milliseconds and `ok` answers per second, None where there are too few.

    `drift` is the natural logarithm of p50 of its first third over p50 of its last third.
    """

    p50: float | None
    p95: float | None
    throughput: float | None
    drift: float | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """One number of a target that was measured twice: the second over the first, per round.

    `ratio` is the median over the rounds, `low` and `high` the smallest and the largest.
    `floor` is the largest |ln ratio|: a smaller difference between two targets is none.
    """

    ratio: float
    low: float
    high: float
    floor: float


@dataclass(frozen=True, slots=True)
class Noise:
    """What two measurements of the same `target` differ by, interleaved with all others.

    `repeats` has p50, p95 and throughput, as far as every round gave them. `errors` counts what
    failed in the second measurement, by code word.
    """

    target: str
    rounds: int
    repeats: Mapping[str, Repeat]
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Timings:
    """One closed-loop measurement of one target, all rounds together.

    `service` holds p50, p95, p99 and max over complete answers. `throughput` counts `ok`
    answers that ended inside the window, per second. `errors` counts requests by code
    word. `verdicts` are those of spec words: `ok`, `client-limited`, `not-steady`,
    `too-few-samples`, `errors`, `invalid`; a target may have several. `void` says why an
    `invalid` measurement is none: its numbers are kept, and neither shown nor compared.
    `round_variation` is the coefficient of variation of p50 over the rounds.
    """

    mode: str
    concurrency: int
    requests: int
    distinct_queries: int
    warmup_requests: int
    rounds: int
    seconds: float
    throughput: float | None
    service: Mapping[str, Percentile]
    errors: Mapping[str, int]
    verdicts: tuple[str, ...]
    client_cpu_us: float | None = None
    run_queue_wait: float | None = None
    server_ms_p50: float | None = None
    plan_hash: str = ""
    notes: tuple[str, ...] = field(default=())
    agreement: Agreement | None = None
    signals: tuple[Signal, ...] = ()
    per_round: tuple[Round, ...] = ()
    round_variation: float | None = None
    void: str | None = None
