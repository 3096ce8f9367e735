"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_support import Bench, write_example


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A fresh folder with what `retrieverbench init` writes."""
    return Bench(write_example(tmp_path))
