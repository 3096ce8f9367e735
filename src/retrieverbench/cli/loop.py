"""The event loop of a run: signals reach it though foreign code blocks it, and it always ends.

asyncio's own ways, `asyncio.run` and `loop.add_signal_handler`, wait for the code in the loop: a
task that swallows its cancellation, a thread that never returns or a call that does not give
way would keep the process, and Ctrl-C would do nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from retrieverbench.cli.ending import (
    ASKING,
    INTERRUPTED,
    SAME_SECONDS,
    STUCK_CODE,
    end_now,
    say_now,
)
from retrieverbench.errors import AdapterError

if TYPE_CHECKING:
    import asyncio

    from retrieverbench.run.foreign import Allowance

T = TypeVar("T")

BREAK = signal.SIGURG
"""We send it to ourselves; by default it does nothing."""
CALLERS = frozenset({"retrieverbench.run.foreign", "retrieverbench.load.block"})
"""Whose tasks are an adapter's calls."""
BEAT_SECONDS = 0.25
TELL_SECONDS = 1.0
BREAK_SECONDS = 3.0
CLOSE_SECONDS = 1.0
ROUND_SECONDS = 1.0
"""How often it is looked whether a call blocks the loop for longer than it may."""
LAST_SECONDS = 60.0
"""Beyond twice that, a call that cannot be broken off, since it runs no Python, ends all."""
CHILD_CODE = 1
"""Of a forked child that came back, for whoever waits for it."""


def run_in_loop(
    main: Callable[[Callable[[Callable[[], None]], None]], Coroutine[Any, Any, T]],
    note: Callable[[str], None],
) -> T:
    """Run `main` in a loop of its own and return its result, whatever else is in the loop.

    `main` gets a function to which it gives what the first signal of ASKING shall call; the second
    ends the process. Code that blocks the loop is named after the first, and is broken
    off where it runs Python. Without a signal, too, it is broken off once it blocks for longer than
    its call may take; where it runs no Python, the process ends in the end. A task or callback of
    somebody else's that raises SystemExit or KeyboardInterrupt does not end the run; `note` is
    told. Nor does foreign code that stops the
    loop, which is refused, or cancels all tasks, which are its own: see `keep_apart`. A forked
    child of foreign code ends as soon as it comes back to the loop. Raises AdapterError when
    `main` was cancelled all the same, and where foreign code closed what the loop itself needs.
    """
    import asyncio

    from retrieverbench.run.foreign import keep_apart

    loop = asyncio.new_event_loop()
    tasks = keep_apart(loop)
    os.register_at_fork(after_in_child=partial(_end_child, ref(loop)))
    watch = _Watch(loop, tasks)
    try:
        with watch.installed():
            _run_until_done(task := loop.create_task(main(watch.on_signal)), loop, note)
    finally:
        args = (loop, tasks)
        closing = threading.Thread(target=_close, args=args, name="end of loop", daemon=True)
        closing.start()
        closing.join(2 * CLOSE_SECONDS)
    if task.cancelled():
        raise AdapterError("the run was cancelled from inside; look for it in the adapters")
    return task.result()


def _end_child(loop: ref[asyncio.AbstractEventLoop]) -> None:
    """A child that foreign code forked ends when it comes back to the loop.

    It would go on as a second run beside the first.
    """
    if (found := loop()) is not None and found.is_running():
        found.call_soon(end_now, CHILD_CODE)


def _run_until_done(
    task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, note: Callable[[str], None]
) -> None:
    """Turn the loop until the task is done, whoever else ends a turn."""
    import asyncio

    waiting: asyncio.Task[Any] | None = None
    told = False
    while not task.done():
        if waiting is None or waiting.done():
            # The one task of ours that others see; it may be cancelled, and libraries look for it.
            waiting = asyncio.Task(asyncio.wait({task}), loop=loop)
        try:
            with _not_to_be_stopped(loop, waiting):
                loop.run_until_complete(waiting)
        except (SystemExit, KeyboardInterrupt) as error:
            if not task.done():
                note(f"code in the background raised {type(error).__name__}; the run goes on")
        except asyncio.CancelledError:
            pass
        except Exception as error:  # whatever code in the background let out
            if loop.is_closed():
                raise
            if not told:
                note(f"code in the background {_told_of(error)}; the run goes on")
            told = True


def _told_of(error: Exception) -> str:
    """What was raised into the loop, where nothing of ours does; AdapterError if it is broken."""
    if isinstance(error, OSError):
        raise AdapterError(
            f"the event loop broke: {error}; look for os.close, os.closerange and "
            "resource.setrlimit in the adapters and their clients"
        ) from None
    if isinstance(error, RuntimeError):
        return "stopped the event loop"
    return f"raised {type(error).__name__} into the event loop"


@contextmanager
def _not_to_be_stopped(
    loop: asyncio.AbstractEventLoop, waiting: asyncio.Task[Any]
) -> Iterator[None]:
    """Refuse whoever stops the loop before its time, so that it is told as the caller's fault."""
    stop = loop.stop

    def refuse() -> None:
        if not waiting.done():
            raise RuntimeError("the event loop is not the adapter's to stop")
        stop()

    with suppress(AttributeError):  # a loop that is written in C
        loop.stop = refuse  # type: ignore[method-assign]  # for others alone
    try:
        yield
    finally:
        getattr(loop, "__dict__", {}).pop("stop", None)


def _close(loop: asyncio.AbstractEventLoop, tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel what is left and close the loop; in a thread, since what is left may block."""
    import asyncio

    with suppress(BaseException):
        left = {task for task in tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=CLOSE_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        if all(task.done() for task in left):
            loop.close()


class _Watch:
    """Takes signals in a thread: the main thread may be in a call that does not return.

    What Python's own C code notes of a signal, it writes to our socket at once; a handler in
    Python would wait until the main thread runs Python again.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tasks: Mapping[asyncio.Task[Any], Allowance | None],
    ) -> None:
        self._loop = loop
        self._patrol = _Patrol(loop, tasks)
        self._ask: Callable[[], None] = lambda: None
        self._inbox, self._outbox = socket.socketpair()
        self._outbox.setblocking(False)
        self._answered = monotonic()
        self._has_told = False
        self._patience = BREAK_SECONDS
        self._is_asked = False

    def on_signal(self, ask: Callable[[], None]) -> None:
        """What the first signal calls, in the loop."""
        self._ask = ask

    @contextmanager
    def installed(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._handle) for number in (*ASKING, BREAK)}
        descriptor = signal.set_wakeup_fd(self._outbox.fileno(), warn_on_full_buffer=False)
        thread = threading.Thread(target=self._run, name="signals", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with suppress(OSError, ValueError):  # foreign code closed it
                signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            with suppress(OSError):
                self._outbox.close()
            thread.join(BEAT_SECONDS)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """In the main thread, in the middle of whatever it does."""
        from retrieverbench.run.foreign import Blocked

        if number != BREAK or _foreign_place(frame) is None:
            return
        if self._is_asked:
            raise Blocked
        self._patrol.break_off()

    def _run(self) -> None:
        asked: float | None = None
        with suppress(OSError), self._inbox:  # foreign code closed it: no signal is seen any more
            self._inbox.settimeout(ROUND_SECONDS)
            while True:
                try:
                    numbers = self._inbox.recv(64)
                except TimeoutError:
                    if self._is_asked:
                        self._look()
                    else:
                        self._patrol.look()
                    continue
                if not numbers:
                    return
                for number in numbers:
                    if number not in ASKING:
                        continue
                    if asked is not None and monotonic() - asked < SAME_SECONDS:
                        continue
                    if asked is not None:
                        end_now(INTERRUPTED)
                    asked = self._answered = monotonic()
                    self._is_asked = True
                    self._call(self._ask)
                    self._inbox.settimeout(BEAT_SECONDS)

    def _look(self) -> None:
        """Once in a while after the first signal: see whether the loop still turns."""
        silent = monotonic() - self._answered
        self._call(self._answer)
        if silent < TELL_SECONDS:
            self._has_told = False
            return
        place = _place_of_main_thread()
        if place is None:
            return
        if not self._has_told:
            self._has_told = True
            say_now(f"interrupted, but {place} blocks the event loop; once more to end at once")
        if silent > self._patience:
            self._patience = TELL_SECONDS  # the next ones are of the same kind
            _interrupt_main_thread()

    def _answer(self) -> None:
        self._answered = monotonic()

    def _call(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)


def _place_of_main_thread() -> str | None:
    """Where an adapter's code holds the main thread; None where it runs none."""
    frames = sys._current_frames()  # noqa: SLF001 - nothing else tells where a thread stands
    return _foreign_place(frames.get(threading.main_thread().ident or 0))


def _interrupt_main_thread() -> None:
    """Make it look what is to be broken off."""
    signal.pthread_kill(threading.main_thread().ident or 0, BREAK)


class _Patrol:
    """Looks from the watching thread whether one call blocks the loop for longer than it may.

    It counts its rounds: seconds would count on while the process is stopped.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tasks: Mapping[asyncio.Task[Any], Allowance | None],
    ) -> None:
        self._loop, self._tasks = loop, tasks
        self._held_by: asyncio.Task[Any] | None = None
        self._rounds = 0
        self._overrun: tuple[asyncio.Task[Any], str] | None = None

    def look(self) -> None:
        """One round; it breaks off what is due."""
        task = _running(self._loop)
        if task is None or task is not self._held_by:
            self._held_by, self._rounds = task, 0
        allowance = self._tasks.get(task) if task is not None else None
        if allowance is None:
            return
        if self._rounds == 0:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._turned)
        self._rounds += 1
        seconds = self._rounds * ROUND_SECONDS - allowance.seconds
        if seconds <= ROUND_SECONDS or task is None:
            return
        place = _place_of_main_thread()
        if place is None:
            return
        if seconds > allowance.seconds + LAST_SECONDS:
            say_now(f"error: {place} blocks the event loop and cannot be broken off")
            end_now(STUCK_CODE)
        why = (
            f"it blocked the event loop in {place} for more than {allowance.seconds:g} s; "
            "let it await, or run what blocks in asyncio.to_thread"
        )
        self._overrun = task, why
        _interrupt_main_thread()

    def break_off(self) -> None:
        """In the main thread: raise Blocked if it still runs what was found."""
        from retrieverbench.run.foreign import Blocked

        found, self._overrun = self._overrun, None
        if found is None or _running(self._loop) is not found[0]:
            return
        if allowance := self._tasks.get(found[0]):
            allowance.overrun = allowance.overrun or found[1]
        raise Blocked(found[1])

    def _turned(self) -> None:
        """In the loop, which nothing blocks."""
        self._held_by, self._rounds = None, 0


def _running(loop: asyncio.AbstractEventLoop) -> asyncio.Task[Any] | None:
    import asyncio

    return asyncio.current_task(loop)


def _foreign_place(frame: FrameType | None) -> str | None:
    """Where the main thread entered code that is not ours, as `mine.py:12 in search`.

    None when it did not: when the loop waits, or works for us.
    """
    inside: list[FrameType] = []
    while frame is not None and _module(frame) != "asyncio.events":
        inside.insert(0, frame)
        frame = frame.f_back
    if frame is None:  # not called by the loop
        return None
    if inside and _module(inside[0]).startswith("anyio."):
        del inside[0]  # the root of a task group's task
    if not inside or (_is_ours(inside[0]) and _module(inside[0]) not in CALLERS):
        return None
    for found in inside:
        if not _is_ours(found):
            name = Path(found.f_code.co_filename).name
            return f"{name}:{found.f_lineno} in {found.f_code.co_name}"
    return None


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).startswith("retrieverbench.")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
