"""The table as a whole: every row has its test, and a real service was asked or not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROWS = range(1, 64)
ROOT = Path(__file__).parents[3]


def test_every_row_has_its_test() -> None:
    """Rows 41 (recorded scores) and 52 (scripted failures) need a stand-in in this process."""
    own = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    rows = [int(number) for number in re.findall(r"^def test_az_(\d\d)_", own, re.MULTILINE)]
    assert sorted(rows) == [row for row in ROWS if row not in {41, 52}]
    unit = [*ROOT.glob("tests/unit/engines/**/*.py"), *ROOT.glob("tests/unit/adapters/**/*.py")]
    elsewhere = "\n".join(path.read_text("utf-8") for path in unit)
    assert "def test_az_41_" in elsewhere
    assert "def test_az_52_" in elsewhere


@pytest.mark.azure_live
@pytest.mark.usefixtures("live_is_given")
def test_a_real_service_was_asked() -> None:
    """Passes where the rows above ran against a real service too; otherwise says how."""
