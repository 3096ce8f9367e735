"""Ties are settled; disorder is never hidden."""

from __future__ import annotations

import pytest

from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit
from retrieverbench.remote import ties_by_uid


def test_equal_scores_stand_by_uid() -> None:
    hits = [Hit("c", 2.0), Hit("b", 1.0), Hit("a", 1.0)]
    assert [hit.uid for hit in ties_by_uid(hits)] == ["c", "a", "b"]
    assert ties_by_uid([]) == []


def test_a_score_above_the_one_before_it_is_the_backends_fault() -> None:
    with pytest.raises(AdapterError, match=r"hit 3 scores 1\.5, the one before it 1"):
        ties_by_uid([Hit("a", 2.0), Hit("b", 1.0), Hit("c", 1.5)])
