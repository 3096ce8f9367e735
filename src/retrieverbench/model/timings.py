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
class Timings:
    """One closed-loop measurement of one target, all rounds together.

    `service` holds p50, p95, p99 and max over complete answers. `throughput` counts `ok`
    answers that ended inside the window, per second. `errors` counts requests by code
    word. `verdicts` are those of spec words: `ok`, `client-limited`, `too-few-samples`,
    `errors`, `invalid`; a target may have several.
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
