"""Our metrics against ir_measures and pytrec_eval on random runs.

The runs hold what systems disagree on: ids that sort differently by bytes and by number,
equal and negative scores, scores that are equal as float32 only, empty lists, judged 0 and
unjudged chunks, queries without a relevant chunk, queries missing from the run.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import ir_measures
import pytest
import pytrec_eval

from retrieverbench.metrics import score_trec

Run = dict[str, list[tuple[str, float]]]
Qrels = dict[str, dict[str, int]]
SEEDS = range(20)
CUTS = (1, 3, 10)


def random_run(seed: int) -> tuple[Run, Qrels]:
    chance = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for query in map(str, range(30)):
        names = [f"d{n}" for n in range(120)] + ["D1", "é", "ü10", "z#1"]
        judged = chance.sample(names, 12)
        qrels[query] = {name: chance.choice([0, 0, 1, 1, 2, 3]) for name in judged}
        returned = chance.sample(names, chance.choice([0, 1, 5, 40]))
        grid = chance.choice([0.25, 1e-9, 1e-3])
        scores = sorted((chance.randrange(-20, 20) * grid for _ in returned), reverse=True)
        if chance.random() < 0.95:
            run[query] = list(zip(returned, scores, strict=True))
    return run, qrels


def per_query(run: Run, qrels: Qrels, name: str, convention: str) -> Mapping[str, float | None]:
    scores = score_trec(run, qrels, [name], convention)
    return scores["per_query"][scores["asked"][name]]


def agree(ours: Mapping[str, float | None], theirs: Mapping[str, float]) -> None:
    """Equal where they have a value; where they have none, ours is none or 0."""
    for query, value in ours.items():
        if query in theirs:
            assert value is not None
            assert abs(value - theirs[query]) <= 1e-9, query
        else:
            assert not value, query


MEASURES: dict[str, Any] = {
    **{f"precision@{k}": ir_measures.P @ k for k in CUTS},
    **{f"precision@{k}-l2": ir_measures.P(rel=2) @ k for k in CUTS},
    **{f"recall@{k}": ir_measures.R @ k for k in CUTS},
    **{f"hit@{k}": ir_measures.Success @ k for k in CUTS},
    **{f"ndcg_lin@{k}": ir_measures.nDCG @ k for k in CUTS},
    **{f"ap@{k}": ir_measures.AP @ k for k in CUTS},
    **{f"mrr@{k}": ir_measures.RR @ k for k in CUTS},
    "ndcg_lin": ir_measures.nDCG,
    "ap": ir_measures.AP,
    "ap-l2": ir_measures.AP(rel=2),
    "mrr": ir_measures.RR,
    "mrr-l3": ir_measures.RR(rel=3),
    "rprec": ir_measures.Rprec,
}


@pytest.mark.parametrize("seed", SEEDS)
def test_ir_measures(seed: int) -> None:
    run, qrels = random_run(seed)
    theirs: dict[Any, dict[str, float]] = {measure: {} for measure in MEASURES.values()}
    scored = {query: dict(hits) for query, hits in run.items()}
    for row in ir_measures.iter_calc(list(MEASURES.values()), qrels, scored):
        theirs[row.measure][row.query_id] = row.value
    for name, measure in MEASURES.items():
        assert theirs[measure], name
        agree(per_query(run, qrels, name, "ir_measures"), theirs[measure])


PYTREC = {
    **{f"precision@{k}": f"P.{k}" for k in CUTS},
    **{f"recall@{k}": f"recall.{k}" for k in CUTS},
    **{f"hit@{k}": f"success.{k}" for k in CUTS},
    **{f"ndcg_lin@{k}": f"ndcg_cut.{k}" for k in CUTS},
    **{f"ap@{k}": f"map_cut.{k}" for k in CUTS},
    "ndcg_lin": "ndcg",
    "ap": "map",
    "mrr": "recip_rank",
    "rprec": "Rprec",
}


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_pytrec_eval(seed: int, level: int) -> None:
    run, qrels = random_run(seed)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC.values()), relevance_level=level)
    theirs = evaluator.evaluate({query: dict(hits) for query, hits in run.items()})
    assert theirs
    for name, measure in PYTREC.items():
        key = measure.replace(".", "_")
        by_query = {query: values[key] for query, values in theirs.items()}
        at_level = name if level == 1 else f"{name}-l{level}"
        agree(per_query(run, qrels, at_level, "pytrec_eval"), by_query)


def test_the_house_agrees_where_nothing_is_left_to_convention() -> None:
    """Scores that fall strictly, a relevant chunk in every query, every query answered."""
    chance = random.Random(5)
    names = [f"d{n}" for n in range(60)]
    run: Run = {}
    qrels: Qrels = {}
    for query in map(str, range(50)):
        returned = chance.sample(names, 30)
        run[query] = [(name, 1.0 - rank / 64) for rank, name in enumerate(returned)]
        qrels[query] = {name: chance.randint(0, 3) for name in chance.sample(names, 9)}
        qrels[query][returned[0]] = 1
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC.values()))
    theirs = evaluator.evaluate({query: dict(hits) for query, hits in run.items()})
    for name, measure in PYTREC.items():
        ours = per_query(run, qrels, name, "house")
        key = measure.replace(".", "_")
        agree(ours, {query: values[key] for query, values in theirs.items()})
        assert all(value is not None for value in ours.values())
