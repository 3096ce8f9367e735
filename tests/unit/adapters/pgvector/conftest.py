"""A server with pgvector for each file of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from retrieverbench.engines import Started, pgvector


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Started]:
    async with pgvector.start({}) as started:
        yield started
