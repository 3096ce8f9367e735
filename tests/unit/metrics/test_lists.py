"""Order, repeated ids and ties of a list."""

from __future__ import annotations

import math

import pytest

from retrieverbench.metrics.conventions import Order, Rules
from retrieverbench.metrics.lists import arrange, read_list


@pytest.mark.parametrize(
    ("scores", "finite", "ordered", "tied"),
    [
        ([3.0, 2.0, 1.0], True, True, False),
        ([3.0, 2.0, 2.0], True, True, True),
        ([0.0, -0.0], True, True, True),
        ([1.0, 2.0], True, False, False),
        ([1.0, 2.0, 2.0], True, False, True),
        ([1e308, 1e308], True, True, True),
        ([math.inf, 1.0], False, True, False),
        ([1.0, -math.inf], False, True, False),
        ([math.nan], False, True, False),
        ([2.0, math.nan, 1.0], False, False, False),
    ],
)
def test_what_is_seen_of_the_scores(
    scores: list[float], *, finite: bool, ordered: bool, tied: bool
) -> None:
    listing = read_list([(str(n), score) for n, score in enumerate(scores)])
    assert (listing.finite, listing.ordered, listing.tied) == (finite, ordered, tied)


def test_an_empty_list_is_in_order() -> None:
    assert read_list([]).ordered
    assert read_list([]).ids == ()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("list", "abcde"),
        ("score", "cdabe"),
        ("score_id_asc", "cdabe"),
        ("trec", "cdbae"),
        ("trec32", "dcbae"),
    ],
)
def test_orders(order: Order, expected: str) -> None:
    """c and d differ in the ninth digit; a and b are equal."""
    hits = [("a", 0.5), ("b", 0.5), ("c", 0.912345679), ("d", 0.912345678), ("e", -1.0)]
    assert "".join(arrange(read_list(hits), Rules(order=order)).ids) == expected


def test_ids_are_ordered_by_their_bytes() -> None:
    hits = [(chunk, 1.0) for chunk in ("Z", "a", "10", "9", "\u00e9", "\U0001f600")]
    ids = arrange(read_list(hits), Rules(order="trec")).ids
    assert ids == sorted((c for c, _ in hits), key=str.encode, reverse=True)


def test_repeats_in_a_map_keep_the_last_score() -> None:
    hits = [("a", 3.0), ("b", 2.0), ("a", 1.0)]
    assert arrange(read_list(hits), Rules(order="score", repeats="last")).ids == ["b", "a"]
    assert arrange(read_list(hits), Rules()).ids == ("a", "b", "a")
