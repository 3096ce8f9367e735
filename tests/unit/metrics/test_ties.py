"""Ranges over the orders of equal scores."""

from __future__ import annotations

from retrieverbench.metrics.conventions import find_convention
from retrieverbench.metrics.declarations import parse_metric
from retrieverbench.metrics.evaluate import Question
from retrieverbench.metrics.lists import read_list
from retrieverbench.metrics.ties import Ranges, tie_ranges


def ranges(text: str, *names: str, convention: str = "house", listed: str | None = None) -> Ranges:
    """`x2 a2 y1` is chunk x with score 2, tied with a, then y; a has grade 3 and b grade 1."""
    answer = read_list([(word[0], float(word[1:])) for word in text.split()])
    question = Question("q", answer, {"a": 3, "b": 1}, listed=listed)
    rules = find_convention(convention)
    return tie_ranges([question], [parse_metric(name) for name in names], rules, 1)


def test_groups_are_sorted_by_gain_and_never_across_each_other() -> None:
    mrr = parse_metric("mrr")
    assert ranges("x3 y2 a2 z2 b1", "mrr") == {mrr: {"q": (1 / 4, 1 / 2)}}
    assert ranges("x2 a2 b2", "mrr-l2") == {parse_metric("mrr-l2"): {"q": (1 / 3, 1.0)}}
    assert ranges("x2 b2 a2", "mrr", listed="b") == {mrr: {"q": (1 / 3, 1.0)}}


def test_graded_metrics_sort_by_grade() -> None:
    low, high = ranges("b2 a2", "ndcg@2")[parse_metric("ndcg@2")]["q"]
    assert low < high == 1.0


def test_lists_without_ties_have_no_range() -> None:
    assert ranges("x3 a2 b1", "mrr") == {}


def test_a_convention_that_orders_ties_itself_has_no_range() -> None:
    assert ranges("x2 a2", "mrr", convention="trec_eval") == {}
