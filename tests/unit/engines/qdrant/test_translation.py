"""Filters, fusions and statistics through the front, as Qdrant 1.19.0 computes them."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest

from qdrant_front_support import A, B, V, ids, ok
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_empty_filters_match_all_and_empty_lists_none(
    http: httpx.AsyncClient, c: str
) -> None:
    forms: list[dict[str, Any]] = [{}, {"must": []}, {"should": []}, {"must": [{}]}]
    for every in (*forms, {"must": [{"must": []}]}):
        assert len(await ids(http, c, {"query": V, "filter": every})) == 4, every
    nobody = {"must": [{"key": "t", "match": {"any": []}}]}
    assert await ids(http, c, {"query": V, "filter": nobody}) == []
    assert await ids(http, c, {"query": V, "filter": {"must": [{"has_id": []}]}}) == []


async def test_matching_is_exact(http: httpx.AsyncClient, c: str) -> None:
    for other in ("a", " A", "A ", "\N{FULLWIDTH LATIN CAPITAL LETTER A}", "", "A\0", "B'"):
        condition = {"must": {"key": "t", "match": {"value": other}}}
        assert await ids(http, c, {"query": V, "filter": condition}) == [], repr(other)
    assert sorted(await ids(http, c, {"query": V, "filter": A})) == [2, 4]
    assert sorted(await ids(http, c, {"query": V, "filter": {"must_not": A["must"]}})) == [1, 3]


async def test_root_and_prefetch_filters_are_joined(http: httpx.AsyncClient, s: str) -> None:
    fused = {"query": {"fusion": "rrf"}, "limit": 50}
    legs = [
        {"query": V, "using": "d", "filter": A, "limit": 50},
        {"query": {"indices": [0, 1, 2, 3], "values": [1, 1, 1, 1]}, "using": "w", "limit": 50},
    ]
    leaky = await ids(http, s, {**fused, "prefetch": legs})
    assert {n % 2 for n in leaky} == {0, 1}, "a leg without filter must show the others"
    both = await ids(http, s, {**fused, "prefetch": legs, "filter": A})
    assert sorted(both) == list(range(0, 40, 2))
    assert await ids(http, s, {**fused, "prefetch": [legs[0]], "filter": B}) == []


async def test_rrf_counts_ranks_from_zero(http: httpx.AsyncClient, s: str) -> None:
    leg = {"query": V, "using": "d", "limit": 3, "params": {"exact": True}}
    queries: list[tuple[dict[str, Any], int]] = [
        ({"fusion": "rrf"}, 2),
        ({"rrf": {}}, 2),
        ({"rrf": {"k": 61}}, 61),
    ]
    for query, k in queries:
        body = {"query": query, "prefetch": [leg, leg]}
        found = await ok(http, "POST", f"/collections/{s}/points/query", body)
        scores = [row["score"] for row in found["points"]]
        assert scores == pytest.approx([2 / (k + rank) for rank in range(3)], abs=1e-6)


async def test_idf_is_over_all_tenants_unless_told(http: httpx.AsyncClient, s: str) -> None:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): 10 of all 40 have the term, 10 of A's 20."""
    body = {"query": {"indices": [0], "values": [1.0]}, "using": "w", "filter": A, "limit": 1}
    found = await ok(http, "POST", f"/collections/{s}/points/query", body)
    shared = found["points"][0]["score"]
    body["params"] = {"idf": {"corpus": A}}
    found = await ok(http, "POST", f"/collections/{s}/points/query", body)
    alone = found["points"][0]["score"]
    assert shared == pytest.approx(math.log(1 + 30.5 / 10.5), abs=1e-5)
    assert alone == pytest.approx(math.log(1 + 10.5 / 10.5), abs=1e-5)


async def test_a_sparse_query_returns_matches_only(http: httpx.AsyncClient, s: str) -> None:
    queries: list[dict[str, Any]] = [
        {"indices": [], "values": []},
        {"indices": [12345], "values": [1.0]},
    ]
    for query in queries:
        assert await ids(http, s, {"query": query, "using": "w"}) == []


async def test_facets_and_counts_carry_their_filter(http: httpx.AsyncClient, s: str) -> None:
    facet = await ok(http, "POST", f"/collections/{s}/facet", {"key": "t", "exact": True})
    assert sorted((hit["value"], hit["count"]) for hit in facet["hits"]) == [("A", 20), ("B", 20)]
    facet = await ok(http, "POST", f"/collections/{s}/facet", {"key": "t", "filter": A})
    assert [hit["value"] for hit in facet["hits"]] == ["A"]
    assert (await ok(http, "POST", f"/collections/{s}/points/count", {"filter": A}))["count"] == 20


async def test_batches_of_queries(http: httpx.AsyncClient, c: str) -> None:
    body = {"searches": [{"query": V, "filter": A}, {"query": V, "filter": B, "limit": 1}]}
    one, other = await ok(http, "POST", f"/collections/{c}/points/query/batch", body)
    assert sorted(row["id"] for row in one["points"]) == [2, 4]
    assert [row["id"] for row in other["points"]] == [1]
