"""Was the client, or the host, the bottleneck? Each signal with its value and its limit.

Two signals of an open loop have no meaning here and are not printed. A closed loop sends when
it can, so that a request's due instant is its start and there is no start lag. And no request
waits for a connection: as many are in flight as an adapter was opened for, and an adapter whose
pool cannot hold them has to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from retrieverbench.load.host import HostUse
from retrieverbench.load.percentiles import rank_of
from retrieverbench.model import Signal

THREAD_SHARE_LIMIT = 0.80
RUN_QUEUE_LIMIT = 0.05
PAUSE_LIMIT_MS = 1.0
PAUSE_LIMIT_SHARE = 0.10
HEADROOM_LIMIT = 2.0
MOSTLY_CLIENT = 0.50
SIGNALS = ("loop lag p99 ms", "thread share", "run-queue wait", "garbage pause ms", "headroom")
LEAST_TICKS = 100
"""Below this, p99 would be the largest of the ticks."""


def client_signals(use: Sequence[HostUse], p50_ms: float | None) -> tuple[Signal, ...]:
    """What the blocks of one target say of the client; `p50_ms` is that of its service time."""
    pause_limit = _pause_limit(p50_ms)
    pause = max((u.gc_pause_ns for u in use), default=0) / 1e6
    busy = max((u.thread_share for u in _windows(use)), default=0.0)
    return (
        _loop_lag(use, pause_limit),
        _signal("thread share", busy, THREAD_SHARE_LIMIT),
        _run_queue(use),
        _signal("garbage pause ms", pause, pause_limit),
        _headroom(use),
    )


def judge_again(signals: Sequence[Signal], p50_ms: float | None) -> tuple[Signal, ...]:
    """The same values in their order, with limits and `over` as `client_signals` gives them."""
    pause = _pause_limit(p50_ms)
    of_each = (pause, THREAD_SHARE_LIMIT, RUN_QUEUE_LIMIT, pause, HEADROOM_LIMIT)
    limits = dict(zip(SIGNALS, of_each, strict=True))
    told = {signal.name: signal for signal in signals}
    return tuple(
        Signal(name, value, limit, _is_over(name, value, limit), told[name].reason)
        for name, limit in limits.items()
        if name in told
        for value in (told[name].value,)
    )


def _is_over(name: str, value: float | None, limit: float) -> bool:
    if value is None:
        return False
    return value < limit if name == "headroom" else value > limit


def _pause_limit(p50_ms: float | None) -> float:
    return max(PAUSE_LIMIT_MS, PAUSE_LIMIT_SHARE * (p50_ms or 0.0))


def is_starved(use: Sequence[HostUse]) -> bool:
    """Whether the client had no core or no time: requests that wait for it then look short."""
    return any(
        u.thread_share > THREAD_SHARE_LIMIT or (u.wait_share or 0.0) > RUN_QUEUE_LIMIT
        for u in _windows(use)
    )


def client_notes(concurrency: int, cpu_us: float | None, p50_ms: float | None) -> Iterator[str]:
    """What is worth saying of the client's own time, and no verdict."""
    if concurrency == 1 and cpu_us and p50_ms and cpu_us / 1e3 > MOSTLY_CLIENT * p50_ms:
        yield (
            f"mostly client: {cpu_us / 1e3:.2f} ms of the {p50_ms:.2f} ms (p50) of a request are "
            "processor time of this process"
        )


def _windows(use: Sequence[HostUse]) -> Iterator[HostUse]:
    """The blocks, and the whole seconds in them."""
    for block in use:
        yield block
        yield from block.windows


def _signal(name: str, value: float, limit: float) -> Signal:
    return Signal(name, value, limit, value > limit)


def _loop_lag(use: Sequence[HostUse], limit: float) -> Signal:
    name = "loop lag p99 ms"
    lags = sorted(chain.from_iterable(u.loop_lags_ns for u in use))
    if len(lags) < LEAST_TICKS:
        return Signal(name, None, limit, over=False, reason=f"n={len(lags)} < {LEAST_TICKS}")
    return _signal(name, lags[rank_of(0.99, len(lags)) - 1] / 1e6, limit)


def _run_queue(use: Sequence[HostUse]) -> Signal:
    name = "run-queue wait"
    waits = [u.wait_share for u in _windows(use) if u.wait_share is not None]
    if not waits:
        reason = "this system does not tell it"
        return Signal(name, None, RUN_QUEUE_LIMIT, over=False, reason=reason)
    return _signal(name, max(waits), RUN_QUEUE_LIMIT)


def _headroom(use: Sequence[HostUse]) -> Signal:
    """How many times as much the client could ask if the backend took no time at all.

    Where a backend answers at once, the client's thread always runs or waits for a core, and
    asks as many times more as its share of the time fits into one. So this is computed, where a
    stub that replays a recorded answer would be measured; what a client waits for without
    wanting a core, a lock or another thread of its own, is not in it.
    """
    name = "headroom"
    wall = sum(u.wall_ns for u in use)
    # The clocks are read one after the other, so that shares of one block may add up to more.
    busy = sum(min(u.thread_share + (u.wait_share or 0.0), 1.0) * u.wall_ns for u in use)
    if not busy:
        return Signal(name, None, HEADROOM_LIMIT, over=False, reason="no processor time was seen")
    return Signal(name, wall / busy, HEADROOM_LIMIT, over=wall / busy < HEADROOM_LIMIT)
