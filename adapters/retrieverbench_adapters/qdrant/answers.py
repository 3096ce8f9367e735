"""The points of an answer as hits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit
from retrieverbench.remote import NAME_IT, ties_by_uid
from retrieverbench_adapters.qdrant.fields import Fields, label_of, text_of, uid_of


def to_hits(
    points: Sequence[Any], fields: Fields, want: frozenset[str], *, negated: bool = False
) -> list[Hit]:
    """Best first, equal scores by uid. `negated`: the score is a distance.

    Raises AdapterError for a point without a uid, for a score that is no number, and for one
    above the score before it.
    """
    return ties_by_uid(_hit(point, fields, want, negated=negated) for point in points)


def _hit(point: Any, fields: Fields, want: frozenset[str], *, negated: bool) -> Hit:
    payload = point.payload or {}
    uid = uid_of(point.id, payload, fields)
    score = getattr(point, "score", 1.0)
    if uid is None:
        told = f"qdrant: attach.id: point {point.id} has no text or number in {fields.uid!r}"
        raise AdapterError(told, remedy=NAME_IT)
    if not isfinite(score):
        raise AdapterError(f"qdrant: point {point.id}: uid {uid!r:.80}, score {score}")
    text = text_of(payload, fields) if "text" in want else None
    return Hit(uid, -score if negated else score, label_of(payload, fields), text)
