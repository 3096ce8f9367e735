"""Foreign code that does not let itself be cancelled, until the test lets it go."""

from __future__ import annotations

import asyncio
from typing import Any


class Stubborn:
    """Swallows every cancellation, as a retry loop with `except BaseException` does."""

    def __init__(self) -> None:
        self.released = False
        self.swallowed = 0
        self.tasks: list[asyncio.Task[Any]] = []

    @property
    def running(self) -> int:
        """How many calls have not ended."""
        return sum(not task.done() for task in self.tasks)

    async def hang(self, *_arguments: Any) -> Any:
        """Return once released."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        while not self.released:
            try:
                await asyncio.sleep(0.01)
            except BaseException:  # noqa: BLE001 - that is its fault
                self.swallowed += 1

    async def let_go(self) -> None:
        """Let every call end, and wait for it."""
        self.released = True
        if self.tasks:
            await asyncio.wait(self.tasks)
