"""Messages are counted and worded in one way."""

from __future__ import annotations

import pytest

from retrieverbench.errors import plural


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("case", "cases"),
        ("canary search", "canary searches"),
        ("query", "queries"),
        ("key", "keys"),
        ("index", "indexes"),
    ],
)
def test_one_is_told_as_one_and_any_other_number_as_many(noun: str, many: str) -> None:
    assert [plural(count, noun) for count in (0, 1, 2)] == [f"0 {many}", f"1 {noun}", f"2 {many}"]
