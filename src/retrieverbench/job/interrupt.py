"""Work that a signal can stop, and whose errors come out as what they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio


@asynccontextmanager
async def stopped_by(asked: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Cancel the body when `asked` returns, and then go on behind it.

    A task group would wrap an error of the body in a group; here it is raised as itself.
    """
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await asked()
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again below
            raised = error
        tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
