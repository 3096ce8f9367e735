"""Ranked lists fused where the server does not do it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retrieverbench.model import Hit


def reciprocal_rank_fusion(legs: Iterable[Sequence[Hit]], constant: int, k: int) -> list[Hit]:
    """The best k hits by the sum over the legs of 1 / (constant + rank), rank from 1.

    Ties by uid. Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet
    and individual rank learning methods", SIGIR 2009. The hits themselves are reused.
    """
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for leg in legs:
        for rank, hit in enumerate(leg, start=1):
            scores[hit.uid] = scores.get(hit.uid, 0.0) + 1 / (constant + rank)
            hits[hit.uid] = hit
    best = sorted(scores, key=lambda uid: (-scores[uid], uid))[:k]
    for uid in best:
        hits[uid].score = scores[uid]
    return [hits[uid] for uid in best]
