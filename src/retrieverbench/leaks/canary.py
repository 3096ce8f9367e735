"""Canary chunks: private documents with a random token, drawn anew for every run.

They are put after the quality and timed passes, so that no metric ever sees them. Each
other tenant asks in the exact words (and with the exact vector) of a canary; nothing of
another tenant may come back. The positive control is the owner, who must find its own
with the same query, k and mode. The token never leaves the run: findings name the uid,
which holds the tenant and a number.
"""

from __future__ import annotations

import math
import secrets
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import SystemRandom

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError
from retrieverbench.leaks.ledger import Ledger, foreign_hits
from retrieverbench.model import Chunk, Hit, LeakFinding, Mode, Query, TenantId
from retrieverbench.run import check_response, search_once

ASKERS_PER_CANARY = 5
"""How many other tenants ask for each canary; every tenant owns one and asks for some."""


@dataclass(frozen=True, slots=True)
class Canary:
    """One tenant's private chunk and the token in its text."""

    chunk: Chunk
    token: str = field(repr=False)


@dataclass(slots=True)
class CanaryResult:
    """What the probes of one mode saw. `failed` counts searches that did not answer."""

    asked: int = 0
    owned: int = 0
    found_by_owner: int = 0
    failed: int = 0
    hits: int = 0
    findings: list[LeakFinding] = field(default_factory=list)


def make_canaries(tenants: Sequence[TenantId], dimension: int) -> list[Canary]:
    """One canary per tenant: 96 random bits as one lower-case word, a random unit vector."""
    return [_make_canary(tenant, dimension) for tenant in tenants]


async def probe_canaries(
    adapter: Adapter,
    canaries: Sequence[Canary],
    ledger: Ledger,
    *,
    target: str,
    mode: Mode,
    k: int,
    timeout: float,
    on_done: Callable[[], None] = lambda: None,
) -> CanaryResult:
    """Ask for every canary as its owner and as other tenants; `ledger` includes them.

    A search that fails is counted in `failed` and proves nothing either way.
    """
    result = CanaryResult()
    for number, canary in enumerate(canaries):
        result.owned += 1
        hits = await _ask(adapter, canary, canary.chunk.tenant, mode, k, timeout, result)
        result.found_by_owner += any(hit.uid == canary.chunk.uid for hit in hits)
        _judge(result, hits, canary, canary.chunk.tenant, ledger, target)
        for asker in _askers(canaries, number):
            result.asked += 1
            hits = await _ask(adapter, canary, asker, mode, k, timeout, result)
            _judge(result, hits, canary, asker, ledger, target)
        on_done()
    return result


def _make_canary(tenant: TenantId, dimension: int) -> Canary:
    token = "c" + secrets.token_hex(12)
    random = SystemRandom()
    numbers = [random.gauss(0.0, 1.0) for _ in range(dimension)]
    length = math.sqrt(math.fsum(x * x for x in numbers)) or 1.0
    chunk = Chunk(
        id=f"canary/{secrets.token_hex(4)}",
        tenant=tenant,
        text=f"Private note {token}, kept for this organisation alone.",
        vector=array("f", (x / length for x in numbers)) if dimension else None,
    )
    return Canary(chunk, token)


def _askers(canaries: Sequence[Canary], number: int) -> list[TenantId]:
    """The tenants after the owner, round the circle, so that each asks equally often."""
    count = min(ASKERS_PER_CANARY, len(canaries) - 1)
    return [canaries[(number + step) % len(canaries)].chunk.tenant for step in range(1, count + 1)]


async def _ask(
    adapter: Adapter,
    canary: Canary,
    asker: TenantId,
    mode: Mode,
    k: int,
    timeout: float,
    result: CanaryResult,
) -> list[Hit]:
    query = Query(
        text=canary.chunk.text,
        tenant=asker,
        k=k,
        mode=mode,
        vector=None if mode == "lexical" else canary.chunk.vector,
        want=frozenset({"text"}),
    )
    try:
        hits = check_response(await search_once(adapter, query, timeout), query)
    except BackendError:
        result.failed += 1
        return []
    result.hits += len(hits)
    return hits


def _judge(
    result: CanaryResult,
    hits: Sequence[Hit],
    canary: Canary,
    asker: TenantId,
    ledger: Ledger,
    target: str,
) -> None:
    """Foreign uids by the ledger, and a foreign token in any text that came back."""
    case_id = canary.chunk.uid
    found = foreign_hits(
        [hit.uid for hit in hits], asker, ledger, target=target, case_id=case_id, seen_in="canary"
    )
    known = {finding.rank for finding in found}
    if asker != canary.chunk.tenant:
        found += [
            LeakFinding(
                target, case_id, asker.value, hit.uid, rank, canary.chunk.tenant.value, "canary"
            )
            for rank, hit in enumerate(hits, start=1)
            if rank not in known and canary.token in f"{hit.uid} {hit.text} {hit.tenant}"
        ]
    result.findings += found
