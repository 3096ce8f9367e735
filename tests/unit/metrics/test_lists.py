"""The order in which a list is read."""

from __future__ import annotations

import math

import pytest

from retrieverbench.metrics.conventions import Order, Rules
from retrieverbench.metrics.lists import Hits, arrange, plain_places, read_list


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
    assert "".join(arrange(read_list(hits), Rules(order=order))) == expected


def test_ids_are_ordered_by_their_bytes() -> None:
    hits = [(chunk, 1.0) for chunk in ("Z", "a", "10", "9", "\u00e9", "\U0001f600")]
    ids = arrange(read_list(hits), Rules(order="trec"))
    assert ids == sorted((c for c, _ in hits), key=str.encode, reverse=True)


def test_repeats_in_a_map_keep_the_last_score() -> None:
    hits = [("a", 3.0), ("b", 2.0), ("a", 1.0)]
    assert arrange(read_list(hits), Rules(order="score", repeats="last")) == ["b", "a"]
    assert arrange(read_list(hits), Rules()) == ("a", "b", "a")


@pytest.mark.parametrize(
    "hits",
    [
        [("a", 2.0), ("a", 1.0)],
        [("a", 2.0), ("b", 2.0)],
        [("a", 1.0), ("b", 2.0)],
        [("a", 1.0), ("b", math.nan)],
        [("a", math.inf), ("b", 1.0)],
        [("a", 1.0), ("b", -math.inf)],
    ],
)
def test_an_unusual_list_needs_a_second_look(hits: Hits) -> None:
    assert plain_places(hits) is None
    assert plain_places(read_list(hits)) is None


@pytest.mark.parametrize("hits", [[], [("a", 0.0)], [("b", 2.0), ("a", 1.0)]])
def test_pairs_and_columns_of_a_plain_list_have_the_same_places(hits: Hits) -> None:
    places = {chunk: place for place, (chunk, _) in enumerate(hits, 1)}
    assert plain_places(hits) == plain_places(read_list(hits)) == places
