"""Every metric of every question: which have a value, and why the others have none."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retrieverbench.errors import InputError
from retrieverbench.metrics.conventions import Convention, Rules
from retrieverbench.metrics.declarations import Metric
from retrieverbench.metrics.lists import Hits, arrange, read_list
from retrieverbench.metrics.percase import ANY_GAIN, FUNCTIONS, UNCUT, Function, see
from retrieverbench.model import Listing

FAILED = ("missing", "error")
_INT = frozenset({int})


class Question(NamedTuple):
    """What is judged of one question and what came back for it.

    `grades` is the graded view; `listed`, a part of it, the explicit list of relevant ids,
    None if there is none. `answer` is None when nothing came back. `reason` says why there
    is no value although there is an answer: `unanswerable`, or `error:<code>`. `places` are
    the `plain_places` of the answer, if they are at hand and there is no such reason.
    """

    id: str
    answer: Hits | Listing | None
    grades: Mapping[str, float]
    places: dict[str, int] | None = None
    listed: Collection[str] | None = None
    reason: str | None = None


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
    """The metrics that read lists and judgements in one way.

    `valued` are the questions that have a value; beside each function stand their numbers.
    """

    rules: Rules
    level: float
    by_level: bool
    metrics: list[Metric] = field(default_factory=list)
    functions: list[tuple[list[float], Function, int]] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    valued: list[str] = field(default_factory=list)

    def add(self, metric: Metric) -> None:
        cut = UNCUT if metric.k is None else metric.k
        self.metrics.append(metric)
        self.functions.append(([], FUNCTIONS[metric.base], cut))

    def values(self) -> Iterator[Values]:
        for metric, (numbers, _, _) in zip(self.metrics, self.functions, strict=True):
            digits = self.rules.digits
            shown = numbers if digits is None else [_rounded(number, digits) for number in numbers]
            by_question = dict(zip(self.valued, shown, strict=True))
            yield Values(metric, self.rules.mean_digits, by_question, self.reasons)


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
    by_metric = {values.metric: values for group in groups.values() for values in group.values()}
    return [by_metric[metric] for metric in metrics]


def _evaluate(question: Question, group: _Group) -> None:
    rules = group.rules
    grades, ideal = _read_grades(question, rules)
    listed = None if group.by_level else question.listed
    if not rules.grades_below_level:
        kept = [c for c in grades if grades[c] >= group.level] if listed is None else listed
        grades = {chunk: grades[chunk] for chunk in kept}
        ideal = sorted(grades.values(), reverse=True)
    relevant = bool(listed) if listed is not None else bool(ideal) and ideal[0] >= group.level
    answer, places = question.answer, question.places
    if answer is None or not (relevant and places):
        reason = _without_value(question, rules, relevant=relevant)
        if reason == "zero":
            group.valued.append(question.id)
            for numbers, _, _ in group.functions:
                numbers.append(0.0)
            return
        if reason is not None or answer is None:
            group.reasons[question.id] = reason or "missing"
            return
    as_listed = rules.order == "list" and not rules.blanks_in_ids_stop
    ids = places if places and as_listed else arrange(read_list(answer), rules)
    repeats = rules.repeats == "counted"
    case = see(ids, grades, listed, level=group.level, repeats=repeats, ideal=ideal)
    group.valued.append(question.id)
    for numbers, function, k in group.functions:
        numbers.append(function(case, k, rules))


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
    if question.answer is None or (rules.empty_is_missing and not read_list(question.answer).ids):
        if rules.missing == "error":
            raise InputError(
                f"query {question.id!r:.80} is judged and missing from the run; "
                "its system stops here"
            )
        return {"count": "missing", "leave_out": "left_out", "zero": "zero"}[rules.missing]
    return "zero" if rule == "zero" and not question.grades else None


def _read_grades(question: Question, rules: Rules) -> tuple[Mapping[str, float], list[float]]:
    """The grades as a convention reads them, and the same numbers in descending order."""
    grades = question.grades
    unusual = rules.highest_grade is not None or rules.numeric_queries_only
    if not unusual and _INT.issuperset(map(type, grades.values())):
        ideal = sorted(grades.values(), reverse=True)
        if not ideal or ideal[-1] >= 0:
            return grades, ideal
    grades = _unusual_grades(question, rules)
    return grades, sorted(grades.values(), reverse=True)


def _unusual_grades(question: Question, rules: Rules) -> dict[str, float]:
    """What a convention makes of negative, fractional and too large grades."""
    where = f"query {question.id!r:.80}: grade of"
    read: dict[str, float] = {}
    for chunk, grade in question.grades.items():
        if rules.fractional == "refuse" and type(grade) is not int:
            raise InputError(f"{where} {chunk!r:.80} is {grade!r:.80}, not a whole number")
        if rules.negative == "refuse" and grade < 0:
            raise InputError(f"{where} {chunk!r:.80} is {grade}; grades are 0 or more")
        if rules.highest_grade is not None and grade > rules.highest_grade:
            raise InputError(f"{where} {chunk!r:.80} is {grade}, above {rules.highest_grade}")
        whole = int(grade) if rules.fractional == "truncate" else grade
        if whole >= 0 or rules.negative != "unjudged":
            read[chunk] = whole
    if rules.all_negative_stops and question.grades and not read:
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
