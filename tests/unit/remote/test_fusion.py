"""Fusion by reciprocal rank."""

from __future__ import annotations

import pytest

from retrieverbench.model import Hit
from retrieverbench.remote import reciprocal_rank_fusion


def legs() -> list[list[Hit]]:
    return [
        [Hit("a", 9.0), Hit("b", 8.0)],
        [Hit("c", 0.9), Hit("b", 0.8), Hit("d", 0.7)],
    ]


def test_ranks_count_and_scores_do_not() -> None:
    """b is second in both; a and c are first in one, and tie."""
    found = reciprocal_rank_fusion(legs(), 60, 10)
    assert [hit.uid for hit in found] == ["b", "a", "c", "d"]
    expected = [2 / 62, 1 / 61, 1 / 61, 1 / 63]
    assert [hit.score for hit in found] == pytest.approx(expected)


def test_only_the_best_are_kept() -> None:
    assert [hit.uid for hit in reciprocal_rank_fusion(legs(), 60, 2)] == ["b", "a"]


def test_no_hits_are_no_hits() -> None:
    assert reciprocal_rank_fusion([[], []], 60, 10) == []
