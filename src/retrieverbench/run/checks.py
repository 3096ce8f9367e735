"""Whether an answer keeps the adapter's promise; the same checks for every adapter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrieverbench.errors import AdapterError, Code
from retrieverbench.model import Hit, Query, Response


def check_response(response: object, query: Query) -> list[Hit]:
    """The hits, if the answer is one the protocol allows.

    Raises AdapterError (`bad_answer`, `partial`) otherwise: not a Response, more than k
    hits, a uid that is not text, a score that is not a finite number. Duplicates and
    scores out of order are counted by the metrics; foreign uids are the ledger's matter.
    """
    if not isinstance(response, Response):
        raise AdapterError(f"search returned {type(response).__name__}, not a Response")
    hits: Sequence[object] = response.hits
    if len(hits) > query.k:
        raise AdapterError(f"search returned {len(hits)} hits for k = {query.k}")
    for rank, hit in enumerate(hits, start=1):
        fault = _hit_fault(hit)
        if fault is not None:
            raise AdapterError(f"hit {rank}: {fault}")
    if response.partial:
        raise AdapterError("the backend says that its answer is incomplete", code=Code.PARTIAL)
    return response.hits


def _hit_fault(hit: object) -> str | None:
    if not isinstance(hit, Hit):
        return f"is {type(hit).__name__}, not a Hit"
    uid: object = hit.uid
    score: object = hit.score
    if not isinstance(uid, str) or not uid:
        return f"uid {uid!r:.80} is not text"
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return f"score {score!r:.80} is not a number"
    if not math.isfinite(score):
        return f"score is {score}"
    return None
