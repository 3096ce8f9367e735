"""The baseline's side of a comparison, recomputed from its per-case values."""

from __future__ import annotations

import math
from collections.abc import Collection

from retrieverbench.errors import plural
from retrieverbench.gate.subjects import counter_value, full_name, is_counter
from retrieverbench.model import Baseline, CaseValue, TargetResult

_FAILED = ("missing", "error")


def baseline_mean(
    name: str, baseline: Baseline, result: TargetResult, cases: Collection[str] | None
) -> float | str:
    """The mean of a canonical metric, or why it cannot be compared with the run's.

    `cases` are those of a slice, None for all. The sum is correctly rounded, so that equal
    values give an equal mean in whatever order they stand.
    """
    scores = result.scores
    assert scores is not None
    if is_counter(name):
        return _counter(name, baseline, result, is_part=cases is not None)
    full = full_name(name, scores)
    wanted = baseline.cases.keys() if cases is None else set(cases)
    if not wanted:
        return f"the artifact does not tell the cases of the slice; {name} was not compared"
    held = {
        case: value
        for case in wanted & baseline.cases.keys()
        if (value := baseline.cases[case].values.get(full)) is not None
    }
    if not held:
        return f"the baseline holds no {full}; accept a run that does"
    now = {case for case, value in scores.cases.get(full, {}).items() if counts(value)} & wanted
    if held.keys() != now:
        first = min(held.keys() ^ now)
        return (
            f"{full} is a mean over {plural(len(held), 'case')} in the baseline and {len(now)} in "
            f"this run (first that differs: {first!r}); accept a run of this set"
        )
    return math.fsum(held.values()) / len(held)


def counts(value: CaseValue) -> bool:
    """Whether a case is in the mean: with a value, or failed and so counted as 0."""
    return value.value is not None or (value.reason or "").startswith(_FAILED)


def _counter(name: str, baseline: Baseline, result: TargetResult, *, is_part: bool) -> float | str:
    if is_part:
        return f"a baseline keeps {name} for the whole set only; remove the slice"
    scores = result.scores
    assert scores is not None
    try:
        value = counter_value(name, scores, baseline.counters)
    except KeyError:
        value = None
    return f"the baseline holds no {name}; accept a run that does" if value is None else value
