"""Metrics, quantized indexes and weights of the legs, against a real server with pgvector."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from pgvector_support import (
    ACME,
    EXACT,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    uids,
    vector,
)
from retrieverbench.engines import Started
from retrieverbench.errors import InputError
from retrieverbench.model import Layout, Query
from retrieverbench_adapters.pgvector import Pgvector

pytestmark = [pytest.mark.anyio, needs_server]

QUICK = {"m": 8, "ef_construction": 16}
RNG = random.Random(21)
WIDE = 64
CHUNKS = [replace(c, vector=vector(RNG, WIDE)) for c in make_chunks(ACME, 1_500)]
VECTORS = {c.uid: c.vector or () for c in CHUNKS}


def wide(seed: int, k: int = 10) -> Query:
    return make_query(ACME, k=k, vector=vector(random.Random(seed), WIDE))


async def recall(adapter: Pgvector, expected: dict[int, list[str]]) -> float:
    found = [set(uids(await adapter.search(wide(seed)))) & set(expected[seed]) for seed in expected]
    return sum(map(len, found)) / sum(map(len, expected.values()))


async def test_quantized_candidates_are_ordered_again_by_the_vectors(server: Started) -> None:
    async with loaded(server, CHUNKS, dimension=WIDE, options=EXACT) as exact:
        expected = {seed: uids(await exact.search(wide(seed))) for seed in range(10)}
        best = (await exact.search(wide(0))).hits[0].score
    reached = {}
    for quantization, oversampling in (("halfvec", 1), ("binary", 1), ("binary", 20)):
        options = {
            "place": {"quantization": quantization, **QUICK},
            "search": {"oversampling": oversampling},
        }
        async with loaded(server, CHUNKS, dimension=WIDE, options=options) as adapter:
            plan = await adapter.explain(wide(0))
            assert plan.vector_index == "chunks_vector"
            words = {"halfvec": "halfvec(64)", "binary": "binary_quantize"}
            assert words[quantization] in str(plan.lines)
            settings = (await adapter.describe()).settings
            assert settings["quantization"] == quantization
            reached[quantization, oversampling] = await recall(adapter, expected)
            hits = (await adapter.search(wide(0))).hits
            assert len(hits) == 10
            assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
            assert all(h.score == pytest.approx(best) for h in hits if h.uid == expected[0][0])
    assert reached["halfvec", 1] > 0.6
    assert reached["binary", 20] > reached["binary", 1] + 0.2


def score(metric: str, query: Query, uid: str) -> float:
    one, other = query.vector or (), VECTORS[uid]
    if metric == "l2":
        return -math.dist(one, other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("metric", "exact", "layout"),
    [
        ("inner_product", True, "filter"),
        ("inner_product", False, "filter"),
        ("l2", True, "filter"),
        ("l2", False, "index"),
    ],
)
async def test_other_metrics_agree_with_brute_force(
    server: Started, metric: str, exact: bool, layout: Layout
) -> None:
    options = {"place": {"metric": metric, **QUICK}, "search": {"exact": exact}}
    async with loaded(server, CHUNKS, dimension=WIDE, options=options, layout=layout) as adapter:
        agreed = 0
        for seed in range(5):
            query = wide(seed)
            best = sorted(VECTORS, key=lambda uid: -score(metric, query, uid))[:10]
            response = await adapter.search(query)
            agreed += len(set(uids(response)) & set(best))
            assert [h.score for h in response.hits] == pytest.approx(
                [score(metric, query, uid) for uid in uids(response)], abs=1e-4
            )
            assert not exact or uids(response) == best
        assert agreed >= 25
        assert (await adapter.describe()).settings["metric"] == metric
        assert bool((await adapter.explain(wide(0))).vector_index) is not exact


async def test_legs_are_weighted_and_a_leg_without_weight_adds_nothing(server: Started) -> None:
    chunks = make_chunks(ACME, 60, seed=5)

    async def ranked(mode: Any, **search: Any) -> list[tuple[str, float]]:
        options = {"search": {"exact": True, "depth": 15, **search}}
        async with loaded(server, chunks, options=options) as adapter:
            hits = (await adapter.search(make_query(ACME, mode, k=15))).hits
            return [(hit.uid, hit.score) for hit in hits]

    dense, lexical = await ranked("dense"), await ranked("lexical")
    expected: dict[str, float] = {}
    for leg, weight in ((dense, 2.0), (lexical, 0.5)):
        for rank, (uid, _) in enumerate(leg, start=1):
            expected[uid] = expected.get(uid, 0) + weight / (60 + rank)
    order = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:15]
    weighted = await ranked("hybrid", dense_weight=2.0, lexical_weight=0.5)
    assert [uid for uid, _ in weighted] == [uid for uid, _ in order]
    assert [score for _, score in weighted] == pytest.approx([score for _, score in order])

    alone = await ranked("hybrid", lexical_weight=0.0)
    assert [uid for uid, _ in alone] == [uid for uid, _ in dense]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": {"dense_weight": 0.0, "lexical_weight": 0.0}}, "both are 0"),
        ({"place": {"quantization": "binary", "metric": "l2"}}, "only 'cosine'"),
        ({"place": {"quantization": "int4"}}, "'int4' is unknown"),
    ],
)
async def test_what_cannot_be_meant_is_refused(server: Started, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        async with loaded(server, [], options=options):
            pytest.fail("opened")
