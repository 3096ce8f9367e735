"""Looks up chunks by tenant, id and document while a golden set is checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrieverbench.golden.ids import Names
from retrieverbench.model import Chunk, Corpus, TenantId


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """The chunks of a corpus by what a label may name.

    `suspects` are ids that stand in the corpus file but could not be read; a label that
    names one is not blamed for it.
    """

    by_tenant: dict[TenantId, dict[str, Chunk]] = field(default_factory=dict)
    owners: dict[str, list[TenantId]] = field(default_factory=dict)
    documents: dict[str, list[Chunk]] = field(default_factory=dict)
    suspects: frozenset[str] = frozenset()
    similar: dict[TenantId, Names] = field(default_factory=dict)

    def own(self, tenant: TenantId, chunk_id: str) -> Chunk | None:
        """The tenant's own chunk of that id."""
        return self.by_tenant.get(tenant, {}).get(chunk_id)

    def closest(self, tenant: TenantId, chunk_id: str) -> str | None:
        """The tenant's chunk id most similar to a wrong one."""
        return self.similar[tenant].closest(chunk_id) if tenant in self.similar else None

    def of_document(self, tenant: TenantId | None, doc_id: str) -> list[Chunk]:
        """A document's chunks: the tenant's own, or another tenant's if it has none.

        A chunk without `doc_id` is a document of its own, named by its id.
        """
        chunks = self.documents.get(doc_id, [])
        own = [c for c in chunks if c.tenant == tenant]
        return own or chunks


def index_corpus(corpus: Corpus, suspects: frozenset[str] = frozenset()) -> CorpusIndex:
    """Make the index; of chunks with one id in one tenant the first is kept."""
    index = CorpusIndex(suspects=suspects)
    for chunk in corpus.chunks:
        index.by_tenant.setdefault(chunk.tenant, {}).setdefault(chunk.id, chunk)
        index.owners.setdefault(chunk.id, []).append(chunk.tenant)
        document = chunk.id if chunk.doc_id is None else chunk.doc_id
        index.documents.setdefault(document, []).append(chunk)
    index.similar.update({t: Names(chunks) for t, chunks in index.by_tenant.items()})
    return index
