"""The exact answer, found by the harness itself: cosine over the tenant's own vectors.

It shares no code with any adapter. Scores that float32 cannot tell apart are ties, and ties
count as a set: whichever of them is returned is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from retrieverbench.model import Chunk

RESOLUTION = 1e-6
"""Relative: cosines of 32 float32 numbers, added up in any order, agree to this."""


def cosines(own: Sequence[Chunk], vector: Sequence[float]) -> dict[str, float]:
    """Uid → cosine to the query, by exact summation in float64; 0 for a chunk without vector."""
    return {chunk.uid: _cosine(chunk.vector or (), vector) for chunk in own}


def recall(returned: Sequence[str], exact: Mapping[str, float], k: int) -> float:
    """The share of the k best own chunks that was returned; 1.0 where there are none to find.

    min(k, own) are wanted. Chunks as good as the last of them may stand for each other.
    """
    wanted = min(k, len(exact))
    if not wanted:
        return 1.0
    least = sorted(exact.values(), reverse=True)[wanted - 1]
    found = [exact[uid] for uid in set(returned[:k]) if uid in exact]
    better = sum(score > least + RESOLUTION for score in exact.values())
    good = sum(score > least + RESOLUTION for score in found)
    tied = sum(abs(score - least) <= RESOLUTION for score in found)
    return (good + min(tied, wanted - better)) / wanted


def close(one: float, other: float) -> bool:
    """Whether two scores are no further apart than float32 can tell."""
    return math.isclose(one, other, rel_tol=RESOLUTION, abs_tol=RESOLUTION)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if not one:
        return 0.0
    lengths = math.sqrt(math.fsum(x * x for x in one)) * math.sqrt(math.fsum(x * x for x in other))
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0
