"""A call of foreign code, which may never end and may not let itself be cancelled.

It runs as a task of its own, so that whoever waits for it need not wait for ever: a task
that neither ends nor gives in to cancellation is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import anyio

T = TypeVar("T")

CANCEL_SECONDS = 2.0
"""How long a cancelled call may clean up; it is cancelled again after half of it."""

_is_foreign = ContextVar("is_foreign", default=False)
"""Inherited by the tasks that foreign code starts."""
_allowance: ContextVar[Allowance | None] = ContextVar("allowance", default=None)
"""Inherited like that."""
_left_behind: set[asyncio.Task[object]] = set()
"""Held until they end, for a loop holds its tasks weakly."""


class Blocked(asyncio.CancelledError):
    """Raised into a call that blocks the event loop, when it may no longer or the user stops."""

    def __init__(self, why: str = "it blocked the event loop when the run was interrupted") -> None:
        super().__init__(why)


@dataclass(slots=True)
class Allowance:
    """For how many seconds a call may block the event loop; `overrun` once it was broken off."""

    seconds: float
    overrun: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a call ended: with `value` or with `error`, after so many seconds.

    `late` calls were cancelled, whatever they made of it.
    """

    value: T | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    late: bool = False


def keep_apart(
    loop: asyncio.AbstractEventLoop,
) -> Mapping[asyncio.Task[Any], Allowance | None]:
    """Let `asyncio.all_tasks` show foreign code its own tasks alone; return all, held weakly.

    Code that cancels whatever runs, as recipes for an orderly end do, then cancels its own
    calls and nothing of the run. Each task has the allowance of the call that it is part of.
    """
    tasks: WeakKeyDictionary[asyncio.Task[Any], Allowance | None] = WeakKeyDictionary()

    def create(
        loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **options)
        context = options.get("context") or copy_context()
        tasks[task] = context.get(_allowance)
        if not context.get(_is_foreign, False):
            asyncio.tasks._unregister_task(task)  # noqa: SLF001 - documented for task factories
        return task

    loop.set_task_factory(create)
    return tasks


@contextmanager
def allowed(allowance: Allowance) -> Iterator[None]:
    """Tasks that begin in the body, and theirs, may block the loop no longer than so."""
    token = _allowance.set(allowance)
    try:
        yield
    finally:
        _allowance.reset(token)


async def call(
    function: Callable[[], Awaitable[T]], *, seconds: float, name: str
) -> Outcome[T] | None:
    """Await what `function` returns for at most `seconds`, then cancel it.

    None when it was left behind. `name` says what is called, for those who look at the task.
    Cancelled itself, it cancels the call too and gives it the same time to clean up. One that
    was broken off, since it blocked the event loop, ends with Blocked, whatever it made of that.
    """
    context, allowance = copy_context(), Allowance(seconds)
    context.run(_is_foreign.set, True)
    context.run(_allowance.set, allowance)
    task = asyncio.create_task(_outcome(function), name=name, context=context)
    try:
        await asyncio.wait({task}, timeout=seconds)
        late = not task.done()
        if await give_up({task}):
            return None
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await give_up({task})
        raise
    if allowance.overrun:
        return Outcome(error=Blocked(allowance.overrun), seconds=seconds, late=True)
    if task.cancelled():  # before it began
        return Outcome(error=asyncio.CancelledError(), seconds=seconds, late=late)
    found = task.result()
    return Outcome(found.value, found.error, found.seconds, late)


async def give_up(tasks: Collection[asyncio.Task[T]]) -> set[asyncio.Task[T]]:
    """Cancel those that run, twice if need be; return those that go on all the same."""
    running = _running(tasks)
    for _ in range(2):
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=CANCEL_SECONDS / 2)
        running = _running(running)
    for task in running:
        leave_behind(task)
    return running


def leave_behind(task: asyncio.Task[T]) -> None:
    """Wait for it no longer, and keep it until it ends."""
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)


def _running(tasks: Collection[asyncio.Task[T]]) -> set[asyncio.Task[T]]:
    return {task for task in tasks if not task.done()}


async def _outcome(function: Callable[[], Awaitable[T]]) -> Outcome[T]:
    """Whatever is raised is returned: a SystemExit of a task would end the loop itself."""
    start = perf_counter_ns()
    try:
        value = await function()
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything
        return Outcome(error=error, seconds=(perf_counter_ns() - start) / 1e9)
    return Outcome(value, seconds=(perf_counter_ns() - start) / 1e9)
