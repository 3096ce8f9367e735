"""Ranks and scores against formulas computed here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qdrant_support import (
    EXACT,
    A,
    B,
    adapter,
    ask,
    chunk,
    load,
    uids,
    unit_vectors,
)
from retrieverbench.engines import Started, qdrant
from retrieverbench.model import Response
from retrieverbench_adapters.qdrant.terms import Lexicon

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_exact_dense_equals_brute_force(front: Started) -> None:
    vectors = unit_vectors(400)
    chunks = [chunk(str(i), (A, B)[i % 2], "text", vectors[i]) for i in range(400)]
    async with adapter(front, options=EXACT) as target:
        await load(target, chunks)
        for asked in unit_vectors(10, seed=1):
            found = await target.search(ask(A, "dense", asked, k=20))
            scores = vectors[::2] @ asked
            best = np.argsort(-scores)[:20]
            assert uids(found) == [f"acme/{2 * i}" for i in best]
            assert [hit.score for hit in found.hits] == pytest.approx(scores[best], abs=1e-6)
        assert "approximate" not in (await target.describe()).properties


async def test_the_graph_is_built_and_used(front: Started) -> None:
    vectors = unit_vectors(1500, 64)
    chunks = [chunk(str(i), A, "", vectors[i]) for i in range(1500)]
    place = {"indexing_threshold": 50, "full_scan_threshold": 10, "m": 6, "ef_construct": 16}
    options = {"place": place, "search": {"hnsw_ef": 10}}
    async with adapter(front, modes=["dense"], dimension=64, options=options) as target:
        await load(target, chunks)
        described = await target.describe()
        assert described.settings["indexed_share"] == 1.0
        assert described.settings["m"] == 6
        assert described.properties == {"approximate"}
        recalls = []
        for asked in unit_vectors(30, 64, seed=1):
            best = {f"acme/{i}" for i in np.argsort(-(vectors @ asked))[:10]}
            recalls.append(len(best & set(uids(await target.search(ask(A, "dense", asked))))) / 10)
        assert 0.2 < np.mean(recalls) < 1.0, "a poor graph must be seen to be one"


async def test_lexical_scores_are_bm25_of_the_tenant_alone(front: Started) -> None:
    texts = ["red fox", "red red dog in the house", "blue fish", "red", "green cat sat on mats"]
    foreign = [chunk(str(i), B, "red red red banana " * 9, unit_vectors(1)[0]) for i in range(40)]
    own = [chunk(str(i), A, text, unit_vectors(1)[0]) for i, text in enumerate(texts)]
    async with adapter(front) as target:
        await load(target, [*own, *foreign])
        found = await target.search(ask(A, "lexical", [], "the red houses"))
    terms = [list(Lexicon().terms(text)) for text in texts]
    average = sum(map(len, terms)) / len(terms)
    expected = {}
    for number, document in enumerate(terms):
        score = 0.0
        for term in ("red", "hous"):
            n = sum(term in other for other in terms)
            tf = document.count(term)
            idf = math.log(1 + (len(terms) - n + 0.5) / (n + 0.5))
            score += idf * tf / (tf + 1.2 * (0.25 + 0.75 * len(document) / average))
        if score > 0:
            expected[f"acme/{number}"] = score
    ranked = sorted(expected, key=lambda uid: -expected[uid])
    assert uids(found) == ranked, "matches only, best first"
    assert [hit.score for hit in found.hits] == pytest.approx(
        [expected[uid] for uid in ranked], abs=1e-5
    )


async def test_shared_idf_is_declared_and_differs(front: Started) -> None:
    own = [chunk(str(i), A, f"red item{i}", unit_vectors(1)[0]) for i in range(5)]
    foreign = [chunk(str(i), B, "red", unit_vectors(1)[0]) for i in range(50)]
    scores = []
    for idf in ("tenant", "collection"):
        async with adapter(front, options={"search": {"idf": idf}}) as target:
            await load(target, [*own, *foreign])
            found = await target.search(ask(A, "lexical", [], "item3 red"))
            scores.append([hit.score for hit in found.hits])
            described = await target.describe()
            assert ("shared_idf" in described.properties) == (idf == "collection")
            assert described.settings["idf"] == idf
    assert scores[0] != pytest.approx(scores[1], abs=1e-3)


async def test_hybrid_is_rrf_with_ranks_from_one(front: Started) -> None:
    texts = [f"{'needle ' * (i % 7)}straw{i}" for i in range(60)]
    vectors = unit_vectors(60)
    chunks = [chunk(str(i), A, text, vectors[i]) for i, text in enumerate(texts)]
    async with adapter(front, options={"search": {"exact": True, "rank_constant": 20}}) as target:
        await load(target, chunks)
        asked = unit_vectors(1, seed=3)[0]
        legs: list[Response] = [
            await target.search(ask(A, mode, asked, "needle straw12 straw40", k=100))
            for mode in ("dense", "lexical")
        ]
        fused = await target.search(ask(A, "hybrid", asked, "needle straw12 straw40", k=100))
    expected: dict[str, float] = {}
    for leg in legs:
        for rank, hit in enumerate(leg.hits, start=1):
            expected[hit.uid] = expected.get(hit.uid, 0.0) + 1 / (20 + rank)
    assert set(uids(fused)) == set(expected)
    dense_only = [hit for hit in fused.hits if hit.uid not in set(uids(legs[1]))]
    assert dense_only, "the test must see rows of one leg alone"
    for hit in dense_only:  # no ties inside the dense leg
        assert hit.score == pytest.approx(expected[hit.uid], abs=1e-6)
    best = max(expected.values())
    assert fused.hits[0].score == pytest.approx(best, abs=5e-3)


async def test_ties_come_by_uid(front: Started) -> None:
    async with adapter(front) as target:
        vector = unit_vectors(1)[0]
        await load(target, [chunk(f"{i:02}", A, "same", vector) for i in (7, 3, 9, 1, 5)])
        found = await target.search(ask(A, "dense", vector))
        assert uids(found) == [f"acme/{i:02}" for i in (1, 3, 5, 7, 9)]
