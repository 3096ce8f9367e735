"""Chunks that an index of the user's gives to another tenant than the corpus says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from retrieverbench.adapter import NOBODY, Adapter, Description, ReadsById
from retrieverbench.errors import BackendError, TenantError
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run.attach import AttachEntry
from retrieverbench.run.covering import MOST_AT_ONCE, LookedUp, check_covered, look_up
from retrieverbench.run.guard import Abandoned, Step
from retrieverbench.run.loading import count_per_tenant

MOST_ASKERS = 20
"""Tenants that are asked for what is lacking, those with too many chunks first."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A chunk of `owner` by the corpus, which the index let `shown_to` read by its id."""

    uid: str
    owner: str
    shown_to: str

    @property
    def told(self) -> str:
        """Both owners in words."""
        return f"in the index it bears the owner {self.shown_to!r}"


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
    found = await look_up(adapter, entry, chunks, step)
    misplaced = await find_misplaced(adapter, found, description, chunks, step)
    if not misplaced:
        check_covered(description, chunks)
    return found, misplaced


async def find_misplaced(
    adapter: Adapter,
    found: LookedUp,
    description: Description,
    chunks: Sequence[Chunk],
    step: Step,
) -> tuple[Misplaced, ...]:
    """Ask as other tenants for what its owner has not: as those that have too many, or lack some.

    A backend that cannot be asked so shows nothing. Raises Abandoned.
    """
    if not found.lacking or not isinstance(adapter, ReadsById):
        return ()
    owners = {uid: tenant for tenant, uids in found.lacking.items() for uid in uids}
    known = count_per_tenant(chunks)
    more = [t for t, n in description.chunks.items() if n > known.get(t, 0) and t != NOBODY]
    shown = []
    for name in islice(dict.fromkeys([*more, *found.lacking]), MOST_ASKERS):
        keys = {key: uid for key, uid in found.keys.items() if owners[uid] != name}
        wanted = list(islice(keys, MOST_AT_ONCE))
        try:
            hits = await step.call(partial(adapter.get, TenantId(name), wanted)) if wanted else []
            shown += [Misplaced(keys[h.uid], owners[keys[h.uid]], name) for h in hits]
        except Abandoned:
            raise
        except (BackendError, TenantError, KeyError):
            continue
    return tuple(shown)
