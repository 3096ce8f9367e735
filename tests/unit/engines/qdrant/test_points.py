"""Points written and read through the front."""

from __future__ import annotations

import httpx
import pytest

from qdrant_front_support import V, ids, ok
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_writes_are_acknowledged_as_asked(http: httpx.AsyncClient) -> None:
    point = {"points": [{"id": 0, "vector": {"d": V}}]}
    body = {"vectors": {"d": {"size": 4, "distance": "Cosine"}}}
    await ok(http, "PUT", "/collections/ack", body)
    quick = await ok(http, "PUT", "/collections/ack/points", point)
    waited = await ok(http, "PUT", "/collections/ack/points?wait=true", point)
    assert quick["status"] == "acknowledged"
    assert waited["status"] == "completed"
    assert waited["operation_id"] == quick["operation_id"] + 1
    assert await ok(http, "DELETE", "/collections/ack") is True
    assert await ok(http, "DELETE", "/collections/ack") is False


async def test_ids_come_back_as_dashed_lower_case(http: httpx.AsyncClient, c: str) -> None:
    spelled = "6F1C5AD82A5C4D0A9D0E5A2F3F0F6C11"
    point = {"id": spelled, "vector": V, "payload": {"t": "C"}}
    await ok(http, "PUT", f"/collections/{c}/points?wait=true", {"points": [point]})
    matching = {"filter": {"must": [{"key": "t", "match": {"value": "C"}}]}}
    found = await ok(http, "POST", f"/collections/{c}/points/query", {"query": V, **matching})
    assert [row["id"] for row in found["points"]] == ["6f1c5ad8-2a5c-4d0a-9d0e-5a2f3f0f6c11"]
    await ok(http, "POST", f"/collections/{c}/points/delete?wait=true", matching)
    assert (await ok(http, "POST", f"/collections/{c}/points/count", matching))["count"] == 0


async def test_defaults_of_each_route(http: httpx.AsyncClient, c: str) -> None:
    (row, *_) = (await ok(http, "POST", f"/collections/{c}/points/query", {"query": V}))["points"]
    assert row.keys() == {"id", "version", "score"}
    scrolled = await ok(http, "POST", f"/collections/{c}/points/scroll", {"limit": 2})
    assert scrolled["points"][0].keys() == {"id", "payload"}
    assert scrolled["next_page_offset"] == 3
    one = await ok(http, "GET", f"/collections/{c}/points/2")
    assert one.keys() == {"id", "payload", "vector"}
    body = {"ids": [3, 1, 3, 99]}
    assert await ok(http, "POST", f"/collections/{c}/points", body) == [{"id": 3}, {"id": 1}]
    chosen = {"query": V, "limit": 1, "with_payload": ["n"]}
    (row, *_) = (await ok(http, "POST", f"/collections/{c}/points/query", chosen))["points"]
    assert row["payload"].keys() == {"n"}


async def test_a_vector_comes_back_normalised(http: httpx.AsyncClient, c: str) -> None:
    point = await ok(http, "GET", f"/collections/{c}/points/4")
    assert sum(x * x for x in point["vector"]) == pytest.approx(1.0, abs=1e-6)


async def test_an_owner_is_changed_by_filter(http: httpx.AsyncClient) -> None:
    await ok(http, "PUT", "/collections/moves", {"vectors": {"size": 4, "distance": "Dot"}})
    points = [{"id": n, "vector": V, "payload": {"t": "AB"[n % 2], "n": n}} for n in range(4)]
    await ok(http, "PUT", "/collections/moves/points?wait=true", {"points": points})
    own = {"must": [{"key": "t", "match": {"value": "A"}}, {"has_id": [1, 2]}]}
    await ok(
        http,
        "POST",
        "/collections/moves/points/payload?wait=true",
        {"payload": {"t": "C"}, "filter": own},
    )
    rows = (await ok(http, "POST", "/collections/moves/points/scroll", {}))["points"]
    assert [row["payload"] for row in rows] == [
        {"t": "A", "n": 0}, {"t": "B", "n": 1}, {"t": "C", "n": 2}, {"t": "B", "n": 3},
    ]  # fmt: skip
    await ok(http, "DELETE", "/collections/moves")


async def test_the_server_embeds_texts_by_its_own_bm25(http: httpx.AsyncClient) -> None:
    await ok(http, "PUT", "/collections/bm25", {"sparse_vectors": {"w": {"modifier": "idf"}}})
    points = [
        {"id": n, "vector": {"w": {"text": text, "model": "Qdrant/bm25"}}}
        for n, text in enumerate(["red foxes", "a blue fish", "the red, red dog"])
    ]
    await ok(http, "PUT", "/collections/bm25/points?wait=true", {"points": points})
    asked = {"query": {"text": "Red", "model": "qdrant/bm25"}, "using": "w"}
    assert await ids(http, "bm25", asked) == [2, 0]
    await ok(http, "DELETE", "/collections/bm25")
