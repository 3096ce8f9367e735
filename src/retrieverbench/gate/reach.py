"""What a metric or counter can come to at all.

A rule that no outcome can break judges nothing, and one that no outcome can keep tells nothing
about the retriever: both are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from retrieverbench.errors import plural
from retrieverbench.metrics import COUNTERS
from retrieverbench.model import GoldenRecord, Rule

MIN_SLICE = 5
"""A slice of fewer cases cannot carry a rule."""
GUARD = 1e-9
"""Comparisons of points favour passing by this much, and round nothing."""

OF_CASES = frozenset(
    {
        "errors",
        "missing",
        "no_relevant",
        "unanswerable",
        "needs_review",
        "duplicate_cases",
        "out_of_order",
        "ties",
        "ties_at_cut",
        "forbidden_first",
    }
)
"""Counters of cases: at most one for each case that was asked."""
OF_DEPTH = frozenset({"depth_min", "depth_median", "depth_max"})
OF_HITS = frozenset({"duplicates", "forbidden"})
"""Counters of hits: at most one for each place of each answer."""
OF_FORBIDDEN = frozenset({"forbidden", "forbidden_rate", "forbidden_first"})
"""Of cases that forbid a chunk alone, unless the corpus has a superseded one."""
OF_UNANSWERABLE = frozenset(
    {"abstention_rate", "false_answer_rate", "abstention_accuracy", "abstention_auc"}
)
"""Shares of nothing where every case has an answer."""
OF_SET = frozenset({"cases", "no_relevant", "unanswerable", "needs_review"})
"""Counters that the golden set decides, whatever is answered."""
ENDLESS = frozenset({"cases", "unknown_cases"})
"""What the set or the file says; nothing of a run bounds it."""


def reach(
    name: str,
    golden: GoldenRecord | None = None,
    cases: float = math.inf,
    depth: float = math.inf,
) -> tuple[float, float]:
    """The smallest and the largest value that a canonical metric or counter can have.

    Without a golden set, its number of cases and the depth it is what every run is bound by.
    """
    base, _, cut = name.partition(":")[0].partition("@")
    if base == "robustness":
        return -1.0, 1.0
    if base == "worst_tenant":  # which is at most the mean over all cases
        return 0.0, _ceiling(name.partition(":")[2], golden)
    if base not in COUNTERS:
        return 0.0, _ceiling(name, golden)
    decided = getattr(golden, base) if golden is not None and base in OF_SET else None
    if decided is not None:
        return float(decided), float(decided)
    return 0.0, _most(base, float(cut) if cut else depth, golden, cases, depth)


def _most(base: str, cut: float, golden: GoldenRecord | None, cases: float, depth: float) -> float:
    """The largest value of a counter."""
    if base in ENDLESS:
        return math.inf
    if base in OF_DEPTH:
        return depth
    if base in OF_FORBIDDEN:
        cases = _forbidding(golden, cases)
    if base in OF_CASES:
        return cases
    if base in OF_HITS:
        return cases * cut
    if base == "forbidden_rate" and golden is not None:
        return cases / golden.cases
    return 1.0


def undefined(name: str, golden: GoldenRecord) -> str | None:
    """Why a metric or counter has no value, whatever is answered; None if it can have one."""
    answerable = golden.cases - golden.unanswerable - (golden.no_relevant or 0)
    base = name.partition(":")[0].partition("@")[0]
    if base in OF_UNANSWERABLE and not golden.unanswerable:
        return "no case is unanswerable"
    if base not in COUNTERS and answerable <= 0:
        return "no case has a relevant chunk"
    return None


def limit_fault(rule: Rule, low: float, high: float) -> str | None:
    """Why no outcome from `low` to `high` can break the rule's limit, or keep it; else None."""
    limit, subject = rule.value, rule.metric or rule.counter
    if limit is None:
        return None
    if rule.kind == "minimum":
        vain, hopeless = limit <= low + GUARD, limit > high + GUARD
    else:
        vain, hopeless = limit >= high - GUARD, limit < low - GUARD
    if not vain and not hopeless:
        return None
    if low == high:
        return (
            f"value: {limit:g} judges no answer: {subject} is always {low:g} here, by the golden "
            "set and its corpus alone; remove the rule, or change what they hold"
        )
    side = f"above {high:g}" if limit > low + GUARD else f"below {low:g}"
    remedy = "write a limit "
    remedy += f"above {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
    if hopeless:
        return f"value: {limit:g} cannot be met: {subject} is never {side} here; {remedy}"
    shown = ", or only show it by `metrics`" if rule.kind != "counter" else ", or remove the rule"
    return f"value: {limit:g} cannot fail: {subject} is never {side} here; {remedy}{shown}"


def slice_fault(field: str, value: str, cases: int, known: Iterable[str]) -> str | None:
    """Why a slice of so many cases cannot carry a rule; None if it can."""
    if not cases:
        return f"slice {field}={value} has no cases; known: {', '.join(known) or 'none'}"
    if cases < MIN_SLICE:
        return f"slice {field}={value} has {plural(cases, 'case')}; a rule needs {MIN_SLICE}"
    return None


def loss_fault(rule: Rule, then: float, low: float, high: float, *, lower: bool) -> str | None:
    """Why nothing can be lost that the rule does not tolerate; None if something can.

    `then` is the baseline's value, `lower` whether smaller values are better.
    """
    tolerance = rule.tolerance or 0.0
    left = high - then if lower else then - low
    if tolerance < left - GUARD:
        return None
    worst = high if lower else low
    remedy = f"tolerate less than {left:.6g}, or remove" if left > GUARD else "remove"
    return (
        f"tolerance {tolerance:g} cannot be exceeded: {rule.metric} is {then:.6g} in the baseline "
        f"and never worse than {worst:g}; {remedy} the rule for this target"
    )


def _forbidding(golden: GoldenRecord | None, cases: float) -> float:
    """In how many cases a forbidden chunk can come: in all, if the corpus has superseded ones."""
    if golden is None or golden.superseded or golden.forbidding is None:
        return cases
    return min(cases, golden.forbidding)


def _ceiling(name: str, golden: GoldenRecord | None) -> float:
    """The highest mean that the set allows, whether or not the name tells the set's level."""
    if golden is None:
        return 1.0
    leveled = f"{name}-l{golden.relevance_level}"
    return golden.ceilings.get(name, golden.ceilings.get(leveled, 1.0))
