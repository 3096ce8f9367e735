"""The embedder for unit tests."""

from __future__ import annotations

import math

import pytest

from retrieverbench.embedding import HashingEmbedder

pytestmark = pytest.mark.anyio


async def test_equal_texts_have_equal_unit_vectors() -> None:
    embedder = HashingEmbedder(32)
    one, two = await embedder.embed_documents(["refund of money", "holiday"])
    (asked,) = await embedder.embed_queries(["refund of money"])
    assert asked == one != two
    assert math.hypot(*one) == pytest.approx(1, abs=1e-6)
    assert len(one) == embedder.dimension == 32


async def test_shared_words_are_nearer_than_none() -> None:
    asked, near, far = await HashingEmbedder().embed_documents(
        ["refund policy", "refund deadline", "holiday request"]
    )
    assert _dot(asked, near) > 0.3 > _dot(asked, far)


async def test_an_empty_text_has_a_vector() -> None:
    (vector,) = await HashingEmbedder(1).embed_documents([""])
    assert abs(vector[0]) == 1


def test_its_name_says_what_it_is_not_for() -> None:
    assert "unit tests only" in HashingEmbedder().identity["model"]


def _dot(one: object, two: object) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))  # type: ignore[call-overload]
