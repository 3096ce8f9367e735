"""Searches by gRPC: the same answers and the same errors as by REST."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from qdrant_client import models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from qdrant_attach_support import Recorded
from qdrant_grpc_support import GrpcPoints, grpc_front
from qdrant_support import LAYOUTS, A, adapter, arm, ask, load, twins, uids, unit_vectors
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import (
    BackendError,
    Code,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Layout, Mode, TenantId, Value
from retrieverbench_adapters.qdrant.fields import OWN as OWN_FIELDS
from retrieverbench_adapters.qdrant.fields import Fields
from retrieverbench_adapters.qdrant.options import Search
from retrieverbench_adapters.qdrant.recording import _without_empty
from retrieverbench_adapters.qdrant.requests import Scheme, build_request

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


OWN = {"must": [{"key": "tenant", "match": {"value": "acme"}}]}


@pytest.fixture(scope="module")
async def points(front: Started) -> AsyncIterator[GrpcPoints]:
    async with grpc_front(front) as served:
        yield served


@pytest.fixture(scope="module")
def port(points: GrpcPoints) -> int:
    return points.port


def by_grpc(port: int) -> dict[str, dict[str, object]]:
    return {"connect": {"grpc": True, "grpc_port": port}, "search": {"exact": True}}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_answers_are_those_of_rest(
    front: Started, points: GrpcPoints, layout: Layout
) -> None:
    before = points.asked
    async with adapter(front, layout=layout, options=by_grpc(points.port)) as target:
        await load(target, twins())
        for mode in MODES:
            asked = ask(A, mode, unit_vectors(30)[3], "refund order 3", k=100)
            found = await target.search(asked)
            assert len(found.hits) == 30
            assert uids(found)[0] == "acme/3"
            assert {hit.tenant for hit in found.hits} == {"acme"}
            assert found.server_ms is not None
            nobody = ask(TenantId("unknown"), mode, unit_vectors(1)[0], "refund")
            assert (await target.search(nobody)).hits == []
    assert points.asked - before == 2 * len(MODES), "none of them went another way"


WHERE: dict[str, Value] = {"lang": "en", "n": 3}
FIELDS = Fields("pk", "meta.owner", ("body",), "", "words", {"lang": "lang", "n": "n"})
SETTINGS = [
    Search(hnsw_ef=64, weights=(2.0, 0.5)),
    Search(fusion="dbsf", exact=True),
    Search(rescore=False, oversampling=2.0, ignore_quantization=True),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("search", SETTINGS)
@pytest.mark.parametrize("fields", [OWN_FIELDS, FIELDS])
def test_nothing_is_lost_in_translation(fields: Fields, search: Search, mode: Mode) -> None:
    """Into the client's message, over the wire, and back."""
    query = replace(ask(A, mode, [0.5, 0.25]), where=WHERE, want=frozenset({"text"}))
    terms: list[models.SparseVector | models.Document] = [
        models.SparseVector(indices=[7], values=[2.0]),
        models.Document(text="words", model="qdrant/bm25", options={}),
    ]
    for term in terms:
        request = build_request(query, term, Scheme(fields, search, idf_corpus=True), "acme")
        message = RestToGrpc.convert_query_points(request, "c")
        arrived = type(message).FromString(message.SerializeToString())
        assert arrived.collection_name == "c"
        back = GrpcToRest.convert_query_points(arrived)
        assert plain(back) == plain(request)


def plain(request: models.QueryRequest) -> Any:
    """As JSON, in one of the two ways of writing a payload's fields and a nearest vector."""
    body = _without_empty(json.loads(request.model_dump_json(exclude_none=True)))
    wanted = body["with_payload"]
    body["with_payload"] = wanted["include"] if isinstance(wanted, dict) else wanted
    for leg in (body, *body.get("prefetch", [])):
        query = leg["query"]
        leg["query"] = query.get("nearest", query) if isinstance(query, dict) else query
    return body


async def test_every_leg_is_recorded(front: Started, port: int) -> None:
    recorder = Recorded()
    async with adapter(front, options=by_grpc(port), recorder=recorder) as target:
        await load(target, twins(3))
        await target.search(ask(A, "hybrid", unit_vectors(1)[0], "refund"))
        operation, legs, body = recorder.requests[-1]
        assert operation == f"gRPC qdrant.Points/Query {target._settings.place}"
        assert [leg.condition for leg in legs] == [OWN] * 3
        assert body["collection_name"] == target._settings.place
        assert recorder.responses[-1][0] == operation
        assert len(recorder.responses[-1][1]["result"]) == 3


FAULTS: list[tuple[int, str, type[BackendError], Code]] = [
    (400, "Wrong input: x", Rejected, Code.HTTP_4XX),
    (403, "Forbidden: x", Refused, Code.AUTH),
    (404, "Not found: x", Rejected, Code.HTTP_4XX),
    (408, "too slow", TimedOut, Code.TIMEOUT),
    (429, "less", Throttled, Code.THROTTLED),
    (500, "boom", Unavailable, Code.HTTP_5XX),
    (501, "not this", Unsupported, Code.HTTP_4XX),
    (503, "no server", Unavailable, Code.CONNECT),
]


@pytest.mark.parametrize(("status", "text", "kind", "code"), FAULTS)
async def test_every_failure_has_its_error(
    front: Started, port: int, status: int, text: str, kind: type[BackendError], code: Code
) -> None:
    recorder = Recorded()
    async with adapter(front, options=by_grpc(port), recorder=recorder) as target:
        await load(target, twins(1))
        await arm(front, kind="status", status=status, text=text, path="points/query")
        with pytest.raises(kind, match=text) as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert recorder.responses[-1][1]["details"] == text
        assert len((await target.search(ask(A, "dense", unit_vectors(1)[0]))).hits) == 1


async def test_a_slow_answer_is_given_up(front: Started, port: int) -> None:
    async with adapter(front, options=by_grpc(port)) as target:
        await load(target, twins(1))
        patient = target._server._settings
        target._server._settings = replace(patient, timeout=0.5)
        await arm(front, kind="delay", seconds=2.0, path="points/query")
        with pytest.raises(TimedOut, match=r"no answer within 0\.5 s"):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        target._server._settings = patient


async def test_no_server_on_that_port(front: Started) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        unused = probe.getsockname()[1]
    async with adapter(front, options=by_grpc(unused)) as target:
        await load(target, twins(1))
        with pytest.raises(Unavailable, match="and that gRPC is on") as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert caught.value.code == Code.CONNECT
