"""Every metric of every question: which have a value, and why the others have none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Convention, Rules
from retrieverbench.metrics.declarations import METRICS, Metric
from retrieverbench.metrics.lists import Hits, arrange
from retrieverbench.metrics.percase import FUNCTIONS, UNCUT, see

FAILED = ("missing", "error")


@dataclass(frozen=True, slots=True)
class Question:
    """What is judged of one question and what came back for it.

    `listed` is the explicit list of relevant ids, None if there is none; `grades` the
    graded view. `hits` is None when there is no answer. `reason` says why there can be no
    value whatever the metric: `unanswerable`, or `error:<code>`.
    """

    id: str
    hits: Hits | None
    grades: Mapping[str, float]
    listed: Collection[str] | None = None
    reason: str | None = None


@dataclass(slots=True)
class Values:
    """One metric over all questions: a number, or the reason why there is none."""

    metric: Metric
    rules: Rules
    numbers: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def evaluate(
    questions: Sequence[Question],
    metrics: Sequence[Metric],
    convention: Convention,
    *,
    level: int = 1,
) -> list[Values]:
    """Compute each metric for each question. `level` is that of metrics that name none.

    Raises InputError where the convention's system would stop.
    """
    groups: dict[tuple[Rules, int | None], list[Values]] = defaultdict(list)
    for metric in metrics:
        rules = convention.rules_for(metric)
        groups[rules, metric.level].append(Values(metric, rules))
    for (rules, named_level), group in groups.items():
        try:
            _evaluate_group(questions, group, rules, named_level, level)
        except InputError as stop:
            raise InputError(f"convention {convention.name}: {stop}") from stop
    by_metric = {values.metric: values for group in groups.values() for values in group}
    return [by_metric[metric] for metric in metrics]


def _evaluate_group(
    questions: Iterable[Question],
    group: Sequence[Values],
    rules: Rules,
    named_level: int | None,
    default_level: int,
) -> None:
    """Fill in all metrics that read the lists and judgements in one way."""
    functions = [
        (v.numbers, FUNCTIONS[v.metric.base], UNCUT if v.metric.k is None else v.metric.k)
        for v in group
    ]
    reasons: dict[str, str] = {}
    repeats = rules.repeats == "counted"
    for question in questions:
        grades = _readable_grades(question, rules)
        if named_level is None and question.listed is not None:
            relevant = question.listed
        else:
            relevant = _at_level(grades, named_level or default_level, rules)
        reason = question.reason or _without_value(question, relevant, rules)
        if reason == "zero":
            for numbers, _, _ in functions:
                numbers[question.id] = 0.0
            continue
        if reason is not None or question.hits is None:
            reasons[question.id] = reason or "missing"
            continue
        if not rules.grades_below_level:
            grades = {chunk: grades[chunk] for chunk in relevant}
        case = see(arrange(question.hits, rules), relevant, grades, repeats=repeats)
        for numbers, function, k in functions:
            numbers[question.id] = _rounded(function(case, k, rules), rules.digits)
    for values in group:
        values.reasons = reasons


def _without_value(question: Question, relevant: Collection[str], rules: Rules) -> str | None:
    """Why a question is not computed: a reason, `zero`, or None when it is."""
    rule = "compute"
    if not question.grades and not question.listed:
        rule, reason = rules.unjudged, "no_relevant"
    elif not relevant:
        rule, reason = rules.none_relevant, "no_relevant"
    if rule == "error":
        raise InputError(f"query {question.id!r:.80} has no relevant chunk; its system stops here")
    if rule == "leave_out":
        return reason
    if question.hits is None or (rules.empty_is_missing and not question.hits):
        if rules.missing == "error":
            raise InputError(
                f"query {question.id!r:.80} is judged and missing from the run; "
                "its system stops here"
            )
        return {"count": "missing", "leave_out": "left_out", "zero": "zero"}[rules.missing]
    return "zero" if rule == "zero" and not question.grades else None


def _readable_grades(question: Question, rules: Rules) -> Mapping[str, float]:
    """The grades as a convention reads negative, fractional and too large ones."""
    grades = question.grades
    if all(type(grade) is int and grade >= 0 for grade in grades.values()) and not (
        rules.highest_grade or rules.numeric_queries_only
    ):
        return grades
    where = f"query {question.id!r:.80}: grade of"
    read: dict[str, float] = {}
    for chunk, grade in grades.items():
        if rules.fractional == "refuse" and type(grade) is not int:
            raise InputError(f"{where} {chunk!r:.80} is {grade!r:.80}, not a whole number")
        if rules.negative == "refuse" and grade < 0:
            raise InputError(f"{where} {chunk!r:.80} is {grade}; grades are 0 or more")
        if rules.highest_grade is not None and grade > rules.highest_grade:
            raise InputError(f"{where} {chunk!r:.80} is {grade}, above {rules.highest_grade}")
        whole = int(grade) if rules.fractional == "truncate" else grade
        if whole >= 0 or rules.negative != "unjudged":
            read[chunk] = whole
    if rules.all_negative_stops and grades and not read:
        raise InputError(f"query {question.id!r:.80} has negative grades only")
    if rules.numeric_queries_only and not question.id.isdigit():
        raise InputError(f"query {question.id!r:.80} is not a number, which gdeval asks for")
    return read


def _at_level(grades: Mapping[str, float], level: int, rules: Rules) -> Collection[str]:
    if rules.relevance == "positive":
        return {chunk for chunk, grade in grades.items() if grade > 0}
    if rules.relevance == "one":
        level = 1
    return {chunk for chunk, grade in grades.items() if grade >= level}


def _rounded(value: float, digits: int | None) -> float:
    """Rounded half up to `digits`, as OpenSearch does."""
    if digits is None:
        return value
    shift = math.pow(10.0, digits)
    return int(value * shift + 0.5) / shift


def needs_grades(metric: Metric) -> bool:
    """Whether a metric can only be computed where grades are given."""
    return metric.level is not None and METRICS[metric.base].view == "binary"
