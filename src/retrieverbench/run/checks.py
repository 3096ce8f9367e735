"""Whether an answer keeps the adapter's promise; the same checks for every adapter.

What an adapter returns is read once, by the methods of Python's own types: a class of the
adapter's own may answer otherwise the next time, and may say of itself whatever it likes.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice

from retrieverbench.errors import AdapterError, Code
from retrieverbench.model import Hit, Query, Response
from retrieverbench.remote import is_unicode
from retrieverbench.run.scan import plain_text, read_attribute, readable, strings_in
from retrieverbench.run.text import text_of

MOST_READ = 10_000
"""Rows and texts of a broken answer; an iterator may have no end, and each is looked up."""


class BadAnswer(AdapterError):
    """An answer that the protocol does not allow.

    It is never scored, but what it shows of other tenants counts: `answer` is the object
    as it came, `uids` what its hits hold, best first, and `texts` all others that can be read
    of it, wherever they stand. `total` is the total that it bears, where it can be one.
    """

    def __init__(
        self, message: str, answer: object, *, code: Code | None = None, uids: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, code=code)
        self.answer = answer
        shown = readable_answer(answer)
        self.uids = (*uids, *(uid for uid in shown.uids if uid not in uids)) if uids else shown.uids
        self.texts = shown.texts
        self.total = shown.total

    def shown(self, known: Container[str]) -> list[str]:
        """The uids of its hits, and of the other texts those that are `known` to be uids."""
        return [*self.uids, *(text for text in self.texts if text in known)]


@dataclass(frozen=True, slots=True)
class Readable:
    """What can be read of a broken answer: its hits' uids, its other texts, its total.

    Texts are valid Unicode.
    """

    uids: tuple[str, ...]
    texts: tuple[str, ...]
    total: int | None


def check_response(response: object, query: Query) -> list[Hit]:
    """The hits, if the answer is one the protocol allows; see `read_response`."""
    return read_response(response, query.k).hits


def read_response(response: object, k: int) -> Response:
    """A copy of plain Python types, if the answer is one the protocol allows.

    Raises BadAnswer (`bad_answer`, `partial`) otherwise: not a Response, hits that are no
    list, more than k of them, a uid that is not text, a score that is not a finite number, a
    `server_ms`, `total` or `partial` that cannot be one, an object that raises when it is
    read. Nothing foreign is read again.
    Duplicates and scores out of order are counted by the metrics; foreign uids are the
    ledger's matter.
    """
    seen: list[str] = []
    try:
        return _read(response, k, seen)
    except BadAnswer:
        raise
    except BaseException as error:
        text = f"the answer raised {type(error).__name__} when it was read: {text_of(error)}"
        raise BadAnswer(text, response, uids=tuple(seen)) from error


def _read(response: object, k: int, seen: list[str]) -> Response:
    """`seen` gets the uids as they are read."""

    def fault(text: str, code: Code | None = None) -> BadAnswer:
        return BadAnswer(text, response, code=code, uids=tuple(seen))

    if not isinstance(response, Response):
        raise fault(f"search returned {type(response).__name__}, not a Response")
    hits: object = response.hits
    if type(hits) is not list:
        raise fault(f"hits is {type(hits).__name__}, not a list")
    rows = list(hits)
    if len(rows) > k:
        raise fault(f"search returned {len(rows)} hits for k = {k}")
    read = []
    for rank, row in enumerate(rows, start=1):
        try:
            read.append(_read_hit(row, seen))
        except _Fault as found:
            raise fault(f"hit {rank}: {found}") from None
    try:
        copy = Response(read, *_read_fields(response))
    except _Fault as found:
        raise fault(str(found)) from None
    if copy.partial:
        raise fault("the backend says that its answer is incomplete", Code.PARTIAL)
    return copy


class _Fault(ValueError):
    """What is wrong with one value."""


def _read_hit(row: object, seen: list[str]) -> Hit:
    if not isinstance(row, Hit):
        raise _Fault(f"is {type(row).__name__}, not a Hit")
    uid = _text(row.uid)
    if not uid:
        raise _Fault(f"uid {row.uid!r:.80} is not text")
    seen.append(plain_text(uid))
    if not is_unicode(uid):
        raise _Fault(f"uid {uid!r:.80} is not Unicode: it holds half of a surrogate pair")
    return Hit(uid, _score(row.score), _label(row.tenant), _label(row.text))


def _read_fields(response: Response) -> tuple[float | None, bool, int | None]:
    """The time, whether the answer is incomplete, and the total: each is read once."""
    server_ms: object = response.server_ms
    if server_ms is not None and (server_ms := milliseconds(told := server_ms)) is None:
        raise _Fault(f"server_ms {told!r:.80} is not a finite number of 0 or more, nor None")
    total: object = response.total
    if total is not None and ((count := _whole(total)) is None or count < 0):
        raise _Fault(f"total {total!r:.80} is not a whole number of 0 or more, nor None")
    partial: object = response.partial
    if partial is not True and partial is not False:
        raise _Fault(f"partial {partial!r:.80} is {type(partial).__name__}, not bool")
    return server_ms, partial, None if total is None else count


def milliseconds(value: object) -> float | None:
    """A plain copy of what can be a duration, a finite number of 0 or more; None otherwise."""
    number = _number(value)
    return number if number is not None and math.isfinite(number) and number >= 0 else None


def _score(value: object) -> float:
    number = _number(value)
    if number is None:
        raise _Fault(f"score {value!r:.80} is {type(value).__name__}, not float")
    if not math.isfinite(number):
        raise _Fault(f"score {value!r:.80} is not a finite number")
    return number


def _number(value: object) -> float | None:
    """The float that a number of Python's own types holds, infinite where no float can hold it."""
    if isinstance(value, float):
        return float.__float__(value)
    whole = _whole(value)
    try:
        return None if whole is None else float(whole)
    except OverflowError:
        return math.inf


def _whole(value: object) -> int | None:
    """A plain copy of a whole number; a bool is none."""
    return None if isinstance(value, bool) or not isinstance(value, int) else int.__int__(value)


def _text(value: object) -> str | None:
    return str.__str__(value) if isinstance(value, str) else None


def _label(value: object) -> str | None:
    """What a backend wrote, as text: it may be made of the request, and of any type."""
    if value is None:
        return None
    return str.__str__(value if isinstance(value, str) else repr(value))


def readable_answer(answer: object) -> Readable:
    """What can be read of an answer, however broken it is and whatever shape it has."""
    hits = read_attribute(answer, "hits")
    rows = answer if hits is None else hits
    if isinstance(rows, Iterator):
        rows = list(readable(islice(rows, MOST_READ)))
    found = (uid for row in _items(rows) if (uid := _readable_uid(row)) is not None)
    uids = tuple(islice(found, MOST_READ))
    strings = readable(text for part in (answer, rows) for text in strings_in(part))
    read = (plain_text(text) for text in strings if isinstance(text, str))
    texts = dict.fromkeys(islice(read, MOST_READ))
    for uid in uids:
        texts.pop(uid, None)
    total = _whole(read_attribute(answer, "total"))
    return Readable(uids, tuple(texts), None if total is None or total < 0 else total)


def _items(rows: object) -> Iterator[object]:
    """The rows of a list or tuple; of a class of its own also those that it does not show."""
    if not isinstance(rows, list | tuple):
        return
    shown = list(readable(rows))
    yield from shown
    kind = list if isinstance(rows, list) else tuple
    if type(rows) is not kind:
        held = kind.__iter__(rows)  # type: ignore[arg-type]  # of its own kind
        yield from (row for row in held if not any(row is other for other in shown))


def _readable_uid(row: object) -> str | None:
    uid = read_attribute(row, "uid")
    return plain_text(uid) if isinstance(uid, str) else None
