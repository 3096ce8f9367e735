"""Questions on their way: what is asked, several at once, and what came back of each."""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TypeVar

import anyio

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError, Code, Refused, Rejected, TenantError
from retrieverbench.leaks.elsewhere import Told, asked_in
from retrieverbench.leaks.patience import is_throttled
from retrieverbench.leaks.record import Sent
from retrieverbench.model import Hit, Mode, Query, TenantId, Value
from retrieverbench.run import Abandoned, BadAnswer, read_response, search_once

K = 5
WANTED = frozenset({"text", "tenant"})
GIVEN_UP = frozenset({Code.TIMEOUT, Code.CONNECT, Code.THROTTLED})
_BUSY = frozenset({Code.RESET, Code.POOL_TIMEOUT})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """One search as `tenant`, which below the guard may be anything."""

    tenant: object
    text: str
    vector: Sequence[float] | None = None
    k: int = K
    where: Mapping[str, Value] = field(default_factory=dict)
    want: frozenset[str] = WANTED

    def number(self, mode: Mode) -> int:
        """Equal for what is the same question in a mode."""
        is_lexical = self.vector is None or mode == "lexical"
        numbers = None if is_lexical else tuple(self.vector or ())
        return hash((repr(self.tenant), self.text, numbers, self.k, tuple(self.where.items())))

    def query(self, asker: TenantId, mode: Mode) -> Query:
        """What an adapter gets."""
        return Query(
            text=self.text,
            tenant=asker,
            k=self.k,
            mode=mode,
            vector=None if mode == "lexical" or self.vector is None else array("f", self.vector),
            where=self.where,
            want=self.want,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one query: `raw` is all of it, `hits` and `total` what could be read in it.

    `told` is the text of an error, a refusal's too, `bad` one that holds an answer that cannot be
    read. `sent` is what went out and came back meanwhile, None where nothing is recorded.
    """

    query: Query
    raw: object = None
    hits: Sequence[Hit] = ()
    total: int | None = None
    error: BackendError | None = None
    refused: bool = False
    seconds: float = 0.0
    told: str = ""
    bad: BadAnswer | None = None
    sent: Sent | None = None

    def uids(self, known: Container[str]) -> list[str]:
        """The ids in it; of an answer that cannot be read those that are `known`, too."""
        if self.bad is not None:
            return list(self.bad.shown(known))
        return [hit.uid for hit in self.hits]


def told_by(answer: Answer, *, loads: bool) -> Told:
    """All that an answer brought; what a service sends that is only read, its callers get, too."""
    responses = answer.sent.responses if answer.sent else []
    return Told(
        answer=[answer.raw] if loads else [answer.raw, responses],
        error=answer.told,
        sent=responses if loads else (),
        asked=asked_in(answer.query, answer.hits),
        vector=answer.query.vector or (),
    )


async def fetch(
    adapter: Adapter,
    query: Query,
    timeout: float,
    is_refusal: Callable[[BackendError], bool],
) -> Answer:
    """Ask once. Raises Abandoned alone; what is a refusal is no error."""
    start = perf_counter_ns()
    try:
        raw = await search_once(adapter, query, timeout)
        read = read_response(raw, query.k)
    except Abandoned:
        raise
    except TenantError:
        return Answer(query, refused=True, seconds=_since(start))
    except BackendError as error:
        seconds = _since(start)
        refused = is_refusal(error)
        bad = error if isinstance(error, BadAnswer) else None
        return Answer(
            query,
            bad.answer if bad else None,
            error=None if refused else error,
            refused=refused,
            seconds=seconds,
            told=str(error),
            bad=bad,
        )
    return Answer(query, raw, read.hits, read.total, seconds=_since(start))


def _since(start: int) -> float:
    return (perf_counter_ns() - start) / 1e9


def may_be_of_the_moment(answer: Answer) -> bool:
    """Whether the same question may be answered if it is asked again at once."""
    error = answer.error
    is_final = error is None or isinstance(error, Refused | Rejected) or error.code in GIVEN_UP
    return not is_final


def of_the_moment(attempts: Sequence[Answer]) -> BackendError | None:
    """The error of a question that had no answer, or none at first, for such a reason.

    That it was turned away as one too many is no such error if it was answered later.
    """
    *_, last_of_all = attempts
    tries = [each for each in attempts if not is_throttled(each) or each is last_of_all]
    first, last = tries[0].error, tries[-1].error
    if first is None or isinstance(first, Refused | Rejected):
        return None
    if len(tries) == 1:
        return first if first.code in GIVEN_UP else None
    return first if last is None or last.code in GIVEN_UP | _BUSY else None


async def at_once(calls: Sequence[Callable[[], Awaitable[T]]], width: int) -> list[T]:
    """What the calls return, in their order; at most `width` are under way.

    Abandoned by one of them is raised when those that were under way have ended; no further one
    begins.
    """
    if width == 1:
        return [await call() for call in calls]
    found: dict[int, T] = {}
    left = iter(enumerate(calls))
    abandoned: list[Abandoned] = []

    async def work() -> None:
        for number, call in left:
            try:
                found[number] = await call()
            except Abandoned as error:
                abandoned.append(error)
            if abandoned:
                return

    async with anyio.create_task_group() as tasks:
        for _ in range(min(width, len(calls))):
            tasks.start_soon(work)
    if abandoned:
        raise abandoned[0]
    return [found[number] for number in range(len(calls))]
