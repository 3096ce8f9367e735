"""Waiting for a backend that asks for fewer questions, as any client of it would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import anyio

from retrieverbench.errors import BackendError, Code

PAUSE = 1.0
"""Seconds between two attempts where the backend names none."""


class Answered(Protocol):
    """What came of a question."""

    @property
    def error(self) -> BackendError | None:
        """Why there is no answer."""
        ...


A = TypeVar("A", bound=Answered)


def is_throttled(seen: Answered) -> bool:
    """Whether the backend asked for fewer questions instead of an answer."""
    return seen.error is not None and seen.error.code is Code.THROTTLED


async def until_answered(ask: Callable[[], Awaitable[A]], most: float) -> A:
    """Ask until the backend is no more busy; after `most` seconds of waiting as it is."""
    seen, waited = await ask(), 0.0
    while is_throttled(seen) and waited < most:
        told = getattr(seen.error, "retry_after", None)
        pause = PAUSE if told is None else told
        waited += max(pause, PAUSE)
        if waited > most:
            break
        await anyio.sleep(pause)
        seen = await ask()
    return seen
