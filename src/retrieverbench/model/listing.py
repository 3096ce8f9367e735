"""A list that was returned for one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq, ge


@dataclass(slots=True)
class Listing:
    """A list of ids with their scores, best first, and what is unusual about it.

    `finite` is False for a NaN or infinite score. `ordered` is False when a score is
    larger than the one before it. `tied` is True when neighbouring scores are equal.

    >>> listing = Listing(["a", "b", "a"], [2.0, 1.0, 1.0])
    >>> listing.ordered, listing.repeated, listing.tied
    (True, 1, True)
    """

    ids: Sequence[str] = ()
    scores: Sequence[float] = ()
    finite: bool = field(default=True, init=False)
    ordered: bool = field(default=True, init=False)
    tied: bool = field(default=False, init=False)
    _repeated: int | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look at the scores: no other word of what they are like is taken."""
        last = math.inf
        for score in self.scores:
            if score < last:  # never true of a NaN
                last = score
            else:
                break
        else:
            if last > -math.inf:
                return
        below = self.scores[1:]
        self.finite = all(map(math.isfinite, self.scores))
        self.ordered = all(map(ge, self.scores, below))
        self.tied = any(map(eq, self.scores, below))

    @property
    def repeated(self) -> int:
        """How many ids stand after their first occurrence, counted when first asked for."""
        if self._repeated is None:
            self._repeated = len(self.ids) - len(set(self.ids))
        return self._repeated

    @property
    def hits(self) -> list[tuple[str, float]]:
        """Each id with its score."""
        return list(zip(self.ids, self.scores, strict=True))
