"""What the order of equal scores could have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from retrieverbench.metrics.conventions import Convention
from retrieverbench.metrics.declarations import METRICS, Metric
from retrieverbench.metrics.evaluate import Question, evaluate
from retrieverbench.metrics.lists import read_list

Ranges = dict[Metric, dict[str, tuple[float, float]]]


def tie_ranges(
    questions: Sequence[Question],
    metrics: Sequence[Metric],
    convention: Convention,
    level: int,
) -> Ranges:
    """For each question with ties, the value of each metric at the worst and best order.

    Only where the convention keeps the returned order; empty otherwise.
    """
    tied = [q for q in questions if q.answer is not None and read_list(q.answer).tied]
    ranges: Ranges = {}
    for metric in metrics if tied else ():
        if convention.rules_for(metric).order != "list":
            continue
        worst, best = (
            evaluate(
                [_reordered(q, metric, level, best=best) for q in tied],
                [metric],
                convention,
                level=level,
            )[0].numbers
            for best in (False, True)
        )
        ranges[metric] = {query: (worst[query], best[query]) for query in worst}
    return ranges


def _reordered(question: Question, metric: Metric, level: int, *, best: bool) -> Question:
    """The question with every group of equal scores sorted by gain."""
    assert question.answer is not None
    gain = _gain(question, metric, level)
    answer = read_list(question.answer)
    ids: list[str] = []
    for _, group in groupby(answer.hits, key=lambda hit: hit[1]):
        ids += sorted((chunk for chunk, _ in group), key=gain, reverse=best)
    return question._replace(answer=replace(answer, ids=ids))


def _gain(question: Question, metric: Metric, level: int) -> Callable[[str], float]:
    if METRICS[metric.base].view == "graded":
        return lambda chunk: question.grades.get(chunk, 0)
    if question.listed is not None and metric.level is None:
        return question.listed.__contains__
    return lambda chunk: question.grades.get(chunk, 0) >= (metric.level or level)
