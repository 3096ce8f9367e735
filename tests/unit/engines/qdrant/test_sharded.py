"""Custom shards: where points go, what is seen, and what a single server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from qdrant_front_support import V, front, ids, ok, refused, tenant_index
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


@pytest.fixture(scope="module")
async def cluster(http: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """The front with a collection of two custom shards."""
    body = {"vectors": {"size": 4, "distance": "Cosine"}, "sharding_method": "custom"}
    await ok(http, "PUT", "/collections/sharded", body)
    await ok(http, "PUT", "/collections/sharded/index?wait=true", tenant_index("t"))
    for key in ("A", "B"):
        await ok(http, "PUT", "/collections/sharded/shards", {"shard_key": key})
        points = [{"id": n, "vector": V, "payload": {"t": key}} for n in range(3)]
        rows = {"shard_key": key, "points": points}
        await ok(http, "PUT", "/collections/sharded/points?wait=true", rows)
    yield http
    await ok(http, "DELETE", "/collections/sharded")


async def test_a_search_sees_its_shard_only(cluster: httpx.AsyncClient) -> None:
    points = [{"id": 9, "vector": V, "payload": {"t": "B"}}]
    body = {"shard_key": "B", "points": points}
    await ok(cluster, "PUT", "/collections/sharded/points?wait=true", body)
    assert sorted(await ids(cluster, "sharded", {"query": V, "shard_key": "A"})) == [0, 1, 2]
    assert sorted(await ids(cluster, "sharded", {"query": V, "shard_key": ["B"]})) == [0, 1, 2, 9]
    gone = {"shard_key": "B", "points": [9]}
    await ok(cluster, "POST", "/collections/sharded/points/delete?wait=true", gone)
    assert sorted(await ids(cluster, "sharded", {"query": V, "shard_key": "B"})) == [0, 1, 2]


async def test_counts_and_facets_are_over_all_shards(cluster: httpx.AsyncClient) -> None:
    assert await ok(cluster, "POST", "/collections/sharded/points/count", {}) == {"count": 6}
    one = {"shard_key": "A"}
    assert await ok(cluster, "POST", "/collections/sharded/points/count", one) == {"count": 3}
    facet = await ok(cluster, "POST", "/collections/sharded/facet", {"key": "t"})
    assert sorted((hit["value"], hit["count"]) for hit in facet["hits"]) == [("A", 3), ("B", 3)]
    info = await ok(cluster, "GET", "/collections/sharded")
    assert info["points_count"] == info["payload_schema"]["t"]["points"] == 6
    assert info["config"]["params"]["sharding_method"] == "custom"
    keys = (await ok(cluster, "GET", "/collections/sharded/shards"))["shard_keys"]
    assert keys == [{"key": "A"}, {"key": "B"}]
    assert (await ok(cluster, "GET", "/cluster"))["status"] == "enabled"


async def test_pages_run_through_all_shards(cluster: httpx.AsyncClient) -> None:
    rows = {"shard_key": "B", "points": [{"id": n, "vector": V} for n in (7, 8)]}
    await ok(cluster, "PUT", "/collections/sharded/points?wait=true", rows)
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        body = {"limit": 3, "offset": offset, "with_payload": False}
        page = await ok(cluster, "POST", "/collections/sharded/points/scroll", body)
        seen += [one["id"] for one in page["points"]]
        offset = page["next_page_offset"]
    assert sorted(set(seen)) == [0, 1, 2, 7, 8]
    gone = {"shard_key": "B", "points": [7, 8]}
    await ok(cluster, "POST", "/collections/sharded/points/delete?wait=true", gone)


async def test_what_names_no_shard_is_refused(cluster: httpx.AsyncClient) -> None:
    path = "/collections/sharded/points"
    rows = {"points": [{"id": 1, "vector": V}]}
    unknown = {"query": V, "shard_key": "C"}
    both = {"query": V}
    await refused(cluster, "PUT", path, rows, 400, "Wrong input: Shard key not specified")
    await refused(
        cluster, "PUT", path, {**rows, "shard_key": "C"}, 400, "Wrong input: Shard key C not found"
    )
    text = "Bad request: Shard key C not found"
    await refused(cluster, "POST", f"{path}/query", unknown, 400, text)
    await refused(cluster, "POST", f"{path}/query", both, 501, "over 2 shards")
    text = "Bad request: Sharding key A already exists for collection sharded"
    await refused(cluster, "PUT", "/collections/sharded/shards", {"shard_key": "A"}, 400, text)


async def test_a_shard_goes_with_its_points(cluster: httpx.AsyncClient) -> None:
    await ok(cluster, "PUT", "/collections/sharded/shards", {"shard_key": 7})
    rows = {"shard_key": 7, "points": [{"id": 1, "vector": V}]}
    await ok(cluster, "PUT", "/collections/sharded/points?wait=true", rows)
    await ok(cluster, "POST", "/collections/sharded/shards/delete", {"shard_key": 7})
    assert await ok(cluster, "POST", "/collections/sharded/points/count", {}) == {"count": 6}
    await refused(
        cluster,
        "POST",
        "/collections/sharded/shards/delete",
        {"shard_key": 7},
        400,
        "does not exist",
    )


async def test_a_single_server_has_none() -> None:
    async with front({"shard_keys": False}) as http:
        assert await ok(http, "GET", "/cluster") == {"status": "disabled"}
        body: dict[str, Any] = {"vectors": {"size": 4, "distance": "Dot"}}
        await ok(http, "PUT", "/collections/c", body)
        assert await ok(http, "GET", "/collections/c/shards") == {"shard_keys": None}
        custom = {**body, "sharding_method": "custom"}
        await refused(http, "PUT", "/collections/d", custom, 501, "sharding_method")
        for method, path in (("PUT", "/shards"), ("POST", "/shards/delete")):
            text = "Qdrant is running in standalone mode"
            where = f"/collections/c{path}"
            await refused(http, method, where, {"shard_key": "x"}, 405, text)
