"""Each signal of a client at its limit fires beyond it, and one that was not read is not good."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from retrieverbench.load.host import GRAIN_NS, TICK_NS, HostReading, HostUse, LoopWatch, host_use
from retrieverbench.load.signals import client_notes, client_signals, is_starved
from retrieverbench.model import Signal

MS = 1_000_000
QUIET = HostUse(0.3, 0.01, 10**8, 10**9, loop_lags_ns=[0] * 200)


def signal(name: str, *use: HostUse, p50_ms: float | None = 1.0) -> Signal:
    (found,) = [s for s in client_signals(use, p50_ms) if s.name.startswith(name)]
    return found


def hold_up(ticks: int) -> None:
    """Keep the loop from its work, as an adapter that computes would."""
    time.sleep(ticks * TICK_NS / 1e9)


def test_a_quiet_client_gives_no_signal_and_knows_all_of_them() -> None:
    found = client_signals([QUIET], 1.0)
    assert [s.over for s in found] == [False] * 5
    assert all(s.value is not None for s in found)


@pytest.mark.parametrize(
    ("name", "changed", "value"),
    [
        ("thread", {"thread_share": 0.81}, 0.81),
        ("run-queue", {"wait_share": 0.06}, 0.06),
        ("garbage", {"gc_pause_ns": 1_100_000}, 1.1),
        ("headroom", {"thread_share": 0.5, "wait_share": 0.24}, 2 / 1.05),
        ("loop lag", {"loop_lags_ns": [0] * 195 + [2 * MS] * 5}, 2.0),
    ],
)
def test_one_block_beyond_a_limit_is_a_signal(
    name: str, changed: dict[str, object], value: float
) -> None:
    found = signal(name, QUIET, replace(QUIET, **changed))  # type: ignore[arg-type]  # by name
    assert found.over
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "changed"), [("thread", {"thread_share": 0.9}), ("run-queue", {"wait_share": 0.5})]
)
def test_one_second_beyond_a_limit_is_a_signal_in_a_block_that_is_not(
    name: str, changed: dict[str, float]
) -> None:
    second = replace(QUIET, **changed)  # type: ignore[arg-type]  # by name
    block = replace(QUIET, windows=[QUIET, second, QUIET])
    assert signal(name, block).over
    assert is_starved([block])


def test_no_share_exceeds_the_whole() -> None:
    before = HostReading(0, 0, 0, 0)
    late = host_use(before, HostReading(100, 90, 90, 250))
    assert late.wait_share == 1.0
    assert signal("headroom", late).value == 1.0


def test_one_late_tick_in_a_thousand_is_none() -> None:
    late = replace(QUIET, loop_lags_ns=[*[0] * 999, 50 * MS])
    assert not signal("loop lag", late).over


def test_loop_lag_and_garbage_are_measured_by_the_service_time_where_that_is_long() -> None:
    late = replace(QUIET, loop_lags_ns=[3 * MS] * 200, gc_pause_ns=3 * MS)
    for name in ("loop lag", "garbage"):
        assert signal(name, late, p50_ms=1.0).over
        assert not signal(name, late, p50_ms=100.0).over


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("loop lag", replace(QUIET, loop_lags_ns=[9 * MS] * 99)),
        ("run-queue", replace(QUIET, wait_share=None)),
        ("headroom", replace(QUIET, thread_share=0.0, wait_share=None)),
    ],
)
def test_what_could_not_be_read_has_a_reason_and_no_value(name: str, use: HostUse) -> None:
    found = signal(name, use)
    assert found.value is None
    assert found.reason
    assert not found.over


@pytest.mark.parametrize(("share", "starved"), [(0.79, False), (0.81, True)])
def test_a_thread_without_time_is_starved(share: float, starved: bool) -> None:
    assert is_starved([QUIET, replace(QUIET, thread_share=share)]) is starved


def test_a_thread_without_a_core_is_starved() -> None:
    assert is_starved([QUIET, replace(QUIET, wait_share=0.06)])
    assert not is_starved([QUIET, replace(QUIET, wait_share=None)])


@pytest.mark.parametrize(
    ("concurrency", "cpu_us", "told"), [(1, 600.0, True), (1, 400.0, False), (4, 600.0, False)]
)
def test_time_of_the_client_is_told_where_one_worker_asks(
    concurrency: int, cpu_us: float, told: bool
) -> None:
    notes = list(client_notes(concurrency, cpu_us, p50_ms=1.0))
    assert [note.startswith("mostly client: 0.60 ms of the 1.00 ms") for note in notes] == (
        [True] if told else []
    )


@pytest.mark.anyio
async def test_a_loop_that_is_held_up_is_late_for_every_tick_that_it_left_out() -> None:
    with LoopWatch() as watch:
        await asyncio.sleep(0)
        hold_up(10)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert len(watch.lags_ns) >= 9
    assert max(watch.lags_ns) >= 9 * TICK_NS - GRAIN_NS


@pytest.mark.anyio
async def test_a_loop_that_is_held_up_to_the_end_of_a_block_is_seen() -> None:
    with LoopWatch() as watch:
        hold_up(4)
    assert max(watch.lags_ns) >= 3 * TICK_NS - GRAIN_NS


@pytest.mark.anyio
async def test_whole_seconds_are_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieverbench.load.host.WINDOW_NS", 2 * TICK_NS)
    with LoopWatch() as watch:
        await asyncio.sleep(8 * TICK_NS / 1e9)
    assert watch.windows
    assert all(window.wall_ns >= 2 * TICK_NS for window in watch.windows)


@pytest.mark.anyio
async def test_nothing_ticks_after_a_block() -> None:
    with LoopWatch() as watch:
        pass
    await asyncio.sleep(3 * TICK_NS / 1e9)
    assert len(watch.lags_ns) == 0
