"""A server with pgvector for all files of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from retrieverbench.engines import Started, pgvector


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[Started]:
    async with pgvector.start({}) as started:
        yield started
