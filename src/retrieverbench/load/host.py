"""Was the client the bottleneck? What one thread used and what it had to wait for."""

from __future__ import annotations

import asyncio
import gc
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns, process_time_ns, thread_time_ns
from typing import Self

_SCHEDSTAT = Path("/proc/thread-self/schedstat")
TICK_NS = 5_000_000
"""Between two looks at the loop; short, since a block may last a tenth of a second only."""
WINDOW_NS = 1_000_000_000
GRAIN_NS = 1_000_000
"""What a timer of asyncio may be late by itself: its selector rounds up to whole milliseconds."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """Clocks of one instant, in nanoseconds; `wait` is None where it cannot be read."""

    wall: int
    thread_cpu: int
    process_cpu: int
    wait: int | None


@dataclass(frozen=True, slots=True)
class HostUse:
    """Shares of wall time between two readings; `process_cpu_ns` counts all threads.

    `gc_pause_ns` is the longest collection of garbage between them; `loop_lags_ns` and
    `windows` are what a LoopWatch saw.
    """

    thread_share: float
    wait_share: float | None
    process_cpu_ns: int
    wall_ns: int
    gc_pause_ns: int = 0
    loop_lags_ns: Sequence[int] = ()
    windows: Sequence[HostUse] = ()


def read_host() -> HostReading:
    """Read the clocks of the calling thread."""
    return HostReading(perf_counter_ns(), thread_time_ns(), process_time_ns(), _run_queue_wait())


def host_use(before: HostReading, after: HostReading) -> HostUse:
    """What the thread used between two readings."""
    wall = max(after.wall - before.wall, 1)
    wait = None
    if before.wait is not None and after.wait is not None:
        # The kernel books a wait when it ends, also what of it lay before the first reading.
        wait = min((after.wait - before.wait) / wall, 1.0)
    return HostUse(
        (after.thread_cpu - before.thread_cpu) / wall,
        wait,
        after.process_cpu - before.process_cpu,
        wall,
    )


class GcWatch:
    """Within its `with` block, the longest pause for collecting garbage, in nanoseconds."""

    def __init__(self) -> None:
        self.longest_ns = 0
        self._start = 0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._on_collection)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._on_collection)

    def _on_collection(self, phase: str, _info: Mapping[str, int]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            self._start = now
        else:
            self.longest_ns = max(self.longest_ns, now - self._start)


class LoopWatch:
    """Within its `with` block, how late the running loop comes round to a timer of every tick.

    `lags_ns` has one number per tick, those that a busy loop left out included: while it is
    held up by 20 ms, four timers of 5 ms wait, and each of them shorter than the one before.
    `windows` are the whole seconds, as far as there are any: a host that is busy for one of
    twenty seconds does not show in their mean.
    """

    def __init__(self) -> None:
        self.lags_ns = array("q")
        self.windows: list[HostUse] = []
        self._mark = read_host()
        self._loop = asyncio.get_running_loop()
        self._due = 0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if perf_counter_ns() > self._due + GRAIN_NS:
            self._look()

    def _wait(self) -> None:
        self._due = perf_counter_ns() + TICK_NS
        self._timer = self._loop.call_later(TICK_NS / 1e9, self._tick)

    def _tick(self) -> None:
        self._look()
        if perf_counter_ns() - self._mark.wall >= WINDOW_NS:
            now = read_host()
            self.windows.append(host_use(self._mark, now))
            self._mark = now
        self._wait()

    def _look(self) -> None:
        lag = max(perf_counter_ns() - self._due - GRAIN_NS, 0)
        self.lags_ns.append(lag)
        while lag > TICK_NS:
            lag -= TICK_NS
            self.lags_ns.append(lag)


def _run_queue_wait() -> int | None:
    """Nanoseconds this thread has waited for a core; the second number of schedstat."""
    try:
        return int(_SCHEDSTAT.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
