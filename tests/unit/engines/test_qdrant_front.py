"""The front's answers, row by row, against what Qdrant 1.19.0 was measured to answer."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]

V = [1.0, 0.0, 0.0, 0.0]
A = {"must": [{"key": "t", "match": {"value": "A"}}]}
B = {"must": [{"key": "t", "match": {"value": "B"}}]}
Row = tuple[str, str, Any, int, str]


@pytest.fixture(scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with qdrant.start({}) as front:
        key = front.secrets["api_key"].reveal()
        async with httpx.AsyncClient(
            base_url=front.endpoint, headers={"api-key": key}, timeout=60
        ) as client:
            yield client


@pytest.fixture(scope="module")
async def c(http: httpx.AsyncClient) -> str:
    """A collection of one unnamed vector of four numbers: ids 1 to 4, tenants A and B."""
    await ok(http, "PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Cosine"}})
    await ok(http, "PUT", "/collections/c/index?wait=true", tenant_index("t"))
    points = [
        {"id": n, "vector": [1.0, n / 10, 0.0, 0.0], "payload": {"t": "AB"[n % 2], "n": n}}
        for n in range(1, 5)
    ]
    await ok(http, "PUT", "/collections/c/points?wait=true", {"points": points})
    return "c"


@pytest.fixture(scope="module")
async def s(http: httpx.AsyncClient) -> str:
    """A collection of a named dense and a sparse vector with IDF."""
    await ok(
        http,
        "PUT",
        "/collections/s",
        {
            "vectors": {"d": {"size": 4, "distance": "Cosine"}},
            "sparse_vectors": {"w": {"modifier": "idf"}},
        },
    )
    await ok(http, "PUT", "/collections/s/index?wait=true", tenant_index("t"))
    points = [
        {
            "id": n,
            "vector": {"d": [1.0, n / 100, 0, 0], "w": {"indices": [n % 4], "values": [1.0]}},
            "payload": {"t": "AB"[n % 2]},
        }
        for n in range(40)
    ]
    await ok(http, "PUT", "/collections/s/points?wait=true", {"points": points})
    return "s"


def tenant_index(field: str) -> dict[str, Any]:
    return {"field_name": field, "field_schema": {"type": "keyword", "is_tenant": True}}


async def ok(http: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    answer = await http.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "ok"
    return answer.json()["result"]


async def when_green(http: httpx.AsyncClient, collection: str) -> Any:
    with anyio.fail_after(60):
        while True:
            info = await ok(http, "GET", f"/collections/{collection}")
            if info["status"] == "green":
                return info
            await anyio.sleep(0.05)


async def ids(http: httpx.AsyncClient, collection: str, body: dict[str, Any]) -> list[int]:
    found = await ok(http, "POST", f"/collections/{collection}/points/query", body)
    return [row["id"] for row in found["points"]]


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


COLLECTIONS: list[Row] = [
    ("GET", "/zz", None, 404, "Not found: Collection `zz` doesn't exist!"),
    ("PATCH", "/zz", {}, 404, "Not found: Collection `zz` doesn't exist!"),
    ("POST", "/zz/points/query", {"query": V}, 404, "Not found: Collection `zz` doesn't exist!"),
    ("PUT", "/c", {"vectors": {"size": 4, "distance": "Dot"}}, 409,
     "Wrong input: Collection `c` already exists!"),
    ("PUT", "/n", {"vectors": {"size": 0, "distance": "Dot"}}, 400,
     "data did not match any variant of untagged enum VectorsConfig"),
    ("PUT", "/n", {"vectors": {"size": 4, "distance": "dot"}}, 400,
     "data did not match any variant of untagged enum VectorsConfig"),
    ("PUT", "/n", {"vectors": {"size": 65537, "distance": "Dot"}}, 422,
     "[vectors.size: value 65537 invalid, must be from 1 to 65536]"),
    ("PUT", "/n", {"vectors": {}, "hnsw_config": {"ef_construct": 3}}, 422,
     "[hnsw_config.ef_construct: value 3 invalid, must be 4 or larger]"),
    ("PUT", "/n", {"sparse_vectors": {"w": {"modifier": "bm25"}}}, 400,
     "unknown variant `bm25`, expected `none` or `idf`"),
    ("PUT", "/a:b", {}, 422, 'collection name cannot contain ":" char'),
    ("PUT", "/" + 256 * "x", {}, 422, "must be from 1 to 255 characters"),
    ("PUT", "/c/index", {"field_name": "x", "field_schema": "nonsense"}, 400,
     "data did not match any variant of untagged enum PayloadFieldSchema"),
    ("PUT", "/c/index", {"field_name": "x"}, 400,
     "Bad request: Can't auto-detect field type, please specify `field_schema` in the request"),
    ("PUT", "/c/index", {"field_name": "", "field_schema": "keyword"}, 400,
     "Invalid json path: ''"),
]  # fmt: skip

POINTS: list[Row] = [
    ("PUT", "/points", {"points": []}, 400, "Bad request: Empty update request"),
    ("PUT", "/points", {}, 400, "Invalid PointInsertOperations format"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": [1, 2, 3]}]}, 400,
     "Wrong input: Vector dimension error: expected dim: 4, got 3"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": V}, {"id": 10, "vector": [1]}]}, 400,
     "Wrong input: Vector dimension error: expected dim: 4, got 1"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": []}]}, 422,
     "[points[0].vector.vector: dense vector must not be empty]"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": None}]}, 400,
     "data did not match any variant of untagged enum VectorStruct"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": [1, 2, None, 4]}]}, 400,
     "data did not match any variant of untagged enum VectorStruct"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": {"foo": V}}]}, 400,
     "Wrong input: Not existing vector name error: foo"),
    ("PUT", "/points", {"points": [{"vector": V}]}, 400, "missing field `id`"),
    ("PUT", "/points", {"points": [{"id": 9}]}, 400, "missing field `vector`"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": V, "payload": [1]}]}, 400,
     "invalid type: sequence, expected a map"),
    *[("PUT", "/points", {"points": [{"id": bad, "vector": V}]}, 400,
       f"value {shown} is not a valid point ID, valid values are either an unsigned integer or")
      for bad, shown in [("abc", "abc"), ("5", "5"), (-1, "-1"), (1.5, "1.5"), (True, "true"),
                         (2**64, str(2**64))]],
    ("PUT", "/points", {"batch": {"ids": [9, 10], "vectors": [V]}}, 422,
     "number of ids and vectors must be equal (2 != 1)"),
    ("PUT", "/points?wait=1", {"points": [{"id": 1, "vector": V}]}, 400,
     "provided string was not `true` or `false`"),
    ("PUT", "/points/vectors", {"points": [{"id": 999, "vector": V}]}, 404,
     "Not found: No point with id 999 found"),
    ("GET", "/points/999", None, 404, "Not found: Point with id 999 does not exists!"),
    ("GET", "/points/abc", None, 400, 'Can not recognize "abc" as point id'),
    ("POST", "/facet", {"key": "nope"}, 400, "No appropriate index for faceting: `nope`"),
]  # fmt: skip

QUERIES: list[Row] = [
    ("POST", "/points/query", {"query": V, "limit": 0}, 422,
     "[internal.limit: value 0 invalid, must be 1 or larger]"),
    *[("POST", "/points/query", {"query": V, "limit": bad}, 400, "Format error in JSON body: ")
      for bad in (-1, 1.5, "3")],
    ("POST", "/points/query", {"query": V, "using": "foo"}, 400,
     "Wrong input: Not existing vector name error: foo"),
    ("POST", "/points/query", {"query": [1.0]}, 400,
     "Wrong input: Vector dimension error: expected dim: 4, got 1"),
    ("POST", "/points/query", {"query": []}, 400, "got 0"),
    ("POST", "/points/query", {"query": {}}, 400,
     "Expected some form of vector, id, or a type of query"),
    ("POST", "/points/query", {"query": {"fusion": "foo"}, "prefetch": [{"query": V}]}, 400,
     "Expected some form of vector, id, or a type of query"),
    ("POST", "/points/query", {"query": {"indices": [1], "values": [1.0]}}, 400,
     "Wrong input: Conversion between sparse and regular vectors failed"),
    ("POST", "/points/query", {"prefetch": [{"query": V}]}, 400,
     "A query is needed to merge the prefetches. Can't have prefetches without defining a query."),
    ("POST", "/points/query", {"query": {"fusion": "rrf"}}, 400,
     "Validation failed: cannot apply Fusion without prefetches"),
    ("POST", "/points/query",
     {"query": {"fusion": "rrf"}, "using": "d", "prefetch": [{"query": V}]}, 400,
     "Fusion queries cannot be combined with the 'using' field."),
    ("POST", "/points/query", {"query": {"rrf": {"k": 0}}, "prefetch": [{"query": V}]}, 422,
     "value 0 invalid, must be 1 or larger"),
    ("POST", "/points/query",
     {"query": {"rrf": {"weights": [1.0]}}, "prefetch": [{"query": V}, {"query": V}]}, 400,
     "RRF weights length (1) does not match number of prefetches (2)"),
    ("POST", "/points/query", {"query": V, "params": {"hnsw_ef": 0}}, 422, "hnsw_ef"),
    ("POST", "/points/query",
     {"query": {"fusion": "rrf"}, "prefetch": [{"query": V, "limit": 0}]}, 422, "limit"),
    ("POST", "/points/query", {"query": V, "filter": {"Must": []}}, 400,
     "unknown field `Must`, expected one of `should`, `min_should`, `must`, `must_not`"),
    ("POST", "/points/query", {"query": V, "filter": {"must": [{"key": "t"}]}}, 422,
     "At least one field condition must be specified"),
    *[("POST", "/points/query",
       {"query": V, "filter": {"must": [{"key": "t", "match": {"value": bad}}]}}, 400,
       "data did not match any variant of untagged enum MatchInterface")
      for bad in (1.5, None, ["A"], {"a": 1}, 2**63)],
    ("POST", "/points/query",
     {"query": V, "filter": {"must": [{"key": "t", "match": {"any": ["A", 1]}}]}}, 400,
     "data did not match any variant of untagged enum MatchInterface"),
]  # fmt: skip

NOT_TRANSLATED: list[Row] = [
    ("POST", "/points/query", {"query": 1}, 501, "query by point id"),
    ("POST", "/points/query", {"query": {"recommend": {"positive": [1]}}}, 501, "recommend"),
    ("POST", "/points/query", {"query": V, "shard_key": "x"}, 501, "QueryRequest.shard_key"),
    ("POST", "/points/query", {"query": V, "params": {"quantization": {}}}, 501,
     "SearchParams.quantization"),
    ("POST", "/points/query",
     {"query": V, "filter": {"must": [{"key": "t", "match": {"value": True}}]}}, 501,
     "filter.match.value of type bool"),
    ("POST", "/points/query",
     {"query": V, "filter": {"must": [{"key": "t", "match": {"text": "A"}}]}}, 501,
     "filter.match.text"),
    ("POST", "/points/query",
     {"query": V, "filter": {"min_should": {"conditions": [], "min_count": 0}}}, 501,
     "filter.min_should"),
    ("PUT", "/index", {"field_name": "x", "field_schema": "text"}, 501, "index of type text"),
    ("PATCH", "", {"optimizers_config": {"indexing_threshold": 1}}, 501, "optimizers_config"),
    ("PATCH", "", {"hnsw_config": {"m": 1}}, 501, "UpdateCollection.hnsw_config"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "text"), COLLECTIONS)
async def test_collection_refusals(
    http: httpx.AsyncClient, c: str, method: str, path: str, body: Any, status: int, text: str
) -> None:
    await refused(http, method, f"/collections{path}", body, status, text)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"), [*POINTS, *QUERIES, *NOT_TRANSLATED]
)
async def test_refusals(
    http: httpx.AsyncClient, c: str, method: str, path: str, body: Any, status: int, text: str
) -> None:
    before = await ok(http, "POST", f"/collections/{c}/points/count", {})
    await refused(http, method, f"/collections/{c}{path}", body, status, text)
    assert await ok(http, "POST", f"/collections/{c}/points/count", {}) == before


async def refused(
    http: httpx.AsyncClient, method: str, path: str, body: Any, status: int, text: str
) -> None:
    answer = await http.request(method, path, json=body)
    told = answer.json()
    assert answer.status_code == status, told
    assert text in told["status"]["error"]
    assert "result" not in told
    assert isinstance(told["time"], float)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Format error in JSON body: EOF while parsing a value at line 1 column 0"),
        (b'{"query":[1,', "Format error in JSON body: EOF while parsing"),
        (b'{"query":[NaN,0,0,0]}', "Format error in JSON body: expected value at line 1 column"),
        (b'{"query":[1e400,0,0,0]}', "Format error in JSON body: number out of range"),
        (b"[" * 300, "recursion limit exceeded"),
        (b'"' + b"x" * (32 * 1024 * 1024) + b'"', "is larger than allowed (limit: 33554432 bytes)"),
    ],
)
async def test_bodies_that_are_no_json(
    http: httpx.AsyncClient, c: str, body: bytes, text: str
) -> None:
    answer = await http.post(f"/collections/{c}/points/query", content=body)
    assert answer.status_code == 400
    assert text in answer.json()["status"]["error"]


@pytest.mark.parametrize(
    "sparse",
    [
        {"indices": [1, 1], "values": [1.0, 2.0]},
        {"indices": [1, 2], "values": [1.0]},
        {"indices": [-1], "values": [1.0]},
        {"indices": [2**32], "values": [1.0]},
    ],
)
async def test_bad_sparse_vectors_do_not_reach_the_engine(
    http: httpx.AsyncClient, sparse: dict[str, Any]
) -> None:
    """The engine panics on some of them and then loses the next good write."""
    await ok(http, "PUT", "/collections/w", {"sparse_vectors": {"w": {}}})
    point = {"id": 900, "vector": {"w": sparse}}
    answer = await http.put("/collections/w/points?wait=true", json={"points": [point]})
    assert answer.status_code in {400, 422}
    query = {"query": sparse, "using": "w"}
    answer = await http.post("/collections/w/points/query", json=query)
    assert answer.status_code in {400, 422}
    good = {"id": 901, "vector": {"w": {"indices": [77], "values": [1.0]}}}
    await ok(http, "PUT", "/collections/w/points?wait=true", {"points": [good]})
    found = await ids(http, "w", {"query": {"indices": [77], "values": [1.0]}, "using": "w"})
    assert found == [901]
    await ok(http, "DELETE", "/collections/w")


async def test_a_wrong_kind_of_vector(http: httpx.AsyncClient, s: str) -> None:
    for vector, text in [
        ({"w": V}, "Conversion between sparse and regular vectors failed"),
        (V, "Not existing vector name error: "),
    ]:
        answer = await http.put(
            f"/collections/{s}/points", json={"points": [{"id": 900, "vector": vector}]}
        )
        assert answer.status_code == 400
        assert text in answer.json()["status"]["error"]


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


KEYS_OUTSIDE: list[dict[str, Any]] = [
    {"query": V, "filters": A},
    {"query": V, "query_filter": A},
    {"query": V, "Filter": A},
    {"query": V, "top": 3},
    {"query": {"fusion": "rrf"}, "prefetch": [{"query": V, "filters": A}]},
]


@pytest.mark.parametrize("body", KEYS_OUTSIDE)
async def test_unknown_keys_are_refused(
    http: httpx.AsyncClient, c: str, body: dict[str, Any]
) -> None:
    await refused(http, "POST", f"/collections/{c}/points/query", body, 400, "unknown field `")


async def test_unknown_keys_are_ignored_where_the_server_ignores_them() -> None:
    async with qdrant.start({"ignore_unknown_keys": True}) as front:
        headers = {"api-key": front.secrets["api_key"].reveal()}
        async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
            await ok(http, "PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Dot"}})
            points = [{"id": n, "vector": V, "payload": {"t": "AB"[n % 2]}} for n in range(4)]
            await ok(http, "PUT", "/collections/c/points", {"points": points})
            for body in KEYS_OUTSIDE:
                assert len(await ids(http, "c", body)) == 4
            count = await ok(http, "POST", "/collections/c/points/count", {"filters": A})
            assert count["count"] == 4
            inside = {"query": V, "filter": {"must": [], "Must": A["must"]}}
            await refused(http, "POST", "/collections/c/points/query", inside, 400, "`Must`")


async def test_faults_cannot_be_armed_unless_asked_for(http: httpx.AsyncClient) -> None:
    answer = await http.put("/faults", content=json.dumps({"kind": "reset"}))
    assert answer.status_code == 404
