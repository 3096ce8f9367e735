"""What leaves the adapter, leg by leg, as a recorder sees it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from qdrant_attach_support import Recorded
from qdrant_support import LAYOUTS, A, B, adapter, arm, ask, load, twins, unit_vectors
from retrieverbench.adapter import Leg
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import TenantError, Unavailable
from retrieverbench.model import Layout, Mode, TenantId
from retrieverbench_adapters.qdrant.recording import legs_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


OWN = {"must": [{"key": "tenant", "match": {"value": "acme"}}]}


def test_legs_are_told_at_any_depth() -> None:
    inner = {"query": [1.0], "filter": OWN}
    body = {"prefetch": [{"prefetch": inner, "query": {"fusion": "rrf"}}, inner], "filter": OWN}
    path = "/a/prefix/collections/c/points/query"
    assert legs_of("POST", path, body) == (
        Leg("root", OWN),
        Leg("root.prefetch[0]", None),
        Leg("root.prefetch[0].prefetch[0]", OWN),
        Leg("root.prefetch[1]", OWN),
    )
    batch = {"searches": [inner, {"query": [1.0]}]}
    assert legs_of("POST", f"{path}/batch", batch) == (
        Leg("searches[0]", OWN), Leg("searches[1]", None),
    )  # fmt: skip


@pytest.mark.parametrize("route", ["points", "points/delete", "points/payload", "facet"])
def test_whatever_finds_points_without_a_condition_is_a_leg(route: str) -> None:
    assert legs_of("POST", f"/collections/c/{route}", {"points": [1]}) == (Leg("root", None),)


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "points"), ("PUT", "points/vectors"), ("PUT", "index"), ("POST", "shards/delete")],
)
def test_what_finds_no_points_has_no_legs(method: str, path: str) -> None:
    assert legs_of(method, f"/collections/c/{path}", {"points": []}) == ()


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_leg_of_every_request_carries_the_tenant(
    front: Started, layout: Layout
) -> None:
    recorder = Recorded()
    async with adapter(front, layout=layout, recorder=recorder) as target:
        await load(target, twins(3))
        modes: list[tuple[Mode, int]] = [("dense", 1), ("lexical", 1), ("hybrid", 3)]
        for mode, legs in modes:
            recorder.requests.clear()
            await target.search(ask(A, mode, unit_vectors(1)[0], "refund"))
            ((operation, told, body),) = recorder.requests
            assert operation.endswith("/points/query")
            assert [leg.condition for leg in told] == [OWN] * legs
            assert body["limit"] == 10
        recorder.requests.clear()
        await target.explain(ask(A, "hybrid", unit_vectors(1)[0], "refund"))
        await target.get(A, ["acme/1"])
        await target.delete(A, ["acme/1"])
        await target.move("acme/2", A, B)
        for operation, told, _ in recorder.requests:
            for leg in told:
                assert isinstance(leg.condition, dict), operation
                assert leg.condition["must"][0] == OWN["must"][0]
        assert any(operation.endswith("/points/delete") for operation, _, _ in recorder.requests)


async def test_answers_are_shown_and_no_key_is(front: Started) -> None:
    recorder = Recorded()
    async with adapter(front, recorder=recorder) as target:
        await load(target, twins(3))
        await target.search(ask(A, "dense", unit_vectors(1)[0]))
        operation, shown = recorder.responses[-1]
        assert operation == recorder.requests[-1][0]
        assert shown["status"] == 200
        assert shown["headers"]["content-type"] == "application/json"
        assert len(shown["body"]["result"]["points"]) == 3
        await arm(front, kind="status", status=503, text="busy", path="points/query")
        with pytest.raises(Unavailable):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert recorder.responses[-1][1]["body"]["status"]["error"] == "busy"
    written = json.dumps([recorder.requests, recorder.responses], default=repr)
    assert front.secrets["api_key"].reveal() not in written
    assert any(body and "points" in body for _, _, body in recorder.requests), "uploads are shown"


@pytest.mark.parametrize("value", [None, "", 1])
async def test_a_refused_tenant_sends_nothing(front: Started, value: object) -> None:
    nobody = object.__new__(TenantId)
    object.__setattr__(nobody, "value", value)
    recorder = Recorded()
    async with adapter(front, recorder=recorder) as target:
        await load(target, twins(1))
        sent = len(recorder.requests)
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: target.search(ask(nobody, "dense", unit_vectors(1)[0])),
            lambda: target.get(nobody, ["acme/0"]),
            lambda: target.delete(nobody, ["acme/0"]),
            lambda: target.move("acme/0", nobody, A),
            lambda: target.move("acme/0", A, nobody),
            lambda: target.explain(ask(nobody, "dense", unit_vectors(1)[0])),
        ]
        for call in calls:
            with pytest.raises(TenantError):
                await call()
        assert len(recorder.requests) == sent
