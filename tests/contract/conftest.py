"""The engines of all contract tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from retrieverbench.run import Engines


@pytest.fixture(scope="package")
async def engines() -> AsyncIterator[Engines]:
    """Each engine is started once, when the first test asks for it."""
    async with Engines() as started:
        yield started
