"""Timed passes on a heap of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apart_support import small_heap


@pytest.fixture(autouse=True)
def _small_heap() -> Iterator[None]:
    with small_heap():
        yield
