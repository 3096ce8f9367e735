"""How what is only read differs from the corpus, by the backend's own count of its tenants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrieverbench.adapter import NOBODY, Description
from retrieverbench.errors import AdapterError, Code
from retrieverbench.golden.faults import plural
from retrieverbench.model import Chunk
from retrieverbench.run.loading import count_per_tenant

SHOWN = 5
"""Tenants that a text names before it only counts."""


def check_covered(description: Description, chunks: Sequence[Chunk]) -> None:
    """Who owns a chunk that no record holds nobody can say, nor whether showing it is a leak."""
    known = count_per_tenant(chunks)
    more = [
        f"{tenant!r} has {count} chunks in the index and {known.get(tenant, 0)} in the corpus"
        for tenant, count in sorted(description.chunks.items())
        if count > known.get(tenant, 0) and tenant != NOBODY
    ]
    if more:
        raise AdapterError(
            f"the corpus does not cover the index: {'; '.join(more[:3])}"
            f"{f'; and {len(more) - 3} tenants more' if len(more) > 3 else ''}",
            code=Code.WRONG_COUNT,
            remedy="export every chunk of the index, with its owner, as the corpus, and check that "
            "attach.tenant names the field of the owner",
        )


def differences(description: Description, expected: Mapping[str, int]) -> str:
    """What lacks, what is more, and what has no owner; "" where nothing was counted."""
    if not any(description.chunks.values()):
        return ""
    surplus = {
        tenant: description.chunks.get(tenant, 0) - expected.get(tenant, 0)
        for tenant in sorted({*description.chunks, *expected} - {NOBODY})
    }
    parts = []
    for word, sign in (("lacks", -1), ("holds beside the corpus", 1)):
        counts = {tenant: sign * count for tenant, count in surplus.items() if sign * count > 0}
        if counts:
            shown = ", ".join(f"{count} of {tenant!r}" for tenant, count in _first(counts))
            more = f" and {len(counts) - SHOWN} tenants more" if len(counts) > SHOWN else ""
            of_corpus = " of the corpus" if sign < 0 else ""
            parts.append(
                f"{word} {plural(sum(counts.values()), 'chunk')}{of_corpus} ({shown}{more})"
            )
    if ownerless := description.chunks.get(NOBODY):
        parts.append(f"holds {plural(ownerless, 'chunk')} without an owner")
    return f"it {', '.join(parts)}" if parts else ""


def _first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return list(counts.items())[:SHOWN]
