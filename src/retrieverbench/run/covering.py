"""How what is only read differs from the corpus, by the backend's own counts and by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TypeVar

import anyio

from retrieverbench.adapter import NOBODY, Adapter, Description, ReadsById
from retrieverbench.errors import AdapterError, BackendError, Code, plural
from retrieverbench.model import Chunk
from retrieverbench.remote import shortened
from retrieverbench.run.attach import AttachEntry, key_of
from retrieverbench.run.guard import Abandoned, Step
from retrieverbench.run.loading import by_tenant, count_per_tenant
from retrieverbench.run.text import one_line

T = TypeVar("T")
SHOWN = 5
"""Tenants that a text names before it only counts."""
MOST_CHUNKS, MOST_TENANTS, MOST_AT_ONCE, MOST_SECONDS = 10_000, 200, 500, 10.0
"""What is looked up by id, drawn from the whole corpus; one request is of one tenant."""
_LONGEST = 40
"""Characters shown of an owner: where attach.tenant names another field it may be a text."""
_NOT_LOOKED_UP = "the index was not asked for chunks by their ids"
_NOT_ONE = (
    "the index has none of {} chunks of the corpus that were asked for by id: do attach.id and "
    "attach.matches say what its ids are?"
)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Of `asked` chunks of the corpus those that are not there, by tenant.

    `keys` are theirs in the index, to their uids. `note` says why that is not known, "" where it
    is. `is_none_there` where all that was drawn was asked for and no owner has any of it.
    """

    asked: int = 0
    lacking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    is_none_there: bool = False


async def look_up(
    adapter: Adapter, entry: AttachEntry, chunks: Sequence[Chunk], step: Step
) -> LookedUp:
    """Ask an attached index for chunks by id, each as its owner, as many as the limits allow.

    A backend that cannot be asked so is no failure: its searches may work. Raises Abandoned.
    """
    if "get" not in adapter.capabilities or not isinstance(adapter, ReadsById):
        return LookedUp()
    drawn = Random(0).sample(range(len(chunks)), min(len(chunks), MOST_CHUNKS))
    owned = by_tenant([chunks[number] for number in sorted(drawn)])
    tenants = list(owned)[:: max(1, -(-len(owned) // MOST_TENANTS))]
    asked, lacking, lost = 0, dict[str, list[str]](), dict[str, str]()
    deadline = anyio.current_time() + MOST_SECONDS
    for tenant in tenants:
        for first in range(0, len(owned[tenant]), MOST_AT_ONCE):
            keys = {key_of(entry.matches, c): c.uid for c in owned[tenant][first:][:MOST_AT_ONCE]}
            wanted = [key for key in keys if key is not None]
            try:
                hits = await step.call(partial(adapter.get, tenant, wanted))
                there = {hit.uid for hit in hits}
            except Abandoned:
                raise
            except BackendError as error:
                return LookedUp(note=f"{_NOT_LOOKED_UP}: {one_line(error)}")
            asked += len(wanted)
            absent = {key: keys[key] for key in wanted if key not in there}
            lost |= absent
            if absent:
                lacking.setdefault(tenant.value, []).extend(absent.values())
        if anyio.current_time() > deadline:
            break
    if asked and asked == sum(map(len, lacking.values())):
        if tenant != tenants[-1]:
            return LookedUp(note=_NOT_ONE.format(asked))
        return LookedUp(asked, lacking, keys=lost, is_none_there=True)
    return LookedUp(asked, lacking, keys=lost)


def check_common(description: Description, chunks: Sequence[Chunk]) -> None:
    """Where index and corpus have no tenant in common, nothing that is counted means anything."""
    there, known = [t for t in description.chunks if t != NOBODY], count_per_tenant(chunks)
    if there and not known.keys() & set(there):
        shown = (
            ", ".join(repr(shortened(name, _LONGEST)) for name in sorted(names)[:SHOWN])
            for names in (there, known)
        )
        of_index, of_corpus = shown
        raise AdapterError(
            f"no tenant of the index is one of the corpus: the index has {of_index}, the corpus "
            f"{of_corpus}",
            code=Code.WRONG_COUNT,
            remedy="attach.tenant must name the field that holds the owners, and the corpus file "
            "must name them as that field does",
        )


def check_covered(description: Description, chunks: Sequence[Chunk]) -> None:
    """Who owns a chunk that no record holds nobody can say, nor whether showing it is a leak."""
    known = count_per_tenant(chunks)
    more = [
        f"{tenant!r:.80} has {plural(count, 'chunk')} in the index and {known.get(tenant, 0)} in "
        "the corpus"
        for tenant, count in sorted(description.chunks.items())
        if count > known.get(tenant, 0) and tenant != NOBODY
    ]
    if more:
        rest = f"; and {plural(len(more) - 3, 'tenant')} more" if len(more) > 3 else ""
        raise AdapterError(
            f"the corpus does not cover the index: {'; '.join(more[:3])}{rest}",
            code=Code.WRONG_COUNT,
            remedy="either the corpus lacks chunks: export every chunk of the index, with its true "
            "owner; or chunks of the index bear a wrong owner: compare them with what they were "
            "made of, and do not export them as they are; attach.tenant must name their field",
        )


def differences(
    description: Description, expected: Mapping[str, int], found: LookedUp | None = None
) -> str:
    """What lacks, what is more, and what has no owner; by id where nothing was counted."""
    absent = _not_counted(description, expected, found.lacking if found else {})
    by_id = [_by_id(found.asked, absent)] if found and absent else []
    if not any(description.chunks.values()):
        return f"it {', '.join(by_id)}" if by_id else ""
    surplus = {
        tenant: description.chunks.get(tenant, 0) - expected.get(tenant, 0)
        for tenant in sorted({*description.chunks, *expected} - {NOBODY})
    }
    parts = []
    for word, sign in (("lacks", -1), ("holds beside the corpus", 1)):
        counts = {tenant: sign * count for tenant, count in surplus.items() if sign * count > 0}
        if counts:
            shown = ", ".join(f"{count} of {tenant!r}" for tenant, count in _first(counts))
            more = (
                f" and {plural(len(counts) - SHOWN, 'tenant')} more" if len(counts) > SHOWN else ""
            )
            of_corpus = " of the corpus" if sign < 0 else ""
            parts.append(
                f"{word} {plural(sum(counts.values()), 'chunk')}{of_corpus} ({shown}{more})"
            )
    if ownerless := description.chunks.get(NOBODY):
        parts.append(f"holds {plural(ownerless, 'chunk')} without an owner")
    parts += by_id
    return f"it {', '.join(parts)}" if parts else ""


def _not_counted(
    description: Description, expected: Mapping[str, int], lacking: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """What is not there by id where the counts do not tell it: as many others are."""
    return {
        tenant: absent
        for tenant, absent in lacking.items()
        if not description.chunks
        or len(absent) > expected.get(tenant, 0) - description.chunks.get(tenant, 0)
    }


def _by_id(asked: int, absent: Mapping[str, Sequence[str]]) -> str:
    count = sum(map(len, absent.values()))
    shown = ", ".join(
        f"{len(uids)} of {tenant!r}, e.g. {uids[0]!r}" for tenant, uids in _first(absent)
    )
    more = f" and {plural(len(absent) - SHOWN, 'tenant')} more" if len(absent) > SHOWN else ""
    return (
        f"lacks {count} of {plural(asked, 'chunk')} of the corpus that were asked for by id, each "
        f"as its owner ({shown}{more})"
    )


def _first(counts: Mapping[str, T]) -> list[tuple[str, T]]:
    return list(counts.items())[:SHOWN]
