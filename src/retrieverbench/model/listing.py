"""A list that was returned for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Listing:
    """A list of (id, score), best first, and what is unusual about it.

    `finite` is False for a NaN or infinite score. `ordered` is False when a score is
    larger than the one before it. `repeated` counts ids after their first occurrence.
    `tied` is True when neighbouring scores are equal.
    """

    ids: Sequence[str] = ()
    scores: Sequence[float] = ()
    finite: bool = True
    ordered: bool = True
    repeated: int = 0
    tied: bool = False

    @property
    def hits(self) -> list[tuple[str, float]]:
        """Each id with its score."""
        return list(zip(self.ids, self.scores, strict=True))
