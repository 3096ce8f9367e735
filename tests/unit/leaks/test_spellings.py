"""Spellings of a name are other names."""

from __future__ import annotations

import pytest

from retrieverbench.leaks.spellings import spellings


@pytest.mark.parametrize("name", ["acme", "a", "Zoë", "7", "ü"])
def test_each_is_another_name_and_stands_once(name: str) -> None:
    found = spellings(name, "globex")
    assert name not in found
    assert "" not in found
    assert len(found) == len(set(found)) > 40


def test_they_fold_back_to_the_name_in_the_ways_that_backends_do() -> None:
    found = spellings("acme", "globex")
    assert {"ACME", "acme ", "acme1", "acm%", "acme,globex", "\uff41cme"} <= set(found)
