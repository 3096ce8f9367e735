"""Counts and shares beside the means: what failed, what was odd, what was refused."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from retrieverbench.metrics.aggregate import plain_mean
from retrieverbench.metrics.percase import judged_share
from retrieverbench.metrics.rows import Row

Counters = dict[str, float | None]
AUC_LEAST = 5
"""Fewer answers of either kind leave `abstention_auc` undefined."""


def count(
    rows: Sequence[Row],
    cuts: Sequence[int],
    *,
    visible: Mapping[str, int] | None,
    floor: float | None,
) -> Counters:
    """Every counter over some rows; those with a cut once for each of `cuts`.

    `visible` is the number of chunks that each tenant may see, `floor` the target's score
    floor. A share of nothing is None.
    """
    answered = [row for row in rows if row.failure is None]
    counters = _cases(rows) | _lists(answered) | _abstention(answered, floor)
    for k in cuts:
        counters |= _at(answered, k, visible)
    return counters


def _cases(rows: Sequence[Row]) -> Counters:
    failures = [row.failure for row in rows if row.failure]
    codes = Counter(failure for failure in failures if failure.startswith("error"))
    counters: Counters = {
        "cases": len(rows),
        "errors": codes.total(),
        "missing": failures.count("missing"),
        "no_relevant": sum(not row.case.unanswerable and not row.relevant for row in rows),
        "unanswerable": sum(row.case.unanswerable for row in rows),
        "needs_review": sum(row.case.needs_review for row in rows),
    }
    return counters | {f"errors:{code.partition(':')[2]}": n for code, n in sorted(codes.items())}


def _lists(answered: Sequence[Row]) -> Counters:
    depths = sorted(len(row.answer.ids) for row in answered)
    middle = len(depths) // 2
    return {
        "duplicates": sum(row.answer.repeated for row in answered),
        "duplicate_cases": sum(row.answer.repeated > 0 for row in answered),
        "out_of_order": sum(not row.answer.ordered for row in answered),
        "ties": sum(row.answer.tied for row in answered),
        "forbidden_first": sum(map(_forbidden_first, answered)),
        "depth_min": depths[0] if depths else None,
        "depth_median": (depths[middle] + depths[~middle]) / 2 if depths else None,
        "depth_max": depths[-1] if depths else None,
    }


def _forbidden_first(row: Row) -> bool:
    """Whether a forbidden chunk stands above the first relevant one, or one is missing."""
    for chunk in row.answer.ids if row.relevant else ():
        if chunk in row.relevant:
            return False
        if chunk in row.forbidden:
            return True
    return False


def _at(answered: Sequence[Row], k: int, visible: Mapping[str, int] | None) -> Counters:
    forbidden = [sum(map(row.forbidden.__contains__, row.answer.ids[:k])) for row in answered]
    judged = [
        judged_share(row.answer.ids, row.grades.keys() | row.forbidden, k)
        for row in answered
        if not row.case.unanswerable
    ]
    short = []
    for row in answered:
        least = k if visible is None else min(k, visible.get(row.case.tenant.value, 0))
        short.append(float(len(set(row.answer.ids)) < least))
    return {
        f"ties_at_cut@{k}": sum(
            len(row.answer.scores) > k and row.answer.scores[k - 1] == row.answer.scores[k]
            for row in answered
        ),
        f"underfill_rate@{k}": plain_mean(short),
        f"judged@{k}": plain_mean([share for share in judged if share is not None]),
        f"forbidden@{k}": sum(forbidden),
        f"forbidden_rate@{k}": plain_mean([float(found > 0) for found in forbidden]),
    }


def _abstention(answered: Sequence[Row], floor: float | None) -> Counters:
    """How well a target keeps silent when there is no answer, and only then.

    It abstains when it returns nothing at or above its score floor.
    """
    silent: dict[bool, list[float]] = {True: [], False: []}
    tops: dict[bool, list[float]] = {True: [], False: []}
    for row in answered:
        top = max(row.answer.scores, default=-math.inf)
        abstained = not row.answer.ids or (floor is not None and top < floor)
        silent[row.case.unanswerable].append(float(abstained))
        tops[row.case.unanswerable].append(top)
    rate = plain_mean(silent[True])
    right = silent[True] + [1.0 - abstained for abstained in silent[False]]
    return {
        "abstention_rate": rate,
        "false_answer_rate": None if rate is None else 1.0 - rate,
        "false_abstention_rate": plain_mean(silent[False]),
        "abstention_accuracy": plain_mean(right) if silent[True] else None,
        "abstention_auc": _auc(tops[False], sorted(tops[True])),
    }


def _auc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float | None:
    """Probability that a top score exceeds a sorted other one; equal ones count a half."""
    if min(len(answerable), len(unanswerable)) < AUC_LEAST:
        return None
    wins = sum(
        bisect_left(unanswerable, top) + bisect_right(unanswerable, top) for top in answerable
    )
    return wins / (2 * len(answerable) * len(unanswerable))


def over_tenants(means: Mapping[str, Mapping[str, float | None]]) -> Counters:
    """The mean of the tenants' means and the smallest, by metric; `means` by tenant."""
    counters: Counters = {}
    for metric in next(iter(means.values()), {}):
        values = [value for tenant in means.values() if (value := tenant[metric]) is not None]
        counters[f"tenant_macro:{metric}"] = plain_mean(values)
        counters[f"worst_tenant:{metric}"] = min(values, default=None)
    return counters


def robustness(rows: Sequence[Row], values: Mapping[str, float]) -> float | None:
    """Mean over parents of (the mean of the variants - the parent's own value)."""
    pairs = sorted(
        (row.case.parent, values[row.case.id])
        for row in rows
        if row.case.parent in values and row.case.id in values and row.case.parent is not None
    )
    differences = [
        (plain_mean([value for _, value in variants]) or 0.0) - values[parent]
        for parent, variants in groupby(pairs, key=lambda pair: pair[0])
    ]
    return plain_mean(differences)
