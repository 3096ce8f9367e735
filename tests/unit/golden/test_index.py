"""Look-ups in a corpus."""

from __future__ import annotations

from retrieverbench.golden.index import index_corpus
from retrieverbench.model import Chunk, Corpus, TenantId

ACME, GLOBEX, NOBODY = TenantId("acme"), TenantId("globex"), TenantId("nobody")
CHUNKS = (
    Chunk("a", ACME, "1", doc_id="d"),
    Chunk("a", GLOBEX, "2", doc_id="d"),
    Chunk("b", GLOBEX, "3"),
)
INDEX = index_corpus(Corpus("c", CHUNKS, "0"))


def test_own() -> None:
    assert INDEX.own(ACME, "a") == CHUNKS[0]
    assert INDEX.own(ACME, "b") is None
    assert INDEX.own(NOBODY, "a") is None


def test_owners() -> None:
    assert INDEX.owners("a") == [ACME, GLOBEX]
    assert INDEX.owners("b") == [GLOBEX]
    assert INDEX.owners("none") == []


def test_of_document() -> None:
    assert INDEX.of_document(ACME, "d") == [CHUNKS[0]]
    assert INDEX.of_document(NOBODY, "d") == [CHUNKS[0], CHUNKS[1]]
    assert INDEX.of_document(ACME, "b") == [CHUNKS[2]]
    assert INDEX.of_document(None, "none") == []


def test_suggestions_never_name_another_tenants_chunk() -> None:
    assert INDEX.closest(GLOBEX, "B") == "b"
    assert INDEX.closest(ACME, "B") is None
    assert INDEX.closest(NOBODY, "B") is None
