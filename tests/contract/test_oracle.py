"""The backends against the exact reference, on the demo set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine_support import combinations, place_of, unit_vector
from retrieverbench.golden import load_set
from retrieverbench.model import Chunk, GoldenCase, Mode, Query
from retrieverbench.run import Engines, Place, load_adapter

pytestmark = pytest.mark.anyio

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CORPUS, GOLDEN = load_set(
    BENCHMARKS / "golden" / "demo.v1.jsonl", BENCHMARKS / "corpora" / "demo.jsonl"
)
CHUNKS: list[Chunk] = [replace(c, vector=unit_vector(c.uid, 64)) for c in CORPUS.chunks]
EXACT = [
    (name, layout)
    for name, layout in combinations()
    if {"dense", "exact"} <= load_adapter(name).cls.capabilities and layout == "filter"
]


async def answers(place: Place, mode: Mode, cases: tuple[GoldenCase, ...]) -> list[list[str]]:
    found = []
    for case in cases:
        vector = None if mode == "lexical" else unit_vector(case.id, 64)
        response = await place.adapter.search(Query(case.query, case.tenant, 10, mode, vector))
        found.append([hit.uid for hit in response.hits])
    return found


@pytest.mark.parametrize(("name", "layout"), [p for p in EXACT if p[0] != "memory"])
async def test_exact_search_agrees_with_memory_on_every_case(
    engines: Engines, name: str, layout: str
) -> None:
    assert layout == "filter"
    async with await place_of(engines, "memory", "filter", CHUNKS, dimension=64) as reference:
        expected = await answers(reference, "dense", GOLDEN.cases)
    search = {"exact": True}
    async with await place_of(
        engines, name, "filter", CHUNKS, search=search, dimension=64
    ) as place:
        found = await answers(place, "dense", GOLDEN.cases)
    assert found == expected


async def scored(place: Place, case: GoldenCase, k: int) -> list[tuple[str, float]]:
    response = await place.adapter.search(Query(case.query, case.tenant, k, "lexical"))
    return [(hit.uid, hit.score) for hit in response.hits]


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
async def test_lucene_ranks_by_the_same_bm25(engines: Engines, name: str) -> None:
    """Named, because only Lucene can be compared with Lucene's formula, order and all.

    Chunks of equal score may stand in any order; the servers' float32 scores are the
    reference's times k1 + 1 = 2.2 (OpenSearch 3 will not multiply).
    """
    async with (
        await place_of(engines, "memory", "filter", CHUNKS, dimension=64) as reference,
        await place_of(engines, name, "filter", CHUNKS, dimension=64) as place,
    ):
        for case in GOLDEN.cases:
            expected = dict(await scored(reference, case, len(CHUNKS)))
            found = await scored(place, case, 10)
            assert len(found) == min(10, len(expected)), case.id
            best = sorted(expected.values(), reverse=True)[: len(found)]
            assert [expected[uid] for uid, _ in found] == pytest.approx(best, rel=1e-5), case.id
            assert [score for _, score in found] == pytest.approx(
                [2.2 * expected[uid] for uid, _ in found], rel=1e-5
            ), case.id
