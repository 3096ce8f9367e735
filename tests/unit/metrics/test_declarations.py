"""Names of metrics and counters."""

from __future__ import annotations

import pytest

from retrieverbench.errors import InputError
from retrieverbench.metrics import COUNTERS, METRICS, Metric, lower_is_better, parse_metric
from retrieverbench.metrics.percase import FUNCTIONS


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("nDCG@10", "ndcg@10"),
        ("ndcg_exp@10", "ndcg@10"),
        ("ndcg_cut_10", "ndcg_lin@10"),
        ("Recall@100", "recall@100"),
        ("recall_at_5", "recall@5"),
        ("p@5", "precision@5"),
        ("P_5", "precision@5"),
        ("r@5", "recall@5"),
        ("success@5", "hit@5"),
        ("Hit@3", "hit@3"),
        (" MRR ", "mrr"),
        ("RR@10", "mrr@10"),
        ("map", "ap"),
        ("rprec", "rprec"),
        ("recall@5-l3", "recall@5-l3"),
        ("mrr-l2", "mrr-l2"),
    ],
)
def test_every_accepted_spelling_has_one_name(spelling: str, name: str) -> None:
    assert parse_metric(spelling).name == name
    assert parse_metric(name).name == name


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        ("ncdg@10", "did you mean 'ndcg@10'"),
        ("recal@5", "did you mean 'recall@5'"),
        ("nDCG@x", "did you mean 'ndcg@10'"),
        ("nDCG-lin@x", "did you mean 'ndcg_lin@10'"),
        ("ndgc@5-l2", "did you mean 'ndcg@5-l2'"),
        ("recal", "did you mean 'recall@10'"),
        ("R-precison@5", "did you mean 'r_precision'"),
        ("beauty", "known: precision"),
        ("recall", "has no cut; write recall@10"),
        ("rprec@5", "takes no cut"),
        ("recall@0", "has a 0"),
        ("mrr-l0", "has a 0"),
        ("recall@-1", "is not known"),
        ("recall@5.5", "is not known"),
        ("", "is not known"),
        ("recall@5\nx", "is not known"),
    ],
)
def test_a_name_that_is_none_is_refused_with_a_way_out(spelling: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_metric(spelling)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_labels_are_for_people() -> None:
    labels = [Metric(b, 5).label for b in ("ndcg", "recall", "precision", "hit", "mrr")]
    assert labels == ["nDCG@5", "Recall@5", "P@5", "Hit@5", "MRR@5"]


def test_every_declared_metric_is_computed_and_none_else() -> None:
    assert METRICS.keys() == FUNCTIONS.keys()


def test_directions() -> None:
    assert lower_is_better("errors")
    assert lower_is_better("underfill_rate@10")
    assert lower_is_better("false_answer_rate")
    assert not lower_is_better("recall@5")
    assert not lower_is_better("tenant_macro:recall@5")
    assert not lower_is_better("ties")


def test_every_counter_that_a_run_gives_is_declared() -> None:
    from retrieverbench.metrics.counters import count

    given = {name.partition("@")[0] for name in count([], [5], visible=None, floor=None)}
    apart = {"unknown_cases", "tenant_macro", "worst_tenant", "robustness"}
    assert given | apart == COUNTERS.keys()
