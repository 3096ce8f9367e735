"""The unfiltered control arm: the same chunks, owned by one tenant, so that no filter acts.

Asked the same questions, it must show chunks which the ledger calls foreign to the asker.
If it does not, the questions could not have found anything to steal, and a clean result
proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError
from retrieverbench.leaks.ledger import Ledger
from retrieverbench.model import Chunk, GoldenCase, Query, TenantId, make_uid
from retrieverbench.run import check_response, search_once

CONTROL_TENANT = TenantId("control")
CONTROL_CHUNKS = 2_000
CONTROL_CASES = 30


def control_chunks(chunks: Sequence[Chunk], cases: Sequence[GoldenCase], seed: int) -> list[Chunk]:
    """The corpus under one owner; of a large one a sample with the chunks the cases need."""
    chosen: Sequence[Chunk] = chunks
    if len(chunks) > CONTROL_CHUNKS:
        needed = {make_uid(case.tenant, id_) for case in cases for id_ in case.relevant or ()}
        kept = [chunk for chunk in chunks if chunk.uid in needed][:CONTROL_CHUNKS]
        others = [chunk for chunk in chunks if chunk.uid not in needed]
        chosen = kept + Random(seed).sample(others, CONTROL_CHUNKS - len(kept))
    return [replace(chunk, id=chunk.uid, tenant=CONTROL_TENANT) for chunk in chosen]


def control_cases(cases: Sequence[GoldenCase], seed: int) -> list[GoldenCase]:
    """Up to CONTROL_CASES cases, drawn by seed; all of a small set."""
    if len(cases) <= CONTROL_CASES:
        return list(cases)
    return Random(seed).sample(list(cases), CONTROL_CASES)


async def count_foreign(
    adapter: Adapter, queries: Sequence[Query], ledger: Ledger, timeout: float
) -> int:
    """How many chunks foreign to the query's own tenant the unfiltered arm returns."""
    prefix = make_uid(CONTROL_TENANT, "")
    foreign = 0
    for query in queries:
        unfiltered = replace(query, tenant=CONTROL_TENANT)
        try:
            hits = check_response(await search_once(adapter, unfiltered, timeout), unfiltered)
        except BackendError:
            continue
        for hit in hits:
            owner = ledger.get(hit.uid.removeprefix(prefix))
            foreign += owner is not None and owner != query.tenant
    return foreign
