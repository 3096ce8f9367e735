"""From what one answer shows of others to findings: who was shown what of whose, and where."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.errors import plural
from retrieverbench.leaks.elsewhere import Told, shown_elsewhere
from retrieverbench.leaks.ledger import Ledger, foreign_hits
from retrieverbench.leaks.unguarded import shown_tenant
from retrieverbench.leaks.world import World
from retrieverbench.model import LeakFinding, TenantId
from retrieverbench.run.scan import path_to, read_attribute

SEEN_IN = "audit"
_HIT = re.compile(r"hits\[(\d+)\]")


def findings_of(
    uids: Sequence[str],
    told: Told,
    tenant: TenantId,
    *,
    world: World,
    ledger: Ledger,
    target: str,
    probe: str,
    hint: str | None,
    texts_stay: bool,
    known: Collection[str],
) -> Iterator[LeakFinding]:
    """Foreign `uids` of hits, and whatever else shows a chunk that is not `known` yet."""
    asker = shown_tenant(tenant)
    seen = set(known)
    for found in foreign_hits(uids, tenant, ledger, target=target, case_id=probe, seen_in=SEEN_IN):
        seen.add(found.uid)
        yield replace(found, tenant=asker, hint=hint or found.hint)
    for uid, owner, what, text in shown_elsewhere(
        told, world, ledger, tenant, texts_stay=texts_stay
    ):
        if uid in seen:
            continue
        seen.add(uid)
        where, under = _place(told, text)
        yield LeakFinding(
            *(target, probe, asker, uid, 0, owner.value, SEEN_IN, hint),
            shown=what,
            where=where,
            under="" if under == uid else under,
        )


def over_counted(
    total: int | None,
    asker: TenantId,
    world: World,
    moved: Mapping[str, TenantId | None],
    moving: Collection[str],
) -> str:
    """What a total tells beyond all that the asker ever owned in the place; "" if nothing.

    What it was given, or is being given, may be counted already, and what it lost still.
    """
    if total is None:
        return ""
    gained = {uid for uid, owner in moved.items() if owner == asker} | set(moving)
    own = world.owned(asker) + sum(world.ledger.get(uid) != asker for uid in gained)
    if total <= own:
        return ""
    return (
        f"{shown_tenant(asker)!r} was told a total of {plural(total, 'chunk')}, and it owns {own}"
    )


def _place(told: Told, text: str) -> tuple[str, str]:
    """The field of the answer that holds a text, and the id of the hit that it is part of."""
    if not text:
        return "", ""
    for part in told.answer:
        path = path_to(part, text)
        if path is None:
            continue
        hit = _HIT.match(path)
        hits = read_attribute(part, "hits") if hit else None
        number = int(hit[1]) if hit else 0
        if not isinstance(hits, list | tuple) or number >= len(hits):
            return path, ""
        uid = read_attribute(hits[number], "uid")
        return path, uid if isinstance(uid, str) else ""
    return ("an error's text", "") if told.error else ("", "")
