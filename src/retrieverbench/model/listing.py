"""A list that was returned for one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq, ge, gt


@dataclass(slots=True)
class Listing:
    """A list of ids with their scores, best first, and what is unusual about it.

    `finite` is False for a NaN or infinite score. `ordered` is False when a score is
    larger than the one before it. `repeated` counts ids after their first occurrence.
    `tied` is True when neighbouring scores are equal.

    >>> listing = Listing(["a", "b", "a"], [2.0, 1.0, 1.0])
    >>> listing.ordered, listing.repeated, listing.tied
    (True, 1, True)
    """

    ids: Sequence[str] = ()
    scores: Sequence[float] = ()
    finite: bool = field(default=True, init=False)
    ordered: bool = field(default=True, init=False)
    repeated: int = field(init=False)
    tied: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Look at the list: no other word of what it is like is taken."""
        self.repeated = len(self.ids) - len(set(self.ids))
        scores = list(self.scores)
        below = scores[1:]
        falling = all(map(gt, scores, below))  # strictly: no NaN inside, infinite at the ends
        if falling and all(map(math.isfinite, (*scores[:1], *scores[-1:]))):
            return
        self.finite = all(map(math.isfinite, scores))
        self.ordered = all(map(ge, scores, below))
        self.tied = any(map(eq, scores, below))

    @property
    def hits(self) -> list[tuple[str, float]]:
        """Each id with its score."""
        return list(zip(self.ids, self.scores, strict=True))
