"""A service of a user's that trusts whoever reaches it, and takes the tenant from the request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from http_service_support import OPTIONS, Service
from retrieverbench.adapter import Attached
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex


@asynccontextmanager
async def make(_server: Connection, chunks: Sequence[Chunk]) -> AsyncIterator[UsersIndex]:
    service = Service(chunks)
    runner = await service.start()
    connect = {**OPTIONS["connect"], "headers": {}}
    fields = Attached("docs", "doc.id", "tenant", ("doc.body",), "vector")
    options = {**OPTIONS, "connect": connect}
    yield UsersIndex(fields, {}, options, service.endpoint)
    await runner.cleanup()
