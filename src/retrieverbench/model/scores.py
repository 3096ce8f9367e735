"""Numbers from ids: per case and as means, with what was left out and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CaseValue:
    """A metric of one case: a number, or None with the reason why there is none.

    `reason` is `unanswerable`, `no_relevant`, `missing`, `error:<code>` or `undefined`.
    `tie_range` is the smallest and largest value over all orders of equal scores, None
    for a list without them.
    """

    value: float | None
    reason: str | None = None
    tie_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """A macro mean over cases, each case once.

    `n` cases are in the mean, of which `counted_as_zero` failed and count as 0; `answered`
    is the mean over the others. `value` is None when nothing valid was measured.
    `tie_range` is the mean at the worst and best order of equal scores, None without ties.
    """

    value: float | None
    n: int
    counted_as_zero: int = 0
    answered: float | None = None
    standard_error: float | None = None
    tie_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """The means of one part of the set, e.g. `tenant=acme`; `n` is its number of cases.

    `cases` are their ids, so that a baseline's mean can be taken over the same ones.
    `derived=no` and `needs_review=no` stand there only when some cases are otherwise.
    """

    field: str
    value: str
    n: int
    means: Mapping[str, Mean]
    counters: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """All metrics of one run under one convention.

    `means` and `cases` are keyed by canonical metric name (`ndcg@10`); `cases` then by
    case id. `counters` holds counts and shares by name (`errors`, `duplicates`,
    `underfill_rate@10`), None where a share is undefined. `view` says which judgements
    made chunks relevant: `list`, `level n`, or both. `asked` maps a metric's name without
    level and convention to its full one where they differ (`recall@5` → `recall@5-l2`).
    """

    convention: str
    depth: int
    view: str
    means: Mapping[str, Mean]
    cases: Mapping[str, Mapping[str, CaseValue]]
    counters: Mapping[str, float | None]
    slices: tuple[Slice, ...] = ()
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = dataclasses.field(default_factory=dict)
