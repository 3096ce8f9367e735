"""Scoring a run against judgements, both as plain mappings, without any golden set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from retrieverbench.errors import InputError
from retrieverbench.metrics.aggregate import mean_of
from retrieverbench.metrics.conventions import Convention, find_convention
from retrieverbench.metrics.declarations import Metric, parse_metric
from retrieverbench.metrics.evaluate import Question, Values, evaluate
from retrieverbench.metrics.lists import CLEAN, Hits, check


class TrecScores(TypedDict):
    """Ready for JSON. Metric names are canonical, `asked` maps the given ones to them.

    `per_query` holds None where a query has no value; `reasons` says why. `n` queries are
    in each mean, of which `counted_as_zero` have no valid answer. `counters` count lists.
    """

    convention: str
    asked: dict[str, str]
    mean: dict[str, float | None]
    per_query: dict[str, dict[str, float | None]]
    reasons: dict[str, dict[str, str]]
    n: dict[str, int]
    counted_as_zero: dict[str, int]
    counters: dict[str, int]


def score_trec(
    run: Mapping[str, Hits],
    qrels: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str],
    convention: str = "house",
) -> TrecScores:
    """Score lists of (id, score), best first, against grades, both by query.

    >>> scores = score_trec({"q": [("a", 2.0), ("b", 1.0)]}, {"q": {"b": 1}}, ["MRR", "P@1"])
    >>> scores["mean"]
    {'mrr': 0.5, 'precision@1': 0.0}

    Raises InputError for an unknown metric or convention, for grades that the convention
    refuses, and wherever the named system stops instead of giving a number.
    """
    rules = find_convention(convention)
    asked = {name: rules.adopt(parse_metric(name)) for name in metrics}
    wanted = list(dict.fromkeys(asked.values()))
    _check_queries(run, qrels, wanted, rules)
    questions, counters = _questions(run, qrels, house=convention == "house")
    scores = TrecScores(
        convention=convention,
        asked={name: rules.title(metric) for name, metric in asked.items()},
        mean={},
        per_query={},
        reasons={},
        n={},
        counted_as_zero={},
        counters=counters,
    )
    for values in evaluate(questions, wanted, rules):
        _add(scores, rules.title(values.metric), values, questions)
    return scores


def _questions(
    run: Mapping[str, Hits], qrels: Mapping[str, Mapping[str, float]], *, house: bool
) -> tuple[list[Question], dict[str, int]]:
    """The judged queries with their lists; in the house a list with a bad score is an error."""
    counters = dict.fromkeys(("errors", "missing", "duplicates", "out_of_order", "ties"), 0)
    counters["unknown_cases"] = len(run.keys() - qrels.keys())
    questions = []
    for query, grades in qrels.items():
        hits, reason = run.get(query), None
        looked = CLEAN if hits is None else check(hits)
        counters["missing"] += hits is None
        counters["duplicates"] += looked.repeated
        counters["out_of_order"] += not looked.ordered
        counters["ties"] += looked.tied
        if not looked.finite:
            counters["errors"] += 1
            reason = "error:bad_score" if house else None
        questions.append(Question(query, hits, grades, reason=reason))
    return questions, counters


def _check_queries(
    run: Mapping[str, Hits],
    qrels: Mapping[str, Mapping[str, float]],
    metrics: Sequence[Metric],
    convention: Convention,
) -> None:
    for rules in {convention.rules_for(metric) for metric in metrics}:
        where = f"convention {convention.name}: run"
        if rules.empty_run_stops and not run:
            raise InputError(f"{where}: is empty; its system stops here")
        unknown = sorted(run.keys() - qrels.keys())
        if rules.unjudged_query_stops and unknown:
            raise InputError(f"{where}: query {unknown[0]!r:.80} is not judged; its system stops")


def _add(scores: TrecScores, title: str, values: Values, questions: Sequence[Question]) -> None:
    failed = sum(reason.startswith(("missing", "error")) for reason in values.reasons.values())
    mean = mean_of(values.numbers.values(), failed)
    digits = values.rules.mean_digits
    rounded = mean.value if mean.value is None or digits is None else round(mean.value, digits)
    scores["mean"][title] = rounded
    scores["n"][title] = mean.n
    scores["counted_as_zero"][title] = failed
    scores["per_query"][title] = {q.id: values.numbers.get(q.id) for q in questions}
    scores["reasons"][title] = values.reasons
