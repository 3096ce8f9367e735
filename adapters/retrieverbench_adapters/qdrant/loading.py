"""Chunks into points: their vectors, their terms, and the average length these wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from retrieverbench.adapter import Settings
from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, TenantId
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.fields import OWN, point_id, tenant_text
from retrieverbench_adapters.qdrant.layouts import Home
from retrieverbench_adapters.qdrant.options import Options
from retrieverbench_adapters.qdrant.places import Places
from retrieverbench_adapters.qdrant.points import bodies, point_row, sparse_vector, vector_row
from retrieverbench_adapters.qdrant.terms import Lexicon, TermCounts, document_weights

_PAGE = 1_000


class Loader:
    """Writes chunks.

    The first terms of a group (a tenant, or all of them where IDF is shared) are weighed
    when the group's average length is known: at `weigh`. It is kept from then on.
    """

    def __init__(
        self,
        server: Server,
        places: Places,
        settings: Settings,
        options: Options,
        lexicon: Lexicon,
        *,
        shared: bool,
    ) -> None:
        self._server = server
        self.places = places
        self._settings = settings
        self._options = options
        self._shared = shared
        self._average: dict[str, float] = {}
        self._waiting: dict[str, dict[tuple[Home, str], TermCounts]] = {}
        self._lexicon = lexicon

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Write chunks; of two with one uid the last counts."""
        last = {chunk.uid: chunk for chunk in chunks}.values()
        ordered = sorted(last, key=lambda chunk: tenant_text(chunk.tenant))
        for home, own in groupby(ordered, key=lambda chunk: self.places.home(chunk.tenant)):
            await self.places.make(home)
            rows = (self._row(chunk, home) for chunk in own)
            await self._write(home, "points", rows)

    async def weigh(self) -> None:
        """Send the sparse vectors that had to wait for an average length."""
        await self._count_terms_of_before()
        for group, waiting in list(self._waiting.items()):
            lengths = [counts.length for counts in waiting.values()]
            self._average[group] = average = max(sum(lengths) / len(lengths), 1.0)
            for home, own in groupby(waiting.items(), key=lambda item: item[0][0]):
                rows = (
                    vector_row(identity, {OWN.sparse: self._weighted(counts, average)})
                    for (_, identity), counts in own
                    if counts.ids
                )
                await self._write(home, "points/vectors", rows)
            del self._waiting[group]

    def settings(self) -> dict[str, object]:
        """What the client's side of BM25 came to; no server can tell it."""
        fixed = self._options.place.avg_len
        averages = sorted(self._average.values()) if fixed is None else [fixed]
        return {
            "avg_len_smallest": averages[0] if averages else None,
            "avg_len_largest": averages[-1] if averages else None,
            "term_hash_collisions": self._lexicon.collisions(),
        }

    async def _count_terms_of_before(self) -> None:
        """Those of a load that was broken off wait for the average of all, as if put now."""
        shown = ["id", OWN.tenant, "text", "title"]
        lexical = bool(self._settings.modes & {"lexical", "hybrid"})
        for name in self.places.taken_over if lexical else ():
            async for points in self._server.pages(name, _PAGE, with_payload=shown):
                for point in points:
                    stored = dict(point.payload or {})
                    chunk = Chunk(tenant=TenantId(stored.pop(OWN.tenant)), **stored)
                    if self._average_for(chunk) is None:
                        counts = self._lexicon.count_chunk(chunk.searchable_text)
                        self._wait(chunk, self.places.home(chunk.tenant), counts)
        self.places.taken_over.clear()

    async def _write(self, home: Home, what: str, rows: Iterable[bytes]) -> None:
        cut: Iterator[bytes] = bodies(rows, self._options.connect.batch_bytes, home.shard)
        await self._server.write_all(home.collection, what, cut)

    def _row(self, chunk: Chunk, home: Home) -> bytes:
        """The point, without a sparse vector where there are no terms, or they must wait."""
        import numpy as np

        vectors: dict[str, object] = {}
        if self._settings.modes & {"dense", "hybrid"}:
            if chunk.vector is None:
                raise InputError(f"chunk {chunk.uid!r}: vector: missing; embed the corpus first")
            vectors[OWN.dense] = np.frombuffer(chunk.vector, dtype=np.float32)
        if not self._settings.modes & {"lexical", "hybrid"}:
            return point_row(chunk, vectors)
        counts = self._lexicon.count_chunk(chunk.searchable_text)
        average = self._average_for(chunk)
        if counts.ids and average is not None:
            vectors[OWN.sparse] = self._weighted(counts, average)
        row = point_row(chunk, vectors)
        if average is None:  # only now: what cannot be sent must not wait
            self._wait(chunk, home, counts)
        return row

    def _average_for(self, chunk: Chunk) -> float | None:
        """The length by which its terms are weighted; None before it is known."""
        return self._options.place.avg_len or self._average.get(self._group(chunk))

    def _wait(self, chunk: Chunk, home: Home, counts: TermCounts) -> None:
        self._waiting.setdefault(self._group(chunk), {})[home, point_id(chunk.uid)] = counts

    def _group(self, chunk: Chunk) -> str:
        """Whose chunks have an average in common."""
        return "" if self._shared else tenant_text(chunk.tenant)

    def _weighted(self, counts: TermCounts, average: float) -> dict[str, object]:
        options = self._options.place
        weights = document_weights(counts, average=average, k1=options.k1, b=options.b)
        return sparse_vector(counts, weights)
