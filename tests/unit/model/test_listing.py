"""What is seen of a list: order, repeated ids, ties."""

from __future__ import annotations

import math
from array import array

import pytest

from retrieverbench.model import Listing


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
    listing = Listing([str(n) for n in range(len(scores))], scores)
    assert (listing.finite, listing.ordered, listing.tied) == (finite, ordered, tied)


def test_an_empty_list_is_in_order() -> None:
    empty = Listing()
    assert (empty.finite, empty.ordered, empty.repeated, empty.tied) == (True, True, 0, False)


def test_columns_of_an_array_are_looked_at_alike() -> None:
    listing = Listing(["a", "b", "a"], array("d", [1.0, 2.0, 2.0]))
    assert (listing.ordered, listing.repeated, listing.tied) == (False, 1, True)
