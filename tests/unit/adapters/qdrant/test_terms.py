"""Texts as sparse vectors."""

from __future__ import annotations

import math

import pytest

from retrieverbench_adapters.qdrant.terms import Lexicon, count, document_weights, term_id

COUNTS = count([7, 9, 7])


def test_english_analysis() -> None:
    terms = list(Lexicon().terms("The Refunds of ERR-4012 aren't the customer’s; v1.2.3 café_x"))  # noqa: RUF001
    assert terms == ["refund", "err", "4012", "aren't", "custom", "v1.2.3", "café_x"]


def test_term_ids_are_the_same_everywhere() -> None:
    assert term_id("refund") == 1155478322


def test_terms_that_share_an_id_count_as_one_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieverbench_adapters.qdrant.terms.term_id", len)
    lexicon = Lexicon()
    counts = lexicon.count_chunk("red sky blue sky")
    assert (list(counts.ids), list(counts.counts), counts.length) == ([3, 4], [3, 1], 4)
    assert lexicon.collisions() == 1


def test_weights_are_bm25_without_idf() -> None:
    weights = document_weights(COUNTS, average=6.0, k1=1.2, b=0.75)
    norm = 1.2 * (0.25 + 0.75 * 3 / 6)
    assert weights == pytest.approx([2 / (2 + norm), 1 / (1 + norm)])
    assert document_weights(COUNTS, average=6.0, k1=0.0, b=0.0) == [1.0, 1.0]
    assert all(map(math.isfinite, weights))
