"""Scores and order, against a real server with pgvector."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgvector_support import (
    ACME,
    EXACT,
    GLOBEX,
    ask,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    uids,
    vector,
)
from retrieverbench.engines import Started
from retrieverbench.model import MODES, Chunk, Query

pytestmark = [pytest.mark.anyio, needs_server]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))


def brute_force(chunks: Sequence[Chunk], query: Query) -> list[tuple[str, float]]:
    assert query.vector is not None
    scored = [
        (chunk.uid, cosine(query.vector, chunk.vector or ()))
        for chunk in chunks
        if chunk.tenant == query.tenant
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: query.k]


async def test_exact_dense_search_agrees_with_brute_force(server: Started) -> None:
    chunks = [*make_chunks(ACME, 200, seed=2), *make_chunks(GLOBEX, 100, seed=3)]
    async with loaded(server, chunks, options=EXACT) as adapter:
        for seed in range(20):
            query = make_query(ACME, vector=vector(random.Random(seed)))
            expected = brute_force(chunks, query)
            response = await adapter.search(query)
            assert uids(response) == [uid for uid, _ in expected]
            assert [hit.score for hit in response.hits] == pytest.approx(
                [score for _, score in expected], abs=1e-6
            )
        description = await adapter.describe()
        assert "approximate" not in description.properties


async def test_exact_never_uses_the_vector_index_and_the_default_does(server: Started) -> None:
    chunks = make_chunks(ACME, 1_500)
    scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'chunks_vector'"
    for options, used in ((EXACT, False), ({}, True)):
        async with loaded(server, chunks, options=options, concurrency=1) as adapter:
            response = await adapter.search(make_query(ACME))
            assert len(response.hits) == 10
            async with adapter._searchers.take() as connection:
                await connection.execute("SELECT pg_stat_force_next_flush()")
            assert bool((await ask(server, scans))[0][0]) is used


async def test_equal_scores_come_in_the_order_of_uids(server: Started) -> None:
    same = vector(random.Random(1))
    chunks = make_chunks(ACME, 30, vector=same, text="refund policy")
    random.Random(4).shuffle(chunks)
    async with loaded(server, chunks, options=EXACT) as adapter:
        for mode in MODES:
            response = await adapter.search(make_query(ACME, mode, vector=same))
            assert uids(response) == [f"acme/c{number:03}" for number in range(10)], mode


async def test_words_are_ored_stemmed_and_ranked(server: Started) -> None:
    texts = ["refunds refunded refunding", "a policy", "refund policy refunds", "holiday"]
    chunks = [
        replace(chunk, text=text)
        for chunk, text in zip(make_chunks(ACME, len(texts)), texts, strict=True)
    ]
    async with loaded(server, chunks) as adapter:
        response = await adapter.search(make_query(ACME, "lexical", text="the refund policies"))
        assert set(uids(response)) == {"acme/c000", "acme/c001", "acme/c002"}
        assert uids(response)[-1] == "acme/c001"
        scores = [hit.score for hit in response.hits]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0
        for words in ("the of", "", "unheard"):
            assert not (await adapter.search(make_query(ACME, "lexical", text=words))).hits


async def test_titles_are_searched_too(server: Started) -> None:
    chunks = make_chunks(ACME, 3, text="nothing", title="Refunds")
    async with loaded(server, chunks) as adapter:
        response = await adapter.search(make_query(ACME, "lexical", text="refund"))
        assert len(response.hits) == 3


async def test_hybrid_is_the_reciprocal_rank_fusion_of_both_legs(server: Started) -> None:
    chunks = [*make_chunks(ACME, 60, seed=5), *make_chunks(GLOBEX, 60, seed=6)]
    options = {"search": {"exact": True, "rrf_k": 7, "depth": 15}}
    async with loaded(server, chunks, options=options) as adapter:
        expected: dict[str, float] = {}
        for mode in ("dense", "lexical"):
            leg = await adapter.search(make_query(ACME, mode, k=15))
            for rank, uid in enumerate(uids(leg), start=1):
                expected[uid] = expected.get(uid, 0) + 1 / (7 + rank)
        order = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:10]

        response = await adapter.search(make_query(ACME, "hybrid"))

        assert uids(response) == [uid for uid, _ in order]
        assert [hit.score for hit in response.hits] == pytest.approx([score for _, score in order])


async def test_relaxed_order_is_sorted_again(server: Started) -> None:
    options = {"search": {"iterative_scan": "relaxed_order", "ef_search": 1}}
    rng = random.Random(8)
    chunks = [replace(chunk, vector=vector(rng, 32)) for chunk in make_chunks(ACME, 3_000)]
    async with loaded(server, chunks, options=options, dimension=32) as adapter:
        unsorted = 0
        for _ in range(10):
            query = make_query(ACME, k=50, vector=vector(rng, 32))
            found = uids(await adapter.search(query))
            async with adapter._searchers.take() as connection:
                cursor = await connection.execute(
                    "SELECT uid FROM rb_test.chunks WHERE tenant = 'acme' "
                    "ORDER BY vector <=> %s LIMIT 50",
                    [np.asarray(query.vector)],
                )
                as_scanned = [row[0] for row in await cursor.fetchall()]
            unsorted += found != as_scanned
            scores = [hit.score for hit in (await adapter.search(query)).hits]
            assert scores == sorted(scores, reverse=True)
            assert set(found) == set(as_scanned)
        assert unsorted, "the scan must have something to sort, or this proves nothing"


async def test_where_is_anded_and_compares_types_as_json_does(server: Started) -> None:
    values: list[dict[str, Any]] = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.0}, {"b'\"": "x"}]
    chunks = [
        replace(chunk, metadata=metadata)
        for tenant in (ACME, GLOBEX)
        for chunk, metadata in zip(make_chunks(tenant, 5), values, strict=True)
    ]
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"a": 1}, {"c000", "c003"}),
        ({"a": "1"}, {"c001"}),
        ({"a": True}, {"c002"}),
        ({"b'\"": "x"}, {"c004"}),
        ({"a": 1, "b'\"": "x"}, set()),
        ({"tenant": "globex"}, set()),
        ({"a') OR true --": 1}, set()),
    ]
    async with loaded(server, chunks, options=EXACT) as adapter:
        for where, expected in cases:
            response = await adapter.search(make_query(ACME, where=where))
            assert set(uids(response)) == {f"acme/{name}" for name in expected}, where


async def test_text_and_tenant_come_when_wanted(server: Started) -> None:
    chunks = make_chunks(ACME, 3, title="Refunds")
    texts = {chunk.uid: chunk.text for chunk in chunks}
    async with loaded(server, chunks) as adapter:
        for mode in MODES:
            wanted = await adapter.search(
                make_query(ACME, mode, want=frozenset({"text", "tenant"}))
            )
            assert {hit.uid: hit.text for hit in wanted.hits} == texts
            assert {hit.tenant for hit in wanted.hits} == {"acme"}
            bare = await adapter.search(make_query(ACME, mode))
            assert {hit.text for hit in bare.hits} == {None}
