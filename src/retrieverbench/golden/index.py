"""Looks up chunks by tenant, id and document while a golden set is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from retrieverbench.golden.ids import Names
from retrieverbench.model import Chunk, Corpus, TenantId
from retrieverbench.storage import ChunkStore, stored


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """The chunks of a corpus by what a label may name.

    `suspects` are ids that stand in the corpus file but could not be read; a label that
    names one is not blamed for it, nor one that may stand in a line of which nothing could be
    read (`has_gaps`).
    """

    store: ChunkStore
    suspects: frozenset[str] = frozenset()
    has_gaps: bool = False
    _similar: dict[TenantId, Names] = field(default_factory=dict)

    @property
    def tenants(self) -> Mapping[TenantId, int]:
        """Every tenant that owns chunks, and how many."""
        return self.store.per_tenant

    def own(self, tenant: TenantId, chunk_id: str) -> Chunk | None:
        """The tenant's own chunk of that id."""
        return self.store.own(tenant, chunk_id)

    def owners(self, chunk_id: str) -> list[TenantId]:
        """Every tenant that has a chunk of that id."""
        return self.store.owners(chunk_id)

    def closest(self, tenant: TenantId, chunk_id: str) -> str | None:
        """The tenant's chunk id most similar to a wrong one."""
        if tenant not in self._similar:
            self._similar[tenant] = Names(self.store.ids(tenant))
        return self._similar[tenant].closest(chunk_id)

    def of_document(self, tenant: TenantId | None, doc_id: str) -> list[Chunk]:
        """A document's chunks: the tenant's own, or another tenant's if it has none.

        A chunk without `doc_id` is a document of its own, named by its id.
        """
        chunks = self.store.of_document(doc_id)
        own = [c for c in chunks if c.tenant == tenant]
        return own or chunks


def index_corpus(
    corpus: Corpus, suspects: frozenset[str] = frozenset(), *, has_gaps: bool = False
) -> CorpusIndex:
    """Make the index; of chunks with one id in one tenant the first counts."""
    return CorpusIndex(stored(corpus.chunks), suspects, has_gaps)
