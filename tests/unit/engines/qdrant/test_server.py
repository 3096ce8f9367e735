"""The front's shell, its keys and its unknown routes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from qdrant_front_support import V, front, ok, refused
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_shell(http: httpx.AsyncClient) -> None:
    for path, text in [
        ("/healthz", "healthz check passed"),
        ("/livez", "healthz check passed"),
        ("/readyz", "all shards are ready"),
    ]:
        answer = await http.get(path)
        assert (answer.status_code, answer.text) == (200, text)
    answer = await http.get("/collections")
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["vary"].startswith("Origin")
    assert "server" not in answer.headers
    for method, path in [("GET", "/nothing"), ("POST", "/collections"), ("HEAD", "/nothing")]:
        answer = await http.request(method, path)
        assert (answer.status_code, answer.content) == (404, b""), path


async def test_keys(http: httpx.AsyncClient) -> None:
    key = http.headers["api-key"]
    cases = [
        ({}, 401, "Must provide an API key or an Authorization bearer token"),
        ({"api-key": "wrong"}, 401, "Invalid API key or JWT"),
        ({"api-key": ""}, 401, "Invalid API key or JWT"),
        ({"authorization": f"bearer {key}"}, 401, "Must provide an API key"),
    ]
    async with httpx.AsyncClient(base_url=http.base_url) as stranger:
        for headers, status, text in cases:
            answer = await stranger.get("/collections/x", headers=headers)
            assert answer.status_code == status
            assert answer.text.startswith(text)
            assert "content-type" not in answer.headers
        answer = await stranger.get("/collections", headers={"authorization": f"Bearer {key}"})
        assert answer.status_code == 200
        assert (await stranger.get("/")).status_code == 200


async def test_faults_cannot_be_armed_unless_asked_for(http: httpx.AsyncClient) -> None:
    answer = await http.put("/faults", content=json.dumps({"kind": "reset"}))
    assert answer.status_code == 404


WRITES: list[tuple[str, str, Any]] = [
    ("PUT", "", {"vectors": {"size": 4, "distance": "Dot"}}),
    ("PATCH", "", {"optimizers_config": {}}),
    ("DELETE", "", None),
    ("PUT", "/index", {"field_name": "x", "field_schema": "keyword"}),
    ("PUT", "/points", {"points": [{"id": 1, "vector": V}]}),
    ("PUT", "/points/vectors", {"points": [{"id": 1, "vector": V}]}),
    ("POST", "/points/payload", {"payload": {"t": "B"}, "points": [1]}),
    ("POST", "/points/delete", {"points": [1]}),
    ("POST", "/points/batch", {"operations": []}),
    ("PUT", "/shards", {"shard_key": "x"}),
    ("POST", "/shards/delete", {"shard_key": "x"}),
]


async def test_the_read_only_key_reads_and_cannot_write() -> None:
    async with qdrant.start({}) as started:
        keys = {name: secret.reveal() for name, secret in started.secrets.items()}
        headers = {"api-key": keys["api_key"]}
        async with httpx.AsyncClient(base_url=started.endpoint, headers=headers) as http:
            await ok(http, "PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Dot"}})
            await ok(http, "PUT", "/collections/c/points", {"points": [{"id": 1, "vector": V}]})
            http.headers["api-key"] = keys["read_only_api_key"]
            for method, path, body in WRITES:
                where = f"/collections/c{path}"
                text = "Forbidden: Global manage access is required"
                await refused(http, method, where, body, 403, text)
            points = "/collections/c/points"
            assert await ok(http, "POST", f"{points}/count", {}) == {"count": 1}
            assert await ok(http, "POST", points, {"ids": [1]}) == [{"id": 1}]
            for path in ("/query", "/scroll"):
                assert len((await ok(http, "POST", f"{points}{path}", {}))["points"]) == 1
            assert (await ok(http, "GET", "/collections/c"))["points_count"] == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/telemetry"),
        ("GET", "/aliases"),
        ("POST", "/collections/aliases"),
        ("POST", "/collections/c/points/search"),
        ("POST", "/collections/c/points/batch"),
        ("POST", "/collections/c/points/query/groups"),
        ("PUT", "/collections/c/points/payload"),
        ("POST", "/collections/c/points/payload/delete"),
        ("DELETE", "/collections/c/index/t"),
    ],
)
async def test_routes_of_the_server_that_are_not_translated_say_so(
    http: httpx.AsyncClient, c: str, method: str, path: str
) -> None:
    await refused(http, method, path, {}, 501, f"{method} {path}")


async def test_it_may_lie_under_a_path() -> None:
    async with front({"prefix": "/search/qdrant"}) as http:
        assert str(http.base_url).endswith("/search/qdrant/")
        assert await ok(http, "GET", "/collections") == {"collections": []}
        origin = f"http://{http.base_url.host}:{http.base_url.port}"
        for outside in ("/collections", "/search/qdrantx/collections", "/x/search/qdrant/"):
            assert (await http.get(f"{origin}{outside}")).status_code == 404
