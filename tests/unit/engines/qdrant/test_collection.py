"""What a collection tells of itself, and its optimiser."""

from __future__ import annotations

import math
from typing import Any

import anyio
import httpx
import pytest

from qdrant_front_support import ids, ok
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def when_green(http: httpx.AsyncClient, collection: str) -> Any:
    with anyio.fail_after(60):
        while True:
            info = await ok(http, "GET", f"/collections/{collection}")
            if info["status"] == "green":
                return info
            await anyio.sleep(0.05)


async def test_information_is_read_back(http: httpx.AsyncClient, c: str) -> None:
    info = await ok(http, "GET", f"/collections/{c}")
    assert info["status"] == "green"
    assert info["optimizer_status"] == "ok"
    assert info["points_count"] == 4
    assert info["config"]["params"]["vectors"] == {"size": 4, "distance": "Cosine"}
    assert info["payload_schema"]["t"] == {
        "data_type": "keyword",
        "params": {"type": "keyword", "is_tenant": True},
        "points": 4,
    }


async def test_the_optimiser_builds_the_graph_while_the_front_answers(
    http: httpx.AsyncClient,
) -> None:
    body = {
        "vectors": {"size": 32, "distance": "Cosine"},
        "optimizers_config": {"indexing_threshold": 10},
    }
    await ok(http, "PUT", "/collections/big", body)
    points = [
        {"id": n, "vector": [((n * (i + 7)) % 101) / 101 + 0.01 for i in range(32)]}
        for n in range(3000)
    ]
    await ok(http, "PUT", "/collections/big/points?wait=true", {"points": points})
    assert (await ok(http, "GET", "/collections/big"))["status"] == "yellow"
    assert (await http.get("/healthz")).status_code == 200
    info = await when_green(http, "big")
    assert info["indexed_vectors_count"] == info["points_count"] == 3000
    assert await ids(http, "big", {"query": points[5]["vector"], "limit": 1}) == [5]
    await ok(http, "PUT", "/collections/big/points?wait=true", {"points": points[:1]})
    await ok(http, "PATCH", "/collections/big", {"optimizers_config": {}})
    assert await ok(http, "DELETE", "/collections/big") is True, "also while it is optimised"


@pytest.mark.parametrize(
    ("kind", "fields"), [("scalar", {"type": "int8", "always_ram": True}), ("binary", {})]
)
async def test_vectors_are_quantized(
    http: httpx.AsyncClient, kind: str, fields: dict[str, Any]
) -> None:
    """Quantized scores are rough until they are computed again from the vectors."""
    body = {
        "vectors": {"size": 64, "distance": "Cosine"},
        "hnsw_config": {"m": 0, "payload_m": 16},
        "optimizers_config": {"indexing_threshold": 1},
        "quantization_config": {kind: fields},
    }
    await ok(http, "PUT", "/collections/quantized", body)
    points = [
        {"id": n, "vector": [math.sin((n + 1) * (i + 1)) for i in range(64)]} for n in range(400)
    ]
    await ok(http, "PUT", "/collections/quantized/points?wait=true", {"points": points})
    info = await when_green(http, "quantized")
    assert info["config"]["quantization_config"] == {kind: fields}
    assert info["config"]["hnsw_config"]["payload_m"] == 16
    scores = {}
    for rescore in (True, False):
        asked = {
            "query": points[5]["vector"],
            "limit": 1,
            "params": {"quantization": {"rescore": rescore, "oversampling": 4.0}},
        }
        found = await ok(http, "POST", "/collections/quantized/points/query", asked)
        scores[rescore] = found["points"][0]["score"]
    assert scores[True] == pytest.approx(1.0, abs=1e-6)
    assert scores[False] != pytest.approx(1.0, abs=1e-6)
    await ok(http, "DELETE", "/collections/quantized")
