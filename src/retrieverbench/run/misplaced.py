"""Chunks that an index of the user's gives to another tenant than the corpus says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random

import anyio

from retrieverbench.adapter import NOBODY, Adapter, Description, ReadsById
from retrieverbench.errors import BackendError, TenantError
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run.attach import AttachEntry, key_of
from retrieverbench.run.covering import (
    MOST_AT_ONCE,
    MOST_CHUNKS,
    MOST_SECONDS,
    LookedUp,
    check_common,
    check_covered,
    look_up,
)
from retrieverbench.run.guard import Abandoned, Step
from retrieverbench.run.identified import check_known
from retrieverbench.run.loading import count_per_tenant

MOST_ASKERS = 20
"""Tenants that are asked as, those with too many chunks first."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A chunk of `owner` by the corpus, which the index let `shown_to` read by its id.

    `shared` when its owner may read it, too: it is there twice, or has several owners.
    """

    uid: str
    owner: str
    shown_to: str
    shared: bool = False

    @property
    def told(self) -> str:
        """Both owners in words."""
        as_well = ", too" if self.shared else ""
        return f"in the index it bears the owner {self.shown_to!r}{as_well}"


async def looked_up(
    adapter: Adapter,
    entry: AttachEntry,
    chunks: Sequence[Chunk],
    description: Description,
    step: Step,
) -> tuple[LookedUp, tuple[Misplaced, ...]]:
    """What an index lacks by id and gives to others; AdapterError for one with unknown chunks.

    Chunks that others were shown are a leak to be judged, and no fault of the corpus.
    """
    check_common(description, chunks)
    found = await look_up(adapter, entry, chunks, step)
    misplaced = await find_misplaced(adapter, entry, found, description, chunks, step)
    if found.is_none_there and not misplaced:
        await check_known(adapter, entry, found, chunks, step)
    if not misplaced:
        check_covered(description, chunks)
    return found, misplaced


async def find_misplaced(
    adapter: Adapter,
    entry: AttachEntry,
    found: LookedUp,
    description: Description,
    chunks: Sequence[Chunk],
    step: Step,
) -> tuple[Misplaced, ...]:
    """Ask as other tenants for what its owner has not, and as those with too many for all.

    What one has too many may be another's chunk a second time. As many are asked for as in
    `look_up`. A backend that cannot be asked so shows nothing. Raises Abandoned.
    """
    if "get" not in adapter.capabilities or not isinstance(adapter, ReadsById):
        return ()
    owners = {uid: tenant for tenant, uids in found.lacking.items() for uid in uids}
    lacking = {key: (uid, owners[uid]) for key, uid in found.keys.items()}
    known = count_per_tenant(chunks)
    more = [t for t, n in description.chunks.items() if n > known.get(t, 0) and t != NOBODY]
    every = _keys_of(entry, chunks) if more else {}
    shown: list[Misplaced] = []
    deadline = anyio.current_time() + MOST_SECONDS
    for name in islice(dict.fromkeys([*more, *found.lacking]), MOST_ASKERS):
        asked = lacking | every if name in more else lacking
        foreign = [key for key, (_, owner) in asked.items() if owner != name]
        for first in range(0, len(foreign), MOST_AT_ONCE):
            wanted = foreign[first : first + MOST_AT_ONCE]
            try:
                hits = await step.call(partial(adapter.get, TenantId(name), wanted))
                given = [hit.uid for hit in hits]
                shown += [Misplaced(*asked[key], name, key not in lacking) for key in given]
            except Abandoned:
                raise
            except (BackendError, TenantError, KeyError):
                break
            if anyio.current_time() > deadline:
                return tuple(shown)
    return tuple(shown)


def _keys_of(entry: AttachEntry, chunks: Sequence[Chunk]) -> dict[str, tuple[str, str]]:
    """The uid and the owner of chunks drawn from the corpus, by their ids in the index."""
    drawn = Random(0).sample(range(len(chunks)), min(len(chunks), MOST_CHUNKS))
    named = ((key_of(entry.matches, chunk := chunks[number]), chunk) for number in sorted(drawn))
    return {key: (chunk.uid, chunk.tenant.value) for key, chunk in named if key is not None}
