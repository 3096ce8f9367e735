"""Keys that Qdrant does not know: ignored in silence, as by the server, unless told otherwise."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from qdrant_front_support import A, V, front, ids, ok, refused
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


KEYS_OUTSIDE: list[dict[str, Any]] = [
    {"query": V, "filters": A},
    {"query": V, "query_filter": A},
    {"query": V, "Filter": A},
    {"query": V, "top": 3},
    {"query": {"fusion": "rrf"}, "prefetch": [{"query": V, "filters": A}]},
]


async def test_they_are_ignored_where_the_server_ignores_them(
    http: httpx.AsyncClient, c: str
) -> None:
    for body in KEYS_OUTSIDE:
        assert len(await ids(http, c, body)) == 4, "unfiltered, and nobody says so"
    counted = await ok(http, "POST", f"/collections/{c}/points/count", {"filters": A})
    assert counted["count"] == 4
    beside = {"must": [{"key": "t", "match": {"value": "A", "x": 1}, "y": 2}]}
    assert sorted(await ids(http, c, {"query": V, "filter": beside})) == [2, 4]
    inside = {"query": V, "filter": {"must": [], "Must": A["must"]}}
    await refused(http, "POST", f"/collections/{c}/points/query", inside, 400, "`Must`")


async def test_they_are_refused_when_asked_to() -> None:
    async with front({"refuse_unknown_keys": True}) as http:
        await ok(http, "PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Dot"}})
        for body in KEYS_OUTSIDE:
            path = "/collections/c/points/query"
            await refused(http, "POST", path, body, 400, "unknown field `")
