"""Every metric of every question: which have a value, and why the others have none."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Convention, Rules
from retrieverbench.metrics.declarations import Metric
from retrieverbench.metrics.lists import arrange
from retrieverbench.metrics.percase import ANY_GAIN, FUNCTIONS, UNCUT, Function, see
from retrieverbench.model import Listing

FAILED = ("missing", "error")


class Question(NamedTuple):
    """What is judged of one question and what came back for it.

    `grades` is the graded view; `listed`, a part of it, the explicit list of relevant ids,
    None if there is none. `answer` is None when nothing came back. `reason` says why there
    is no value although there is an answer: `unanswerable`, or `error:<code>`. `places` are
    the `first_places` of the answer's ids, if at hand.
    """

    id: str
    answer: Listing | None
    grades: Mapping[str, float]
    listed: Collection[str] | None = None
    reason: str | None = None
    places: Mapping[str, int] | None = None


@dataclass(slots=True)
class Values:
    """One metric over all questions: a number, or the reason why there is none."""

    metric: Metric
    mean_digits: int | None
    numbers: dict[str, float]
    reasons: dict[str, str]

    @property
    def failed(self) -> int:
        """Questions that must be counted as 0 because no valid answer came."""
        return sum(reason.startswith(FAILED) for reason in self.reasons.values())


@dataclass(slots=True)
class _Group:
    """The metrics that read lists and judgements in one way."""

    rules: Rules
    level: float
    by_level: bool
    values: list[Values] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    functions: list[tuple[dict[str, float], Function, int]] = field(default_factory=list)

    def add(self, metric: Metric) -> None:
        values = Values(metric, self.rules.mean_digits, {}, self.reasons)
        self.values.append(values)
        cut = UNCUT if metric.k is None else metric.k
        self.functions.append((values.numbers, FUNCTIONS[metric.base], cut))


def evaluate(
    questions: Iterable[Question],
    metrics: Sequence[Metric],
    convention: Convention,
    *,
    level: int = 1,
) -> list[Values]:
    """Compute each metric for each question. `level` is that of metrics that name none.

    Questions are read once and not kept. Raises InputError where the convention's system
    would stop.
    """
    groups: dict[tuple[Rules, int | None], _Group] = {}
    for metric in metrics:
        rules = convention.rules_for(metric)
        key = rules, metric.level
        if key not in groups:
            least = {"level": metric.level or level, "one": 1, "positive": ANY_GAIN}[
                rules.relevance
            ]
            groups[key] = _Group(rules, least, metric.level is not None)
        groups[key].add(metric)
    try:
        for question in questions:
            for group in groups.values():
                _evaluate(question, group)
    except InputError as stop:
        raise InputError(f"convention {convention.name}: {stop}") from stop
    by_metric = {values.metric: values for group in groups.values() for values in group.values}
    return [by_metric[metric] for metric in metrics]


def _evaluate(question: Question, group: _Group) -> None:
    rules = group.rules
    grades = _readable_grades(question, rules)
    listed = None if group.by_level else question.listed
    relevant = (
        any(grade >= group.level for grade in grades.values()) if listed is None else bool(listed)
    )
    reason = _without_value(question, rules, relevant=relevant)
    if reason == "zero":
        for numbers, _, _ in group.functions:
            numbers[question.id] = 0.0
        return
    if reason is not None or question.answer is None:
        group.reasons[question.id] = reason or "missing"
        return
    if not rules.grades_below_level:
        kept = [c for c in grades if grades[c] >= group.level] if listed is None else listed
        grades = {chunk: grades[chunk] for chunk in kept}
    ids = arrange(question.answer, rules)
    case = see(
        ids,
        grades,
        listed,
        level=group.level,
        repeats=rules.repeats == "counted",
        places=question.places if ids is question.answer.ids else None,
    )
    query, digits = question.id, rules.digits
    for numbers, function, k in group.functions:
        value = function(case, k, rules)
        numbers[query] = value if digits is None else _rounded(value, digits)


def _without_value(question: Question, rules: Rules, *, relevant: bool) -> str | None:
    """Why a question is not computed: a reason, `zero`, or None when it is.

    `relevant` says whether it has a relevant chunk.
    """
    if question.reason == "unanswerable":
        return question.reason
    rule: str | None = None
    if not question.grades and not question.listed:
        rule = rules.unjudged
    elif not relevant:
        rule = rules.none_relevant
    if rule == "error":
        raise InputError(f"query {question.id!r:.80} has no relevant chunk; its system stops here")
    if rule == "leave_out":
        return "no_relevant"
    if question.reason is not None:
        return question.reason
    if question.answer is None or (rules.empty_is_missing and not question.answer.ids):
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
    plain = all(type(grade) is int and grade >= 0 for grade in grades.values())
    if plain and rules.highest_grade is None and not rules.numeric_queries_only:
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
        raise InputError(
            f"query {question.id!r:.80} is not a number, which gdeval asks for; "
            "nDCG_lin, which is what ir_measures calls nDCG, takes any"
        )
    return read


def _rounded(value: float, digits: int) -> float:
    """Rounded half up, as OpenSearch does."""
    shift = math.pow(10.0, digits)
    return int(value * shift + 0.5) / shift
