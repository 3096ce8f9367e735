"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_support import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A fresh folder after `retrieverbench init`."""
    made = Bench(tmp_path)
    done = made.run("init", ".")
    assert done.returncode == 0, done.stderr
    return made
