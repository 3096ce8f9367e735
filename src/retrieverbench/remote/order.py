"""The order of an answer: ties may be settled here, disorder is the backend's fault."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit


def ties_by_uid(hits: Iterable[Hit]) -> list[Hit]:
    """The hits as they came, those of equal score by uid.

    Raises AdapterError where a hit scores more than the one before it: sorting would hide that
    the backend's answer is not what it says, best first.
    """
    kept = list(hits)
    for rank, (one, other) in enumerate(pairwise(kept), start=2):
        if other.score > one.score:
            raise AdapterError(
                f"the backend's answer is not sorted: hit {rank} scores {other.score:g}, "
                f"the one before it {one.score:g}"
            )
    return sorted(kept, key=lambda hit: (-hit.score, hit.uid))
