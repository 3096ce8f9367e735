"""One case, one number: edges that the doctests and conformance cases leave open."""

from __future__ import annotations

import doctest
import math

import pytest

from retrieverbench.metrics import aggregate, declarations, lists, percase, trec
from retrieverbench.metrics.conventions import Rules
from retrieverbench.metrics.percase import FUNCTIONS, UNCUT, Ranking, judged_share, see
from retrieverbench.model import listing


@pytest.mark.parametrize("module", [aggregate, declarations, listing, lists, percase, trec])
def test_the_examples_in_the_docstrings(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_returned_or_nothing_relevant_is_zero(name: str) -> None:
    function = FUNCTIONS[name]
    assert function(see([], {"a": 1}), 5, Rules()) == 0.0
    assert function(see(["a"], {}), 5, Rules()) == 0.0
    assert function(see([], {}), UNCUT, Rules()) == 0.0


def test_positions_far_down_have_their_discount() -> None:
    ids = [str(n) for n in range(5000)]
    for position in (999, 1000, 1001, 5000):
        value = percase.ndcg(see(ids, {str(position - 1): 1}), UNCUT)
        assert value == 1 / math.log2(position + 1)


def test_a_repeated_id_keeps_its_place_and_earns_nothing() -> None:
    case = see("aab", {"b": 1})
    assert case == Ranking(3, [3], 1, [(3, 1)], [1])
    assert see("aab", {"a": 1}).relevant == [1]
    assert see("aab", {"a": 1}, repeats=True).relevant == [1, 2]
    assert see("aab", {"a": 1}, "a", repeats=True).relevant == [1, 2]


def test_unlisted_grades_earn_gain_and_nothing_else() -> None:
    case = see("ba", {"a": 3, "b": 2}, {"a"})
    assert (case.relevant, case.total, case.judged) == ([2], 1, [(1, 2), (2, 3)])
    assert see({"b": 1, "a": 2}, {"a": 3, "b": 2}, {"a"}) == case


def test_judged_share_of_nothing_is_undefined() -> None:
    assert judged_share([], {"a"}, 5) is None
    assert judged_share("ab", {"a"}, 5) == 0.5
