"""What the times of all rounds say of a measurement."""

from __future__ import annotations

import numpy as np
import pytest

from retrieverbench.errors import Code
from retrieverbench.load.host import HostUse
from retrieverbench.load.judge import JudgedBlock
from retrieverbench.load.summary import summarise
from retrieverbench.model import Timings

QUIET = HostUse(thread_share=0.3, wait_share=0.01, process_cpu_ns=10**8, wall_ns=10**9)
SERVICE_NS = 10_000_000


def block(workers: int = 4, requests: int = 100, gap_ns: int = 0) -> JudgedBlock:
    """`workers` send `requests` one after another, each `gap_ns` after the last answer."""
    number = np.arange(requests)
    start = (number // workers) * (SERVICE_NS + gap_ns) + number % workers
    code = np.zeros(requests, dtype=np.int32)
    return JudgedBlock(start, start + SERVICE_NS, code, ())


def timings(judged: JudgedBlock, use: HostUse = QUIET, concurrency: int = 4) -> Timings:
    return summarise(
        [judged, judged],
        [use, QUIET],
        concurrency=concurrency,
        timeout_ms=1e3,
        warmup=0,
        distinct=10,
        plan_hash="",
        server_ms=[],
    )


def test_workers_that_are_always_busy_are_ok() -> None:
    assert timings(block()).verdicts == ("ok",)


def test_throughput_is_concurrency_by_service_time() -> None:
    found = timings(block())
    assert found.throughput == pytest.approx(4 / 0.01, rel=1e-3)
    assert found.service["p50"].value == pytest.approx(10.0)


def test_time_that_no_request_accounts_for_is_invalid() -> None:
    assert timings(block(gap_ns=SERVICE_NS // 10)).verdicts == ("invalid",)


def test_worker_that_is_missing_is_invalid() -> None:
    assert timings(block(workers=3)).verdicts == ("invalid",)


def test_time_within_the_limit_is_ok() -> None:
    assert timings(block(gap_ns=SERVICE_NS // 25)).verdicts == ("ok",)


def test_workers_that_idle_at_the_end_of_a_block_are_no_fault() -> None:
    """Nine requests of four workers: in the last third, one works and three have nothing."""
    assert "invalid" not in timings(block(requests=9)).verdicts


def test_too_few_requests_for_the_law_say_nothing() -> None:
    assert "invalid" not in timings(block(workers=3, requests=6)).verdicts


@pytest.mark.parametrize(
    "use",
    [
        HostUse(thread_share=0.81, wait_share=0.01, process_cpu_ns=0, wall_ns=10**9),
        HostUse(thread_share=0.3, wait_share=0.06, process_cpu_ns=0, wall_ns=10**9),
        HostUse(0.3, 0.01, 0, 10**9, gc_pause_ns=1_100_000),
    ],
    ids=["thread", "run queue", "garbage"],
)
def test_client_at_its_limit_in_one_block_limits_the_measurement(use: HostUse) -> None:
    assert timings(block(), use).verdicts == ("client-limited",)


@pytest.mark.parametrize(
    "use",
    [
        HostUse(thread_share=0.6, wait_share=0.04, process_cpu_ns=0, wall_ns=10**9),
        HostUse(thread_share=0.3, wait_share=None, process_cpu_ns=0, wall_ns=10**9),
        HostUse(0.3, 0.01, 0, 10**9, gc_pause_ns=900_000),
    ],
    ids=["below the limits", "unreadable", "short pause"],
)
def test_client_within_its_limits_is_ok(use: HostUse) -> None:
    assert timings(block(), use).verdicts == ("ok",)


def test_pause_is_measured_by_the_service_time_where_that_is_long() -> None:
    pause = HostUse(0.3, 0.01, 0, 10**9, gc_pause_ns=9_000_000)
    slow = block()
    slow.end[:] = slow.start + 10 * SERVICE_NS
    assert "client-limited" not in timings(slow, pause).verdicts
    assert "client-limited" in timings(block(), pause).verdicts


def test_starved_client_is_not_called_invalid_as_well() -> None:
    use = HostUse(thread_share=0.99, wait_share=0.01, process_cpu_ns=0, wall_ns=10**9)
    assert timings(block(workers=1), use).verdicts == ("client-limited",)


def test_errors_do_not_count_as_throughput() -> None:
    failing = block()
    failing.code[::4] = Code.THROTTLED
    found = timings(failing)
    assert found.errors == {"throttled": 50}
    assert found.throughput == pytest.approx(0.75 * 4 / 0.01, rel=1e-3)
    assert found.service["p50"].value == pytest.approx(10.0)
