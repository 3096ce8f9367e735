"""Work that a signal can stop, and whose errors come out as what they are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from retrieverbench.errors import RetrieverBenchError


@asynccontextmanager
async def stopped_by(interrupt: anyio.Event) -> AsyncIterator[None]:
    """Cancel the body when `interrupt` is set, and then go on behind it.

    A task group would wrap an error of the body in a group; here it is raised as itself.
    """
    raised: RetrieverBenchError | None = None
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await interrupt.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            yield
        except RetrieverBenchError as error:
            raised = error
        tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
