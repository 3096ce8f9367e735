"""The total that a backend tells beside its hits: it must count the asker's own chunks alone.

Any total of any answer is judged, whether it was asked for or not and whether or not the answer
keeps the protocol. Where the adapter declares
`total`, the smallest tenant asks in the words of many questions. A total above what it owns counts
others' chunks: a side channel, and no leak, since no chunk is shown. The positive control is the
unfiltered control arm, whose total for the same question must be above that, or the question
could not have shown it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError, plural
from retrieverbench.leaks.declared import accepted_by
from retrieverbench.leaks.ledger import Ledger, foreign_hits
from retrieverbench.model import LeakFinding, Query, TenantId
from retrieverbench.run import Abandoned, BadAnswer, one_line, read_response, search_once, uid_of

CASE = "a total"
SEEN_IN = "total"
MAX_CHARACTERS = 500


@dataclass(slots=True)
class TotalResult:
    """What one mode told: to the asker, who owns `own` chunks, and in the unfiltered arm.

    `accepted` totals may count others' chunks: the suite declares it. `fault` is why there
    is no total.
    """

    query: Query
    own: int
    accepted: bool = False
    told: int | None = None
    unfiltered: int | None = None
    fault: str = ""
    findings: list[LeakFinding] = field(default_factory=list)

    @property
    def side_channel(self) -> str:
        """What the total tells of others' chunks and the suite does not declare; "" if nothing."""
        if self.accepted or self.told is None or self.told <= self.own:
            return ""
        return (
            f"{self.query.tenant.value!r} was told a total of {plural(self.told, 'chunk')}, and "
            f"it owns {self.own}; {accepted_by('global_totals')}"
        )

    @property
    def note(self) -> str:
        """What its reader should know; "" if nothing."""
        if self.fault:
            return f"its total could not be had: {self.fault}"
        if self.told is not None and self.told > self.own:
            accepted = ", as [targets.declares] says" if self.accepted else ""
            return f"its total counts others' chunks: {self.told}, of {self.own} own{accepted}"
        if self.unfiltered is not None and self.unfiltered <= self.own:
            return (
                f"its total proves nothing: {self.unfiltered} in the unfiltered control arm, "
                f"which is not above the asker's {plural(self.own, 'chunk')}"
            )
        return ""


@dataclass(slots=True)
class ToldTotals:
    """Totals of ordinary answers in one mode that are above all that their asker owns.

    `own` are chunks by tenant. `answers` counts such answers, `first` tells the first.
    """

    own: Mapping[str, int]
    accepted: bool = False
    answers: int = 0
    first: str = ""

    def judge(self, tenant: TenantId, total: int | None, asked: str, *, further: int = 0) -> None:
        """One answer; `further` chunks are the tenant's beside those of the corpus."""
        own = self.own.get(tenant.value, 0) + further
        if total is None or total <= own:
            return
        self.answers += 1
        self.first = self.first or (
            f"{tenant.value!r} was told a total of {plural(total, 'chunk')}, and it owns {own} "
            f"({asked})"
        )

    @property
    def side_channel(self) -> str:
        """What they tell of others' chunks and the suite does not declare; "" if nothing."""
        if not self.first or self.accepted:
            return ""
        return f"{self._told}; {accepted_by('global_totals')}"

    @property
    def note(self) -> str:
        """What their reader should know where the suite declares them; "" if nothing."""
        if not self.first or not self.accepted:
            return ""
        return f"totals count others' chunks, as [targets.declares] says: {self._told}"

    @property
    def _told(self) -> str:
        more = f"; further such answers: {self.answers - 1}" if self.answers > 1 else ""
        return f"{self.first}{more}"


def total_question(query: Query, asker: TenantId, texts: Sequence[str]) -> Query:
    """The query of another asker, in the words of all the texts: it matches what it can."""
    words: list[str] = []
    left = MAX_CHARACTERS
    for word in dict.fromkeys(word for text in texts for word in text.split()):
        left -= len(word) + 1
        if left < 0:
            break
        words.append(word)
    return replace(query, tenant=asker, text=" ".join(words), want=frozenset({"total"}))


async def ask_total(
    adapter: Adapter,
    ledger: Ledger,
    *,
    target: str,
    timeout: float,
    into: TotalResult,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Ask once as the tenant; foreign hits are findings."""
    tenant = into.query.tenant
    total, uids = await _total(adapter, into.query, timeout, into, ledger if keys is None else ())
    uids = uids if keys is None else [uid_of(uid, keys) for uid in uids]
    into.findings += foreign_hits(
        uids, tenant, ledger, target=target, case_id=CASE, seen_in=SEEN_IN
    )
    into.told = total


async def ask_unfiltered_total(
    adapter: Adapter, owner: TenantId, *, timeout: float, into: TotalResult
) -> None:
    """The same question to the control arm, in which `owner` owns everything."""
    query = replace(into.query, tenant=owner)
    total, _ = await _total(adapter, query, timeout, into)
    into.unfiltered = None if into.fault else total


async def _total(
    adapter: Adapter,
    query: Query,
    timeout: float,
    into: TotalResult,
    known: Container[str] = (),
) -> tuple[int | None, list[str]]:
    """The total and the uids of one answer; why there is no valid one goes to `into.fault`."""
    try:
        answer = await search_once(adapter, query, timeout)
        read = read_response(answer, query.k)
    except Abandoned:
        raise
    except BackendError as error:
        into.fault = into.fault or one_line(error)
        return (error.total, error.shown(known)) if isinstance(error, BadAnswer) else (None, [])
    if read.total is None:
        into.fault = into.fault or "it claims 'total' and tells none"
    return read.total, [hit.uid for hit in read.hits]
