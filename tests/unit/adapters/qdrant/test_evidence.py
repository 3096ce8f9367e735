"""What is told of how a question was answered."""

from __future__ import annotations

import pytest

from qdrant_support import A, adapter, ask, chunk, load, twins, unit_vectors
from retrieverbench.engines import Started, qdrant
from retrieverbench.model import MODES, TenantId

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


GRAPH = {"indexing_threshold": 50, "full_scan_threshold": 10, "m": 6, "ef_construct": 16}


async def test_a_small_collection_is_scanned(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins(5))
        for mode in MODES:
            plan = await target.explain(ask(A, mode, unit_vectors(1)[0], "refund"))
            assert plan.vector_index == ""
            assert plan.filtered == ("during" if mode == "lexical" else "before")
            assert "5 points pass the filter" in plan.lines
            assert any('"is_tenant":true' in line for line in plan.lines)
            assert "Qdrant shows no plan" in plan.caveat
        nobody = await target.explain(ask(TenantId("nobody"), "dense", unit_vectors(1)[0]))
        assert "0 points pass the filter" in nobody.lines


@pytest.mark.parametrize(
    ("search", "place", "index", "filtered"),
    [
        ({}, {}, "hnsw of dense", "during"),
        ({"exact": True}, {}, "", "before"),
        ({}, {"full_scan_threshold": 10_000}, "", "before"),
        ({}, {"m": 0}, "", "before"),
        ({}, {"m": 0, "payload_m": 8}, "hnsw of dense", "during"),
    ],
)
async def test_a_graph_is_named_where_it_is_walked(
    front: Started, search: dict[str, object], place: dict[str, object], index: str, filtered: str
) -> None:
    vectors = unit_vectors(1200, 64)
    options = {"place": {**GRAPH, **place}, "search": search}
    async with adapter(front, modes=["dense"], dimension=64, options=options) as target:
        await load(target, [chunk(str(n), A, "", vectors[n]) for n in range(1200)])
        plan = await target.explain(ask(A, "dense", vectors[0]))
        assert (plan.vector_index, plan.filtered) == (index, filtered)
        assert "indexed_only: 10 of 10 hits are the same" in plan.lines


async def test_a_tenant_without_a_collection_has_no_plan(front: Started) -> None:
    async with adapter(front, layout="index") as target:
        await load(target, twins(1))
        plan = await target.explain(ask(TenantId("nobody"), "dense", unit_vectors(1)[0]))
        assert plan.lines == ("'nobody' has no collection or shard to search",)
        assert (plan.vector_index, plan.filtered) == (None, None)
