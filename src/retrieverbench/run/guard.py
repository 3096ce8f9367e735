"""One call of an adapter, guarded: it ends in time, and what it raises is an error of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn, TypeGuard, TypeVar, cast

from retrieverbench.errors import AdapterError, BackendError, Code, InputError, TimedOut
from retrieverbench.remote import hide_secrets
from retrieverbench.run import foreign
from retrieverbench.run.text import (
    hide_in,
    log_frames,
    one_line,
    place_in_file,
    shows_in_chain,
    text_of,
)

T = TypeVar("T")

LEFT_BEHIND = (
    "and does not react to cancellation; it was left behind: "
    "let asyncio.CancelledError pass in the adapter and in its client"
)


class Abandoned(TimedOut):
    """A call that neither ended nor let itself be cancelled: the adapter is asked no more."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is called, for messages; its limit in seconds; what no text may show."""

    adapter: str
    word: str
    seconds: float
    hidden: tuple[str, ...] = ()

    async def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Await one call of the adapter.

        Raises the errors that the protocol promises as they are, AdapterError for whatever
        else the adapter raises, TimedOut when the call did not end in time, and Abandoned when
        it could not be cancelled either.
        """
        name = f"adapter {self.adapter!r}: {self.word}"
        outcome = await foreign.call(function, seconds=self.seconds, name=name)
        if outcome is None:
            raise Abandoned(f"{name} did not end within {self.seconds:g} s {LEFT_BEHIND}")
        error = outcome.error
        if isinstance(error, foreign.Blocked):
            raise Abandoned(f"{name} was broken off: {error}")
        if outcome.late and (error is None or isinstance(error, asyncio.CancelledError)):
            raise TimedOut(f"{name} did not end within {self.seconds:g} s", remedy=TimedOut.advice)
        if error is not None:
            self._raise(error)
        return cast("T", outcome.value)

    def _raise(self, error: BaseException) -> NoReturn:
        if not self._is_promised(error):
            raise self._fault(error) from self._cause(error)
        hide_in(error, self.hidden)
        if self._shows(error):  # the class makes its text of more than its arguments
            raise self._fault(error) from None
        raise error

    def _is_promised(self, error: BaseException) -> bool:
        """Errors of a backend, and at the opening those of the user's options."""
        return is_sound(error) or (
            self.word == "open" and isinstance(error, InputError) and is_readable(error)
        )

    def _shows(self, error: BaseException) -> bool:
        return hide_secrets(text_of(error), self.hidden) != text_of(error)

    def _cause(self, error: BaseException) -> BaseException | None:
        return None if shows_in_chain(error, self.hidden) else error

    def _fault(self, error: BaseException) -> AdapterError:
        name = type(error).__name__
        place = place_in_file(error)
        text = one_line(hide_secrets(text_of(error), self.hidden))
        log_frames(error)
        return AdapterError(f"adapter {self.adapter!r}: {self.word} raised {name}{place}: {text}")


def is_sound(error: BaseException) -> TypeGuard[BackendError]:
    """Whether it is an error that the protocol promises, with a text and a code to be read."""
    try:
        code: object = error.code if isinstance(error, BackendError) else None
    except BaseException:  # noqa: BLE001 - a class of the adapter's own may raise anything
        return False
    return isinstance(code, Code) and code is not Code.OK and is_readable(error)


def is_readable(error: BaseException) -> bool:
    """Whether its text can be read; a class of the adapter's own may raise instead."""
    try:
        str(error)
    except BaseException:  # noqa: BLE001
        return False
    return True


def is_stop(error: BaseException) -> bool:
    """Whether an exception ends this task on purpose, and is not of the adapter's making.

    A cancellation that somebody asked for, or the closing of a coroutine that no loop runs any
    more. A KeyboardInterrupt is never one: the command takes the signal itself.
    """
    if isinstance(error, GeneratorExit):
        return _current_task() is None
    return isinstance(error, asyncio.CancelledError) and is_being_cancelled()


def is_being_cancelled() -> bool:
    """Whether somebody asked for the cancellation of this task.

    A client that cancels a task of its own and lets the exception out looks the same from
    above. Passing that on would end a worker, and its cases would be missing without a word.
    """
    task = _current_task()
    return task is None or task.cancelling() > 0


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop is running
        return None
