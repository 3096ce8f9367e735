"""Whether an answer keeps the adapter's promise; the same checks for every adapter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from retrieverbench.errors import AdapterError, Code
from retrieverbench.model import Hit, Query, Response
from retrieverbench.run.text import text_of


class BadAnswer(AdapterError):
    """An answer that the protocol does not allow.

    It is never scored, but what it shows of other tenants counts: `answer` is the object
    as it came, `uids` what can be read of it, best first.
    """

    def __init__(self, message: str, answer: object, *, code: Code | None = None) -> None:
        super().__init__(message, code=code)
        self.answer = answer
        self.uids = readable_uids(answer)


def check_response(response: object, query: Query) -> list[Hit]:
    """The hits, if the answer is one the protocol allows.

    Raises BadAnswer (`bad_answer`, `partial`) otherwise: not a Response, hits that are no
    list, more than k of them, a uid that is not text, a score that is not a finite number, a
    `server_ms`, `total` or `partial` that cannot be one, an object that raises when it is
    read. The hits are copies: nothing foreign is read again.
    Duplicates and scores out of order are counted by the metrics; foreign uids are the
    ledger's matter.
    """
    try:
        return _read(response, query.k)
    except BadAnswer:
        raise
    except BaseException as error:
        raise BadAnswer(
            f"the answer raised {type(error).__name__} when it was read: {text_of(error)}", response
        ) from error


def _read(response: object, k: int) -> list[Hit]:
    if not isinstance(response, Response):
        raise BadAnswer(f"search returned {type(response).__name__}, not a Response", response)
    hits: object = response.hits
    if not isinstance(hits, list):
        raise BadAnswer(f"hits is {type(hits).__name__}, not a list", response)
    rows = list(hits)
    if len(rows) > k:
        raise BadAnswer(f"search returned {len(rows)} hits for k = {k}", response)
    read = []
    for rank, row in enumerate(rows, start=1):
        # Read once: an object of a class of its own may answer otherwise the next time.
        hit = Hit(row.uid, row.score, row.tenant, row.text) if isinstance(row, Hit) else row
        fault = _hit_fault(hit)
        if fault is not None:
            raise BadAnswer(f"hit {rank}: {fault}", response)
        read.append(Hit(str.__str__(hit.uid), float(hit.score), hit.tenant, hit.text))
    for fault in _field_faults(response.server_ms, response.total, response.partial):
        raise BadAnswer(fault, response)
    if response.partial:
        raise BadAnswer(
            "the backend says that its answer is incomplete", response, code=Code.PARTIAL
        )
    return read


def readable_uids(answer: object) -> tuple[str, ...]:
    """The uids that can be read of an answer, however broken it is, as valid Unicode."""
    uids: list[str] = []
    try:
        hits = getattr(answer, "hits", answer)
        if isinstance(hits, str) or not isinstance(hits, Sequence):
            return ()
        for hit in hits:
            uids += _readable_uid(hit)
    except BaseException:  # noqa: BLE001 - a foreign object may raise anything; the rest stays
        return tuple(uids)
    return tuple(uids)


def _readable_uid(hit: object) -> list[str]:
    """The uid in a list, an empty one where none can be read."""
    try:
        uid = getattr(hit, "uid", None)
        return [uid.encode(errors="backslashreplace").decode()] if isinstance(uid, str) else []
    except BaseException:  # noqa: BLE001 - a foreign object may raise anything
        return []


def _hit_fault(hit: object) -> str | None:
    if not isinstance(hit, Hit):
        return f"is {type(hit).__name__}, not a Hit"
    uid: object = hit.uid
    score: object = hit.score
    if not isinstance(uid, str) or not uid:
        return f"uid {uid!r:.80} is not text"
    if not _is_unicode(uid):
        return f"uid {uid!r:.80} is not Unicode: it holds half of a surrogate pair"
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return f"score {score!r:.80} is {type(score).__name__}, not float"
    if not _is_finite(score):
        return f"score {score!r:.80} is not a finite number"
    return None


def _field_faults(server_ms: object, total: object, partial: object) -> Iterator[str]:
    """What is wrong with the fields beside the hits; each was read once."""
    if server_ms is not None and not is_milliseconds(server_ms):
        yield f"server_ms {server_ms!r:.80} is not a finite number of 0 or more, nor None"
    if total is not None and (isinstance(total, bool) or not isinstance(total, int) or total < 0):
        yield f"total {total!r:.80} is not a whole number of 0 or more, nor None"
    if not isinstance(partial, bool):
        yield f"partial {partial!r:.80} is {type(partial).__name__}, not bool"


def is_milliseconds(value: object) -> TypeGuard[float]:
    """Whether it can be a duration: a finite number of 0 or more, and no bool."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return _is_finite(value) and value >= 0


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:  # a whole number that no float can hold
        return False
