"""Conventions: names, what they offer, how they adopt a metric."""

from __future__ import annotations

import pytest

from retrieverbench.errors import InputError
from retrieverbench.metrics import CONVENTIONS, METRICS, parse_metric, score_trec
from retrieverbench.metrics.conventions import find_convention


def adopted(convention: str, metric: str) -> str:
    rules = find_convention(convention)
    return rules.title(rules.adopt(parse_metric(metric)))


def test_the_name_of_a_number_tells_its_convention() -> None:
    assert adopted("house", "nDCG@10") == "ndcg@10"
    assert adopted("trec_eval", "nDCG@10") == "ndcg_lin@10/trec_eval"
    assert adopted("elasticsearch", "nDCG@10") == "ndcg@10/elasticsearch"
    assert adopted("ranx", "recall@5-l2") == "recall@5-l2/ranx"


def test_a_level_is_kept_only_where_it_has_an_effect() -> None:
    assert adopted("house", "ndcg@10-l2") == "ndcg@10"
    assert adopted("ranx", "ndcg@10-l2") == "ndcg@10-l2/ranx"
    assert adopted("dotnet-golden-set", "ndcg_lin@3-l2") == "ndcg_lin@3-l2/dotnet-golden-set"


@pytest.mark.parametrize(
    ("convention", "metric"),
    [("pytrec_eval", "mrr@10"), ("elasticsearch", "mrr"), ("elasticsearch", "ndcg_lin@10")],
)
def test_a_metric_that_a_system_does_not_have_is_refused(convention: str, metric: str) -> None:
    with pytest.raises(InputError, match=f"is not computed by '{convention}'; it has "):
        adopted(convention, metric)


def test_the_house_has_every_metric() -> None:
    cut = {"required": "@5", "optional": "@5", "none": ""}
    for base, metric in METRICS.items():
        assert adopted("house", base + cut[metric.cut])


def test_an_unknown_convention_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'trec_eval'"):
        find_convention("treceval")
    with pytest.raises(InputError, match="known: house"):
        find_convention("?")


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_no_convention_orders_scores_that_are_no_numbers(convention: str) -> None:
    rules = CONVENTIONS[convention]
    name = min(rules.offers).replace("@k", "@3")
    run, qrels = {"1": [("a", float("nan")), ("b", 1.0)]}, {"1": {"a": 1}}
    if rules.rules_for(parse_metric(name)).order != "list":
        with pytest.raises(InputError, match="NaN or infinite"):
            score_trec(run, qrels, [name], convention)
    elif convention == "house":
        assert score_trec(run, qrels, [name])["mean"][name] is None
