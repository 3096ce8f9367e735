"""Every refusal of the front, row by row, against what Qdrant 1.19.0 was measured to answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from qdrant_front_support import Row, V, ids, ok, refused
from retrieverbench.engines import qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


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
    ("PUT", "/n", {"vectors": {}, "quantization_config": {"scalar": {"type": "int4"}}}, 400,
     "untagged enum QuantizationConfig"),
    ("PUT", "/n", {"vectors": {}, "quantization_config": {"product": {"compression": "x4"}}}, 501,
     "quantization_config.product"),
    ("PUT", "/n", {"vectors": {}, "shard_number": 2}, 501, "shard_number"),
    ("PUT", "/n", {}, 501, "CreateCollection without vectors"),
    ("PUT", "/c/shards", {"shard_key": "x"}, 400,
     "Bad request: Shard Key cannot be created with Auto sharding method"),
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
    ("POST", "/points/payload", {"payload": {"t": "A"}, "points": [999]}, 404,
     "Not found: No point with id 999 found"),
    ("POST", "/points/payload", {"payload": {"t": "A"}}, 400,
     "data did not match any variant of untagged enum PointsSelector"),
    ("POST", "/points/payload", {"points": [1]}, 400, "missing field `payload`"),
    ("PUT", "/points", {"shard_key": "x", "points": [{"id": 9, "vector": V}]}, 400,
     "Wrong input: Shard key x not found"),
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
     {"query": V, "params": {"quantization": {"oversampling": 0.5}}}, 422,
     "oversampling: value 0.5 invalid, must be 1.0 or larger"),
    ("POST", "/points/query", {"query": V, "shard_key": "x"}, 400,
     "Bad request: Shard key x not found"),
    ("POST", "/points/query", {"query": {"text": "x", "model": "some/model"}}, 500,
     "InferenceService URL not configured"),
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
    ("POST", "/points/query", {"query": V, "shard_key": {"target": "x", "fallback": "y"}}, 400,
     "Shard key"),
    ("POST", "/points/query", {"query": V, "params": {"acorn": {"enable": True}}}, 501,
     "SearchParams.acorn"),
    ("PUT", "/points", {"points": [{"id": 9, "vector": {"text": "x", "model": "qdrant/bm25"}}]},
     501, "unnamed vector"),
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
