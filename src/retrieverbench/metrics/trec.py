"""Scoring a run against judgements, both as plain mappings, without any golden set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

from retrieverbench.errors import InputError
from retrieverbench.metrics.aggregate import plain_mean
from retrieverbench.metrics.conventions import Convention, find_convention
from retrieverbench.metrics.declarations import Metric, parse_metric
from retrieverbench.metrics.evaluate import Question, Values, evaluate
from retrieverbench.metrics.lists import Hits, plain_places, read_list
from retrieverbench.model import Listing


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
    run: Mapping[str, Hits | Listing],
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
    counters = dict.fromkeys(("errors", "missing", "duplicates", "out_of_order", "ties"), 0)
    counters["unknown_cases"] = len(run.keys() - qrels.keys())
    questions = _questions(run, qrels, counters, house=convention == "house")
    evaluated = evaluate(questions, wanted, rules)
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
    for values in evaluated:
        _add(scores, rules.title(values.metric), values)
    return scores


def _questions(
    run: Mapping[str, Hits | Listing],
    qrels: Mapping[str, Mapping[str, float]],
    counters: dict[str, int],
    *,
    house: bool,
) -> Iterator[Question]:
    """The judged queries with their lists; in the house a list with a bad score is an error."""
    for query, grades in qrels.items():
        returned = run.get(query)
        if returned is None:
            counters["missing"] += 1
            yield Question(query, None, grades)
            continue
        places = plain_places(returned)
        if places is not None:
            yield Question(query, returned, grades, places)
            continue
        answer = read_list(returned)
        counters["duplicates"] += answer.repeated
        counters["out_of_order"] += not answer.ordered
        counters["ties"] += answer.tied
        counters["errors"] += not answer.finite
        reason = "error:bad_score" if house and not answer.finite else None
        yield Question(query, answer, grades, reason=reason)


def _check_queries(
    run: Mapping[str, Hits | Listing],
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


def _add(scores: TrecScores, title: str, values: Values) -> None:
    mean, digits = plain_mean(values.numbers.values(), values.failed), values.mean_digits
    scores["mean"][title] = mean if mean is None or digits is None else round(mean, digits)
    scores["n"][title] = len(values.numbers) + values.failed
    scores["counted_as_zero"][title] = values.failed
    scores["per_query"][title] = values.numbers | dict.fromkeys(values.reasons)
    scores["reasons"][title] = values.reasons
