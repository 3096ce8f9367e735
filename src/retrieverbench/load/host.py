"""Was the client the bottleneck? What one thread used and what it had to wait for."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns, process_time_ns, thread_time_ns
from typing import Self

_SCHEDSTAT = Path("/proc/thread-self/schedstat")


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

    `gc_pause_ns` is the longest collection of garbage between them.
    """

    thread_share: float
    wait_share: float | None
    process_cpu_ns: int
    wall_ns: int
    gc_pause_ns: int = 0


def read_host() -> HostReading:
    """Read the clocks of the calling thread."""
    return HostReading(perf_counter_ns(), thread_time_ns(), process_time_ns(), _run_queue_wait())


def host_use(before: HostReading, after: HostReading, gc_pause_ns: int = 0) -> HostUse:
    """What the thread used between two readings."""
    wall = max(after.wall - before.wall, 1)
    wait = None
    if before.wait is not None and after.wait is not None:
        wait = (after.wait - before.wait) / wall
    return HostUse(
        (after.thread_cpu - before.thread_cpu) / wall,
        wait,
        after.process_cpu - before.process_cpu,
        wall,
        gc_pause_ns,
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


def _run_queue_wait() -> int | None:
    """Nanoseconds this thread has waited for a core; the second number of schedstat."""
    try:
        return int(_SCHEDSTAT.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
