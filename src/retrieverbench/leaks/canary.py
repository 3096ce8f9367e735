"""Canary chunks: private documents with a random token, drawn anew for every run.

They are put after the quality and timed passes, so that no metric ever sees them. Each
other tenant asks in the exact words (and with the exact vector) of a canary; nothing of
another tenant may come back. The first canary is asked for by its token alone: a tenant of which
no chunk holds a word of the question may be answered with everybody's. The positive control is
the owner, who must find its own with the same query, k and mode. The token never leaves the run:
findings name the uid, which holds the tenant and a number.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import SystemRandom

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError
from retrieverbench.leaks.draw import Draw, new_seed
from retrieverbench.leaks.ledger import TELLING, Ledger, TextOwners, foreign_hits
from retrieverbench.model import Chunk, LeakFinding, Mode, Query, Response, TenantId, What
from retrieverbench.run import Abandoned, BadAnswer, read_response, search_once
from retrieverbench.run.scan import plain_words, read_attribute, readable, strings_in

ASKERS_PER_CANARY = 5
"""How many other tenants ask for each canary; every tenant owns one and asks for some."""


@dataclass(frozen=True, slots=True, repr=False)
class Canary:
    """One tenant's private chunk and the token in its text, which `repr` does not show."""

    chunk: Chunk
    token: str

    def __repr__(self) -> str:
        return f"Canary({self.chunk.uid!r})"


@dataclass(slots=True)
class CanaryResult:
    """What the probes of one mode saw, search by search.

    `planned` owners are to be asked, `owned` have been. `asked` counts searches of other
    tenants, `answered` those of them that gave a valid answer, `failed` all searches that
    did not. `answers` and `hits` are of all answers that were judged, refused ones included;
    `totals` are those that answers bore, with who asked.
    """

    planned: int = 0
    asked: int = 0
    answered: int = 0
    owned: int = 0
    found_by_owner: int = 0
    failed: int = 0
    answers: int = 0
    hits: int = 0
    findings: list[LeakFinding] = field(default_factory=list)
    totals: list[tuple[TenantId, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Probe:
    """One search for one canary."""

    canary: Canary
    asker: TenantId
    query: Query

    @property
    def by_owner(self) -> bool:
        return self.asker == self.canary.chunk.tenant


def make_canaries(tenants: Sequence[TenantId], dimension: int) -> list[Canary]:
    """One canary per tenant: 96 random bits as one lower-case word, a random unit vector."""
    draw = Draw(new_seed(), tuple(tenant.value for tenant in tenants))
    return [_make_canary(tenant, draw, dimension) for tenant in tenants]


async def probe_canaries(
    adapter: Adapter,
    canaries: Sequence[Canary],
    ledger: Ledger,
    *,
    target: str,
    mode: Mode,
    k: int,
    timeout: float,
    into: CanaryResult,
    texts: TextOwners = lambda _text: frozenset(),
    on_done: Callable[[], None] = lambda: None,
) -> None:
    """Ask for every canary as its owner and as other tenants; `ledger` includes them.

    `texts` says who owns each text of the corpus, to be looked for in the answers.

    What is seen goes `into` a result of the caller's at once, so that an interrupt loses
    no finding. A search that fails is counted and proves nothing either way, but what its
    answer showed of others counts.
    """
    into.planned = len(canaries)
    for number, canary in enumerate(canaries):
        vector = canary.chunk.vector
        text = canary.chunk.text if number else canary.token
        for asker in (canary.chunk.tenant, *_askers(canaries, number)):
            query = Query(
                text=text,
                tenant=asker,
                k=k,
                mode=mode,
                vector=None if mode == "lexical" or vector is None else vector[:],
                want=frozenset({"text"}),
            )
            probe = _Probe(canary, asker, query)
            await _ask(adapter, probe, canaries, ledger, texts, target, timeout, into)
        on_done()


def _make_canary(tenant: TenantId, draw: Draw, dimension: int) -> Canary:
    """One id for all tenants: what is looked up by it, without the tenant, shows itself.

    Id and words are new in every run, like the token, so that nothing knows a canary by them.
    """
    token = draw.new_token()
    random = SystemRandom()
    numbers = [random.gauss(0.0, 1.0) for _ in range(dimension)]
    length = math.sqrt(math.fsum(x * x for x in numbers)) or 1.0
    chunk = Chunk(
        id=draw.words("ids")[0],
        tenant=tenant,
        text=" ".join([*draw.words("private"), token, *draw.words("shared")]),
        vector=array("f", (x / length for x in numbers)) if dimension else None,
    )
    return Canary(chunk, token)


def _askers(canaries: Sequence[Canary], number: int) -> list[TenantId]:
    """The tenants after the owner, round the circle, so that each asks equally often."""
    count = min(ASKERS_PER_CANARY, len(canaries) - 1)
    return [canaries[(number + step) % len(canaries)].chunk.tenant for step in range(1, count + 1)]


async def _ask(
    adapter: Adapter,
    probe: _Probe,
    canaries: Sequence[Canary],
    ledger: Ledger,
    texts: TextOwners,
    target: str,
    timeout: float,
    into: CanaryResult,
) -> None:
    try:
        answer = await search_once(adapter, probe.query, timeout)
        read = read_response(answer, probe.query.k)
    except Abandoned:
        raise
    except BackendError as error:
        into.failed += 1
        answer = error.answer if isinstance(error, BadAnswer) else None
        uids = error.shown(ledger) if isinstance(error, BadAnswer) else []
        total = error.total if isinstance(error, BadAnswer) else None
        told = str(error)
    else:
        uids, total, told = [hit.uid for hit in read.hits], read.total, ""
        into.answered += not probe.by_owner
        into.found_by_owner += probe.by_owner and probe.canary.chunk.uid in uids
    into.totals += [] if total is None else [(probe.asker, total)]
    into.answers += answer is not None
    into.hits += len(uids)
    into.owned += probe.by_owner
    into.asked += not probe.by_owner
    case_id = probe.canary.chunk.uid
    found = foreign_hits(
        uids, probe.asker, ledger, target=target, case_id=case_id, seen_in="canary"
    )
    known = {finding.rank for finding in found}
    into.findings += found
    kinds: list[tuple[What, list[tuple[int, str, TenantId]]]] = [
        ("secret", _tokens_seen(answer, told, probe, canaries)),
        ("text", _texts_seen(answer, probe, texts)),
    ]
    into.findings += [
        LeakFinding(
            *(target, case_id, probe.asker.value, uid, rank, owner.value, "canary"),
            shown=what,
            under=uid if rank else "",
        )
        for what, seen in kinds
        for rank, uid, owner in seen
        if rank not in known
    ]


def _tokens_seen(
    answer: object, told: str, probe: _Probe, canaries: Sequence[Canary]
) -> list[tuple[int, str, TenantId]]:
    """Rank, uid and owner of every foreign token in a hit, or elsewhere in the answer.

    Elsewhere the token that was asked for does not count: it may be an echo of the query.
    """
    hits = _hits_of(answer)
    inside = [plain_words(" ".join(strings_in(hit))) for hit in hits]
    outside = plain_words(" ".join([told, *strings_in(answer, leave_out=hits)]))
    uids = {
        rank: uid
        for rank, hit in enumerate(hits, start=1)
        if isinstance(uid := read_attribute(hit, "uid"), str)
    }
    seen = []
    for canary in canaries:
        owner = canary.chunk.tenant
        if owner == probe.asker:
            continue
        seen += [
            (rank, uids.get(rank, canary.chunk.uid), owner)
            for rank, text in enumerate(inside, start=1)
            if canary.token in text
        ]
        if canary is not probe.canary and canary.token in outside:
            seen.append((0, canary.chunk.uid, owner))
    return seen


def _texts_seen(
    answer: object, probe: _Probe, texts: TextOwners
) -> list[tuple[int, str, TenantId]]:
    """Rank, uid and owner of every whole text in the answer that is not the asker's own."""
    hits = _hits_of(answer)
    seen = []
    for rank, part in enumerate([answer, *hits]):
        uid = read_attribute(part, "uid") if rank else ""
        for text in strings_in(part, leave_out=None if rank else read_attribute(answer, "hits")):
            owners = texts(text) if len(text) >= TELLING else frozenset[TenantId]()
            if owners and probe.asker not in owners:
                seen.append((rank, uid if isinstance(uid, str) else "", min(owners)))
    return seen


def _hits_of(answer: object) -> list[object]:
    """The hits that can be read; an answer may be anything an adapter made."""
    found = read_attribute(answer, "hits") if isinstance(answer, Response) else None
    return list(readable(found)) if isinstance(found, list | tuple) else []
