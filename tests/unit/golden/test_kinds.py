"""Kinds and documents from ids and texts."""

from __future__ import annotations

import pytest

from retrieverbench.golden.kinds import derive_kind, document_of
from retrieverbench.model import Chunk, TenantId


def chunk(chunk_id: str, text: str = "", doc_id: str | None = None) -> Chunk:
    return Chunk(chunk_id, TenantId("acme"), text, doc_id=doc_id)


@pytest.mark.parametrize(
    ("chunk_id", "document"),
    [
        ("doc-441/payment/deadlines#2", "doc-441"),
        ("https://example.org/docs/a#get-started", "https://example.org/docs/a"),
        ("chatlogs#0-1175", "chatlogs"),
        ("cdc/35c2f56206", "cdc/35c2f56206"),
    ],
)
def test_document_of_an_id(chunk_id: str, document: str) -> None:
    assert document_of(chunk(chunk_id)) == document
    assert document_of(chunk(chunk_id, doc_id="d")) == "d"


@pytest.mark.parametrize(
    ("query", "text", "kind"),
    [
        ("What does error E-1042 mean?", "E-1042: disk full", "identifier"),
        ("What does 'E-1042' mean?", "see (E-1042).", "identifier"),
        ("What does E-104 mean?", "E-1042: disk full", "fact"),
        ("What happened in 19?", "in 1999", "fact"),
        ("What does disk full mean?", "E-1042: disk full", "fact"),
    ],
)
def test_an_identifier_is_held_verbatim_and_whole(query: str, text: str, kind: str) -> None:
    assert derive_kind(query, [chunk("a", text)], unanswerable=False) == kind


def test_one_long_word_is_read_at_once() -> None:
    assert derive_kind("a" * 200_000, (), unanswerable=False) == "fact"
