"""Who owns what, by our own record, and which returned ids belong to somebody else.

The ledger is made of the chunks that were loaded. A tenant label in an answer is never
evidence. A uid that the ledger does not know counts as foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from retrieverbench.model import (
    CaseResult,
    Chunk,
    Hit,
    LeakFinding,
    TenantId,
    WrongLabel,
    make_uid,
)
from retrieverbench.storage import ChunkStore

Ledger = Mapping[str, TenantId]
"""uid → owner."""
TextOwners = Callable[[str], frozenset[TenantId]]
"""Who owns a text of the corpus."""
TELLING = 20
"""Characters from which a text that is repeated whole is somebody's chunk."""
_REMEMBERED = 50_000
"""Answers repeat themselves in the rounds of a timed pass."""


def make_ledger(chunks: Iterable[Chunk]) -> dict[str, TenantId]:
    """The owner of every chunk, by uid."""
    return {chunk.uid: chunk.tenant for chunk in chunks}


class CorpusLedger(Mapping[str, TenantId]):
    """The same of a corpus on disk, asked for one uid at a time, and of `further` chunks."""

    def __init__(self, chunks: ChunkStore, further: Iterable[Chunk] = ()) -> None:
        self._chunks, self._further = chunks, make_ledger(further)
        self._owner = lru_cache(_REMEMBERED)(chunks.owner)

    def __getitem__(self, uid: str) -> TenantId:
        owner = self._further.get(uid) or self._owner(uid)
        if owner is None:
            raise KeyError(uid)
        return owner

    def __iter__(self) -> Iterator[str]:
        return chain((chunk.uid for chunk in self._chunks), self._further)

    def __len__(self) -> int:
        return len(self._chunks) + len(self._further)


def foreign_hits(
    uids: Sequence[str],
    tenant: TenantId,
    ledger: Ledger,
    *,
    target: str,
    case_id: str,
    seen_in: str,
) -> list[LeakFinding]:
    """One finding per returned uid that is not the asking tenant's own; ranks from 1."""
    return [
        LeakFinding(
            target=target,
            case_id=case_id,
            tenant=tenant.value,
            uid=uid,
            rank=rank,
            owner=ledger[uid].value if uid in ledger else None,
            seen_in=seen_in,
            hint=hint_of(uid, tenant, ledger),
        )
        for rank, uid in enumerate(uids, start=1)
        if ledger.get(uid) != tenant
    ]


def foreign_texts(
    hits: Sequence[Hit],
    uids: Sequence[str],
    tenant: TenantId,
    ledger: Ledger,
    texts: TextOwners,
    *,
    target: str,
    case_id: str,
) -> list[LeakFinding]:
    """One finding per own uid that came with the whole text of chunks that only others own.

    `uids` are those of the hits. What has a foreign uid is found by it.
    """
    found = []
    for rank, (hit, uid) in enumerate(zip(hits, uids, strict=True), start=1):
        if hit.text is None or len(hit.text) < TELLING or ledger.get(uid) != tenant:
            continue
        owners = texts(hit.text)
        if owners and tenant not in owners:
            owner = min(owners).value
            place = (target, case_id, tenant.value, uid, rank, owner, "text")
            found.append(LeakFinding(*place, shown="text", where="text", under=uid))
    return found


def wrong_labels(hits: Iterable[Hit], uids: Sequence[str], ledger: Ledger) -> Iterator[WrongLabel]:
    """Hits that bear a label of another tenant than their owner; `uids` are theirs.

    A label that is made of the request may be of any type, as a tenant below the guard is.
    """
    for hit, uid in zip(hits, uids, strict=True):
        label: object = hit.tenant
        if label is not None and uid in ledger and label != ledger[uid].value:
            text = label if isinstance(label, str) else repr(label)
            yield WrongLabel(uid, text, ledger[uid].value)


def hint_of(uid: str, tenant: TenantId, ledger: Ledger) -> str | None:
    """What an adapter's author may have meant by an id that no ledger knows."""
    value: object = tenant.value
    if not isinstance(value, str):  # below the guard a tenant may be of any type
        return None
    meant = make_uid(tenant, uid)
    if uid in ledger or meant not in ledger:
        return None
    return f"{meant!r} is a chunk: a hit's uid is tenant/id, made by retrieverbench.model.make_uid"


def check_result(
    result: CaseResult, tenant: TenantId, ledger: Ledger, target: str
) -> list[LeakFinding]:
    """Every foreign or unknown uid in one answer of a quality pass, a refused one included."""
    return foreign_hits(
        [*(uid for uid, _score in result.hits), *result.refused],
        tenant,
        ledger,
        target=target,
        case_id=result.case_id,
        seen_in="quality",
    )
