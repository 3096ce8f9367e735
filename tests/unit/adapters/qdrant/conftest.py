"""One front of Qdrant's engine for all files of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from retrieverbench.engines import Started, qdrant


@pytest.fixture(scope="session")
async def front() -> AsyncIterator[Started]:
    async with qdrant.start({"faults": True, "refuse_unknown_keys": True}) as started:
        yield started
