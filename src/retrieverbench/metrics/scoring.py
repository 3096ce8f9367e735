"""Scoring a run of a golden set: means, slices and counters, with what was left out."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.errors import InputError
from retrieverbench.metrics.aggregate import mean_of
from retrieverbench.metrics.conventions import Convention, find_convention
from retrieverbench.metrics.counters import Counters, count, over_tenants, robustness
from retrieverbench.metrics.declarations import METRICS, Metric, parse_metric
from retrieverbench.metrics.evaluate import FAILED, evaluate
from retrieverbench.metrics.rows import Row, join
from retrieverbench.metrics.ties import tie_ranges
from retrieverbench.model import CaseValue, GoldenCase, GoldenSet, Mean, Run, Scores, Slice

SLICES = ("tenant", "category", "kind", "lang", "source", "variant")
Cases = Mapping[str, Mapping[str, CaseValue]]


def score_run(
    run: Run,
    golden: GoldenSet,
    metrics: Sequence[str],
    *,
    convention: str = "house",
    visible: Mapping[str, int] | None = None,
    superseded: Collection[str] = (),
    floor: float | None = None,
) -> Scores:
    """Score what one target returned for a golden set.

    `visible` is the number of chunks that each tenant may see, for underfill; `superseded`
    holds uids that count as forbidden in every case; `floor` is the score below which the
    target's results count as none. Scores must be larger for better results.

    Raises InputError for a metric or convention that is unknown, needs more results than
    the run's depth, or needs grades that the set does not have.
    """
    rules = find_convention(convention)
    rows = join(run, golden, superseded)
    asked = {name: _adopt(parse_metric(name), rules, golden, run.depth) for name in metrics}
    wanted = list(dict.fromkeys(asked.values()))
    cases = _case_values(rows, wanted, rules, golden.relevance_level)
    cuts = sorted({metric.k for metric in wanted if metric.k is not None} | {run.depth})

    def counters(part: Sequence[Row]) -> Counters:
        return count(part, cuts, visible=visible, floor=floor)

    slices = tuple(
        Slice(
            field,
            value,
            len(part),
            _means(cases, part),
            counters(part),
            tuple(row.case.id for row in part),
        )
        for field, value, part in _parts(rows)
    )
    known = {row.case.id for row in rows}
    unknown = sum(result.case_id not in known for result in run.results)
    total = counters(rows) | {"unknown_cases": unknown} | _derived(rows, cases, slices)
    return Scores(
        convention=convention,
        depth=run.depth,
        view=_view(rows, golden.relevance_level),
        means=_means(cases, rows),
        cases=cases,
        counters=total,
        slices=slices,
        notes=_notes(run, total, visible=visible, floor=floor),
        asked={
            plain: title
            for name, metric in asked.items()
            if (title := rules.title(metric)) != (plain := parse_metric(name).name)
        },
    )


def _adopt(metric: Metric, convention: Convention, golden: GoldenSet, depth: int) -> Metric:
    """The metric as the convention and the set make it: its level is part of its name."""
    if metric.k is not None and metric.k > depth:
        raise InputError(
            f"metric: {metric.name!r} needs {metric.k} results, the run asked for {depth}; "
            "raise the depth or lower the cut"
        )
    metric = convention.adopt(metric)
    if METRICS[metric.base].view == "graded":
        return metric
    judged = [case for case in golden.cases if not case.unanswerable]
    if metric.level is not None and not any(case.grades for case in judged):
        raise InputError(
            f"metric: {metric.name!r} needs grades, the set {golden.name!r:.80} has none; "
            "leave the level out"
        )
    by_grades = all(case.relevant is None for case in judged)
    if metric.level is None and golden.relevance_level != 1 and by_grades:
        return replace(metric, level=golden.relevance_level)
    return metric


def _case_values(
    rows: Sequence[Row], metrics: Sequence[Metric], convention: Convention, level: int
) -> dict[str, dict[str, CaseValue]]:
    questions = [row.question for row in rows]
    ranges = tie_ranges(questions, metrics, convention, level)
    values: dict[str, dict[str, CaseValue]] = {}
    for scored in evaluate(questions, metrics, convention, level=level):
        of_metric = ranges.get(scored.metric, {})
        values[convention.title(scored.metric)] = {
            question.id: CaseValue(
                scored.numbers.get(question.id),
                scored.reasons.get(question.id),
                of_metric.get(question.id),
            )
            for question in questions
        }
    return values


def _means(cases: Cases, rows: Sequence[Row]) -> dict[str, Mean]:
    return {name: _mean([values[row.case.id] for row in rows]) for name, values in cases.items()}


def _mean(values: Sequence[CaseValue]) -> Mean:
    """The macro mean, and its range over the orders of equal scores where there are any."""
    answered = [value for value in values if value.value is not None]
    failed = sum((value.reason or "").startswith(FAILED) for value in values)
    mean = mean_of([value.value for value in answered if value.value is not None], failed)
    if all(value.tie_range is None for value in answered):
        return mean
    low, high = (
        math.fsum(v.tie_range[end] if v.tie_range else v.value or 0.0 for v in answered) / mean.n
        for end in (0, 1)
    )
    return replace(mean, tie_range=(low, high))


def parts_of(cases: Sequence[GoldenCase]) -> Iterator[tuple[str, str, list[int]]]:
    """Every slice that holds a case: field, value, and the places of its cases."""
    for field in SLICES:
        parts: dict[str, list[int]] = {}
        for place, case in enumerate(cases):
            value = getattr(case, field)
            if value is not None:
                word = re.split("[-:]", value)[0] if field == "source" else str(value)
                parts.setdefault(word, []).append(place)
        for word in sorted(parts):
            yield field, word, parts[word]
    originals = [place for place, case in enumerate(cases) if case.parent is None]
    settled = [place for place, case in enumerate(cases) if not case.needs_review]
    for field, part in (("derived", originals), ("needs_review", settled)):
        if 0 < len(part) < len(cases):
            yield field, "no", part


def _parts(rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    for field, value, places in parts_of([row.case for row in rows]):
        yield field, value, [rows[place] for place in places]


def _derived(rows: Sequence[Row], cases: Cases, slices: Sequence[Slice]) -> Counters:
    """Figures made of means: over tenants, and over derived cases where there are any."""
    tenants = {
        part.value: {name: mean.value for name, mean in part.means.items()}
        for part in slices
        if part.field == "tenant"
    }
    figures = over_tenants(tenants)
    if any(row.case.parent for row in rows):
        for name, values in cases.items():
            numbers = {case: v.value for case, v in values.items() if v.value is not None}
            figures[f"robustness:{name}"] = robustness(rows, numbers)
    return figures


def _view(rows: Sequence[Row], level: int) -> str:
    """Which judgements made chunks relevant: `list`, `level n`, or both."""
    judged = [row.listed is not None for row in rows if not row.case.unanswerable]
    words = ["list"] * any(judged) + [f"level {level}"] * (not all(judged))
    return ", ".join(words) or "list"


def _notes(
    run: Run, counters: Counters, *, visible: Mapping[str, int] | None, floor: float | None
) -> tuple[str, ...]:
    notes = []
    if run.target.mode == "dense" and floor is None and counters["abstention_rate"] == 0:
        notes.append("no score floor: a dense search always returns something")
    if visible is None:
        notes.append("underfill is computed against k: how much each tenant may see is unknown")
    if run.target.mode == "lexical":
        notes.append("underfill is expected: a lexical search returns only chunks that match")
    return tuple(notes)
