"""The cases that a reader of a failed rule wants to look at first."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from retrieverbench.gate.against import counts
from retrieverbench.gate.subjects import full_name, is_lower_better
from retrieverbench.model import Baseline, Scores

CASES = 5
"""How many are named; the artifact holds all."""


def worst(name: str, scores: Scores, cases: Collection[str] | None) -> tuple[str, ...]:
    """One line with the cases that a canonical metric is worst for; () where it has no cases.

    `cases` are those of a slice, None for all.
    """
    values = _values(name, scores, cases)
    sign = -1.0 if is_lower_better(name) else 1.0
    order = sorted(values, key=lambda case: (sign * values[case], case))
    return _line("worst", [f"{case!r} {values[case]:.4g}" for case in order])


def fallen(
    name: str, scores: Scores, baseline: Baseline, cases: Collection[str] | None
) -> tuple[str, ...]:
    """One line with the cases that lost most against the baseline; () where none lost."""
    full = full_name(name, scores)
    sign = -1.0 if is_lower_better(name) else 1.0
    values = _values(name, scores, cases)
    losses: dict[str, tuple[float, float]] = {}
    for case, now in values.items():
        then = baseline.cases[case].values.get(full) if case in baseline.cases else None
        if then is not None and sign * (then - now) > 0:
            losses[case] = then, now
    order = sorted(losses, key=lambda case: (-abs(losses[case][0] - losses[case][1]), case))
    return _line("lost most", [f"{c!r} {losses[c][1]:.4g} (was {losses[c][0]:.4g})" for c in order])


def _values(name: str, scores: Scores, cases: Collection[str] | None) -> Mapping[str, float]:
    """Each case's value; a failed one counts as 0, as in the mean."""
    found = scores.cases.get(full_name(name, scores), {})
    return {
        case: value.value or 0.0
        for case, value in found.items()
        if (cases is None or case in cases) and counts(value)
    }


def _line(words: str, told: list[str]) -> tuple[str, ...]:
    more = f" and {len(told) - CASES} more" if len(told) > CASES else ""
    return (f"{words}: {', '.join(told[:CASES])}{more}",) if told else ()
