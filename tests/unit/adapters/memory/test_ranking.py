"""Cosines, ties and fusion against what is written out by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from memory_support import ACME, ask, chunk, opened, uids
from retrieverbench.model import Mode

pytestmark = pytest.mark.anyio


async def test_dense_is_the_cosine_whatever_the_lengths() -> None:
    memory = await opened(
        [chunk(ACME, "far", "x", 0, 2), chunk(ACME, "near", "x", 3, 4)], dimension=2
    )
    response = await ask(memory, "dense", "", 10, 0)
    assert uids(response) == ["acme/near", "acme/far"]
    assert [hit.score for hit in response.hits] == pytest.approx([0.6, 0.0], abs=1e-6)


async def test_dense_agrees_with_cosines_added_up_one_by_one() -> None:
    dice = random.Random(7)
    vectors = {f"{i:03}": [dice.gauss(0, 1) for _ in range(33)] for i in range(300)}
    memory = await opened([chunk(ACME, i, "x", *v) for i, v in vectors.items()], dimension=33)
    question = [dice.gauss(0, 1) for _ in range(33)]

    def cosine(v: Sequence[float]) -> float:
        dot = math.fsum(a * b for a, b in zip(v, question, strict=True))
        return dot / math.hypot(*v) / math.hypot(*question)

    expected = sorted(vectors, key=lambda i: -cosine(vectors[i]))[:20]
    response = await ask(memory, "dense", "", *question, k=20)
    assert uids(response) == [f"acme/{i}" for i in expected]
    assert response.hits[0].score == pytest.approx(cosine(vectors[expected[0]]), abs=1e-6)


@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_equal_scores_come_in_order_of_uid(mode: Mode) -> None:
    """Equal vectors must score equally wherever they lie, also at the cut."""
    dice = random.Random(3)
    vectors = [[dice.gauss(0, 1) for _ in range(384)] for _ in range(2)]
    texts = ["words", "words and more"]
    ids = [f"{i:04}" for i in range(5003)]
    memory = await opened(
        [chunk(ACME, i, texts[int(i) % 2], *vectors[int(i) % 2]) for i in dice.sample(ids, 5003)],
        dimension=384,
    )
    response = await ask(memory, mode, "words", *vectors[0], k=5003)
    assert uids(response) == [f"acme/{i}" for i in ids[::2] + ids[1::2]]
    assert len({hit.score for hit in response.hits}) == 2
    cut = await ask(memory, mode, "words", *vectors[0], k=17)
    assert cut.hits == response.hits[:17]


async def test_fused_ties_come_in_order_of_uid() -> None:
    memory = await opened(
        [chunk(ACME, "b", "words", 0, 1), chunk(ACME, "a", "other", 1, 0)], dimension=2
    )
    response = await ask(memory, "hybrid", "words", 1, 0, k=1)
    assert uids(response) == ["acme/b"]  # both legs know it
    tied = await opened(
        [chunk(ACME, i, "words", 1, 0) for i in "cab"],
        dimension=2,
        options={"search": {"depth": 1}},
    )
    assert uids(await ask(tied, "hybrid", "words", 1, 0, k=3)) == ["acme/a", "acme/b", "acme/c"]


async def test_hybrid_is_reciprocal_rank_fusion_of_both_legs() -> None:
    chunks = [
        chunk(ACME, "both", "refund", 1, 1),
        chunk(ACME, "dense", "other", 1, 0),
        chunk(ACME, "words", "refund refund", 0, 1),
    ]
    memory = await opened(chunks, dimension=2)
    response = await ask(memory, "hybrid", "refund", 1, 0)
    assert uids(response) == ["acme/words", "acme/both", "acme/dense"]
    expected = [1 / 63 + 1 / 61, 1 / 62 + 1 / 62, 1 / 61]
    assert [hit.score for hit in response.hits] == pytest.approx(expected)


async def test_fusion_looks_at_the_asked_depth_of_each_leg() -> None:
    chunks = [
        chunk(ACME, "both", "refund and more words", 1, 1),
        chunk(ACME, "dense", "other", 1, 0),
        chunk(ACME, "words", "refund", -1, 0),
    ]
    memory = await opened(chunks, dimension=2, options={"search": {"depth": 1, "rrf_k": 1}})
    response = await ask(memory, "hybrid", "refund", 1, 0, k=1)
    assert [(hit.uid, hit.score) for hit in response.hits] == [("acme/dense", 0.5)]
    whole = await opened(chunks, dimension=2, options={"search": {"rrf_k": 1}})
    response = await ask(whole, "hybrid", "refund", 1, 0, k=1)
    assert [(hit.uid, hit.score) for hit in response.hits] == [("acme/words", 0.75)]
    deeper = await ask(memory, "hybrid", "refund", 1, 0, k=2)
    assert uids(deeper)[0] == "acme/both"
