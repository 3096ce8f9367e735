"""The process ends when its command has: no thread of an adapter's keeps it."""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from retrieverbench.cli.output import close_streams

INTERRUPTED = 130
STUCK_CODE = 75
"""Of a job's process that was ended since foreign code blocked it, for its parent alone."""
ASKING = tuple(
    number
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
)
"""What asks a run to end: a terminal that closes, too, but for who started it with nohup."""
SAME_SECONDS = 0.2
"""Signals so close together are one: `timeout` sends its own to the process and to its group."""
LAST_SECONDS = 3.0
"""How long threads that are not ours may take to end by themselves."""
_SHOW_CURSOR = b"\x1b[?25h"


class Ending:
    """Made before anything else: its exit function is then the last that Python calls.

    Python waits for every thread that is no daemon, also for one that an adapter left in a
    call that never returns; `soon` bounds that. Afterwards it takes all objects apart, and
    so runs foreign code once more, which may not end either; that never begins.
    """

    def __init__(self, code: int) -> None:
        self._code = code
        atexit.register(self._last)

    def soon(self, code: int) -> None:
        """The process may end by itself; after LAST_SECONDS it ends all the same.

        Signals would do no more than interrupt Python at its end, with a traceback.
        """
        self._code = code
        for number in ASKING:
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=self._after, name="last resort", daemon=True).start()

    def _after(self) -> None:
        time.sleep(LAST_SECONDS)  # in a thread of its own: no loop runs any more
        main = threading.main_thread()
        names = [t.name for t in threading.enumerate() if not t.daemon and t is not main]
        if names and sys.stderr is not None:
            say_now(f"warning: ended without waiting for what did not end: {', '.join(names)}")
        end_now(self._code)

    def _last(self) -> None:
        close_streams()
        end_now(self._code)


@contextmanager
def told_to_its_end() -> Iterator[None]:
    """Nothing is measured any more: a first request to end waits for the verdict and the report.

    What they say is then what the exit code says. The second ends the process at once.
    """
    asked: list[float] = []

    def hear(_number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if not asked:
            asked.append(now)
            say_now(
                "interrupted, but nothing is measured any more: the report follows; once more to "
                "end at once"
            )
        elif now - asked[0] >= SAME_SECONDS:
            say_now(f"interrupted before the report was whole: exit {INTERRUPTED}")
            end_now(INTERRUPTED)

    before = {number: signal.signal(number, hear) for number in ASKING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def end_now(code: int) -> NoReturn:
    """End at once, whatever runs; progress bars may have hidden the cursor."""
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
    os._exit(code)


def say_now(text: str) -> None:
    """One line on standard error past every lock and buffer; nothing if it would block."""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"{text}\n".encode(errors="backslashreplace"))
