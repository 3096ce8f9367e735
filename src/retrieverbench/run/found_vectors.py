"""Whether chunks that a backend held before were loaded with the vectors that are sent now.

No adapter reads vectors back, but each searches by them: the nearest chunk to a chunk's own
vector is that chunk, unless another vector was stored for it. Another model's vector finds it no
sooner than chance does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from retrieverbench.adapter import Adapter, Settings
from retrieverbench.errors import AdapterError, BackendError
from retrieverbench.model import Chunk, Hit, Query
from retrieverbench.run.checks import check_response
from retrieverbench.run.guard import Abandoned
from retrieverbench.run.quality import search_once
from retrieverbench.storage import ChunkStore

SAMPLE = 20
LEAST_ANSWERS = 5
"""Fewer answers prove nothing: an approximate search misses a chunk now and then."""
LEAST_SHARE = 0.5
"""Of the answers that find the chunk: about all with its own vector, a tenth by chance."""
_TENTH = 10
_ROUNDING = 1e-4


@dataclass(slots=True)
class FoundSample:
    """Chunks that were there already, chosen evenly among all that are offered."""

    chunks: list[Chunk] = field(default_factory=list)
    _offered: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(0))

    def offer(self, chunks: Iterable[Chunk]) -> None:
        """Keep some of them, instead of others (reservoir sampling, algorithm R)."""
        for chunk in chunks:
            self._offered += 1
            if len(self.chunks) < SAMPLE:
                self.chunks.append(chunk)
            elif (place := self._random.randrange(self._offered)) < SAMPLE:
                self.chunks[place] = chunk


async def check_found_vectors(
    adapter: Adapter,
    settings: Settings,
    sample: Sequence[Chunk],
    chunks: Sequence[Chunk],
    per_tenant: Mapping[str, int],
    remedy: str,
) -> int:
    """Search each chunk of a sample by its own vector; how many answers there were.

    Asked for is at most a tenth of the tenant's chunks, and nothing where it has fewer than ten.
    0 where the answers are too few to tell, or dense search is not asked for. Raises
    AdapterError, with the `remedy`, where less than half of them find what was asked for.
    """
    found = []
    for chunk in sample if "dense" in settings.modes else ():
        k = min(_TENTH, per_tenant[chunk.tenant.value] // _TENTH)
        if not k or chunk.vector is None:
            continue
        query = Query(chunk.searchable_text, chunk.tenant, k, "dense", chunk.vector)
        try:
            hits = check_response(await search_once(adapter, query, settings.timeout), query)
        except Abandoned:
            raise
        except BackendError:
            continue  # that searches fail is what the quality pass finds
        if hits:
            found.append(_finds(hits, chunk, chunks))
    if len(found) < LEAST_ANSWERS:
        return 0
    if sum(found) < LEAST_SHARE * len(found):
        raise AdapterError(
            f"of {len(found)} chunks that were there already only {sum(found)} are found by their "
            "own vectors: they were loaded with those of another model",
            remedy=remedy,
        )
    return len(found)


def _finds(hits: Sequence[Hit], chunk: Chunk, chunks: Sequence[Chunk]) -> bool:
    """Whether it is among them, or one that is as near by the vectors that we know."""
    if any(hit.uid == chunk.uid for hit in hits):
        return True
    others = (_by_uid(chunks, hit.uid) for hit in hits)
    least = _product(chunk, chunk) * (1 - _ROUNDING)
    return any(other is not None and _product(other, chunk) >= least for other in others)


def _product(one: Chunk, other: Chunk) -> float:
    """The inner product, by which a longer vector may be nearer than the same one."""
    return sum(a * b for a, b in zip(one.vector or (), other.vector or (), strict=True))


def _by_uid(chunks: Sequence[Chunk], uid: str) -> Chunk | None:
    if isinstance(chunks, ChunkStore):
        return chunks.by_uid(uid)
    return next((chunk for chunk in chunks if chunk.uid == uid), None)
