"""The unfiltered control arm: the same chunks, owned by one tenant, so that no filter acts.

Asked the same questions, it must show chunks which the ledger calls foreign to the asker.
If it does not, the questions could not have found anything to steal, and a clean result
proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError
from retrieverbench.leaks.draw import Draw, new_seed
from retrieverbench.leaks.ledger import Ledger, hint_of, make_ledger
from retrieverbench.model import Chunk, GoldenCase, LeakFinding, Query, TenantId
from retrieverbench.run import Abandoned, BadAnswer, check_response, search_once
from retrieverbench.storage import stored

CONTROL_CHUNKS = 2_000
CONTROL_CASES = 30


@dataclass(slots=True)
class ControlResult:
    """What the control arm of one mode showed.

    `foreign` counts chunks that are foreign to the question's own tenant: what could have
    been stolen. `findings` are chunks that are not in the control arm at all: they came
    from somebody else's place. `failed` of `asked` searches gave no valid answer.
    """

    asked: int = 0
    failed: int = 0
    foreign: int = 0
    findings: list[LeakFinding] = field(default_factory=list)


def control_tenant(tenants: Iterable[str]) -> TenantId:
    """An owner for the control arm: a new name in every run, that none of `tenants` bears."""
    return TenantId(Draw(new_seed(), tuple(tenants)).words("control")[0])


def control_chunks(
    chunks: Sequence[Chunk], cases: Sequence[GoldenCase], seed: int, owner: TenantId
) -> list[Chunk]:
    """The corpus under one owner; of a large one a sample with the chunks the cases need."""
    chosen: Sequence[Chunk] = chunks
    if len(chunks) > CONTROL_CHUNKS:
        corpus = stored(chunks)
        named = (
            corpus.ordinal(case.tenant, id_)
            for case in cases
            for id_ in (*(case.relevant or ()), *(case.grades or ()))
        )
        needed = sorted({ordinal for ordinal in named if ordinal is not None})[:CONTROL_CHUNKS]
        drawn = Random(seed).sample(range(len(corpus)), CONTROL_CHUNKS)
        ordinals = list(dict.fromkeys([*needed, *drawn]))[:CONTROL_CHUNKS]
        chosen = [corpus[ordinal] for ordinal in ordinals]
    return [replace(chunk, id=chunk.uid, tenant=owner) for chunk in chosen]


def control_cases(cases: Sequence[GoldenCase], seed: int) -> list[GoldenCase]:
    """Up to CONTROL_CASES cases, drawn by seed; all of a small set."""
    if len(cases) <= CONTROL_CASES:
        return list(cases)
    return Random(seed).sample(list(cases), CONTROL_CASES)


async def ask_control(
    adapter: Adapter,
    chunks: Sequence[Chunk],
    cases: Sequence[GoldenCase],
    queries: Sequence[Query],
    ledger: Ledger,
    *,
    target: str,
    timeout: float,
    into: ControlResult,
) -> None:
    """Ask the arm that holds `chunks` (of `control_chunks`) the cases' queries.

    What is seen goes `into` a result of the caller's at once. `ledger` is that of the real
    corpus.
    """
    originals = {chunk.uid: chunk.id for chunk in chunks}
    own = make_ledger(chunks)
    owner = chunks[0].tenant
    for case, query in zip(cases, queries, strict=True):
        unfiltered = replace(query, tenant=owner)
        into.asked += 1
        try:
            hits = check_response(await search_once(adapter, unfiltered, timeout), unfiltered)
            uids = [hit.uid for hit in hits]
        except Abandoned:
            raise
        except BackendError as error:
            into.failed += 1
            uids = error.shown(ledger) if isinstance(error, BadAnswer) else []
            valid = False
        else:
            valid = True
        for rank, uid in enumerate(uids, start=1):
            if uid in originals:
                into.foreign += valid and ledger[originals[uid]] != case.tenant
                continue
            other = ledger[uid].value if uid in ledger else None
            hint = hint_of(uid, owner, own)
            into.findings.append(
                LeakFinding(target, case.id, owner.value, uid, rank, other, "control", hint)
            )
