"""Scoring plain mappings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.metrics import score_trec
from retrieverbench.model import Listing

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}
RUN = {"q1": [("x", 3.0), ("a", 2.0), ("b", 1.0)], "q2": [("c", 1.0)]}


def test_the_answer_is_plain_json() -> None:
    scores = score_trec(RUN, QRELS, ["Recall@2", "MRR"])
    assert json.loads(json.dumps(scores)) == scores
    assert scores["mean"] == {"recall@2": 0.75, "mrr": 0.75}
    assert scores["per_query"]["mrr"] == {"q1": 0.5, "q2": 1.0}
    assert scores["asked"] == {"Recall@2": "recall@2", "MRR": "mrr"}


def test_two_spellings_of_one_metric_are_one_number() -> None:
    scores = score_trec(RUN, QRELS, ["P@2", "precision@2"])
    assert list(scores["mean"]) == ["precision@2"]


def test_lists_are_looked_at() -> None:
    run = {
        "q1": [("a", 1.0), ("b", 2.0), ("a", 2.0)],
        "q9": [("a", 1.0)],
    }
    counters = score_trec(run, QRELS, ["mrr"])["counters"]
    assert counters == {
        "errors": 0,
        "missing": 1,
        "duplicates": 1,
        "out_of_order": 1,
        "ties": 1,
        "unknown_cases": 1,
    }


@pytest.mark.parametrize("convention", ["house", "pytrec_eval", "elasticsearch", "ranx"])
def test_columns_score_as_pairs_do(convention: str) -> None:
    run = {"q1": [("x", 3.0), ("b", 2.0), ("a", 1.0)], "q2": [("c", 1.0), ("x", 1.0), ("c", 0.5)]}
    columns = {query: Listing(*zip(*hits, strict=True)) for query, hits in run.items()}
    names = ["recall@2", "precision@2"]
    of_pairs = score_trec(run, QRELS, names, convention)
    assert score_trec(columns, QRELS, names, convention) == of_pairs
    assert of_pairs["counters"]["ties"] == of_pairs["counters"]["duplicates"] == 1


class Counted(str):
    """An id that counts how often any of its kind is hashed or compared."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return super().__eq__(other)


def looks(queries: int, depth: int) -> int:
    """How often the ids of these lists are hashed or compared to score them."""
    run = {
        f"q{query}": [(Counted(f"d{rank}"), -float(rank)) for rank in range(depth)]
        for query in range(queries)
    }
    qrels = {query: {"d1": 1, "d5": 2, "d9": 0} for query in run}
    before = Counted.looks
    score_trec(run, qrels, ["ndcg@10", "recall@5", "mrr", "ap", "rprec"])
    return Counted.looks - before


def test_the_work_grows_as_queries_times_depth() -> None:
    for depth in (10, 100, 1000):
        assert looks(3, depth) == 3 * looks(1, depth)
    assert looks(1, 1000) - looks(1, 100) == 900
    assert looks(1, 100) - looks(1, 10) == 90


@pytest.mark.parametrize(
    ("run", "qrels", "convention", "words"),
    [
        ({}, QRELS, "trec_eval", "is empty"),
        ({"q1": [("a b", 1.0)]}, QRELS, "trec_eval", "white space"),
        ({"q1": [("a", 1.0)]}, {"q1": {"a": -1}}, "trec_eval", "negative grades only"),
        ({"1": [("a", 1.0)]}, {"1": {"a": 5}}, "ir_measures", "above 4"),
        ({"q1": [("a", 1.0)]}, {"q1": {"a": True}}, "house", "not a whole number"),
        ({"q1": [("a", 1.0)]}, {"q1": {"a": -1}}, "house", "grades are 0 or more"),
        ({"q9": [("a", 1.0)]}, QRELS, "ranx", "'q9' is not judged"),
    ],
)
def test_where_a_system_stops_no_number_is_given(
    run: Any, qrels: Any, convention: str, words: str
) -> None:
    metric = "ndcg@5" if convention == "ir_measures" else "recall@5"
    with pytest.raises(InputError, match=words) as caught:
        score_trec(run, qrels, [metric], convention)
    assert convention in str(caught.value)


def test_gdeval_gives_five_digits() -> None:
    scores = score_trec({"1": [("x", 2.0), ("a", 1.0)]}, {"1": {"a": 1}}, ["ndcg@5"], "ir_measures")
    assert scores["mean"] == {"ndcg@5/ir_measures": 0.63093}


def test_judgements_of_nothing_have_no_mean() -> None:
    assert score_trec({}, {}, ["mrr"])["mean"] == {"mrr": None}
