"""What is told of how a question was answered."""

from __future__ import annotations

from typing import Any

import pytest

from qdrant_information_support import information
from qdrant_support import A, adapter, ask, chunk, load, settings_for, twins, unit_vectors
from retrieverbench.engines import Started, qdrant
from retrieverbench.model import MODES, TenantId
from retrieverbench_adapters.qdrant import Qdrant
from retrieverbench_adapters.qdrant.evidence import Observed, make_plan
from retrieverbench_adapters.qdrant.fields import OWN
from retrieverbench_adapters.qdrant.options import Search
from retrieverbench_adapters.qdrant.requests import Scheme

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


async def test_a_graph_is_named_where_it_is_walked(front: Started) -> None:
    vectors = unit_vectors(1100, 64)
    common: dict[str, Any] = {"place": "rb_graph", "modes": frozenset({"dense"}), "dimension": 64}
    async with adapter(front, options={"place": GRAPH}, **common) as target:
        await load(target, [chunk(str(n), A, "", vectors[n]) for n in range(1100)])
        plan = await target.explain(ask(A, "dense", vectors[0]))
        assert (plan.vector_index, plan.filtered) == ("hnsw of dense", "during")
        assert "1100 points pass the filter" in plan.lines
        assert "indexed_only: 10 of 10 hits are the same" in plan.lines
        exact = settings_for(front, options={"place": GRAPH, "search": {"exact": True}}, **common)
        guest = await Qdrant.open(exact)
        plan = await guest.explain(ask(A, "dense", vectors[0]))
        assert (plan.vector_index, plan.filtered) == ("", "before")
        await guest.close()


@pytest.mark.parametrize(
    ("told", "passing", "index", "filtered"),
    [
        ({}, 5000, "hnsw of dense", "during"),
        ({}, 100, "", "before"),  # 25 kB of vectors of 256 bytes
        ({}, 150, None, None),  # more than one segment's threshold, less than all of them
        ({"counts": {"indexed_vectors_count": 9000}}, 5000, None, None),
        ({"counts": {"indexed_vectors_count": 0}}, 5000, "", "before"),
        ({"m": 0}, 5000, "", "before"),
        ({"m": 0, "payload_m": 8}, 5000, "hnsw of dense", "during"),
        ({"vector": {"hnsw_config": {"m": 0}}}, 5000, "", "before"),
        ({"full_scan_threshold": 10_000}, 5000, "", "before"),
    ],
)
def test_settings_and_counts_decide(
    told: dict[str, Any], passing: int, index: str | None, filtered: str | None
) -> None:
    observed = Observed(passing, hits=10, same=10)
    plan = make_plan(information(**told), observed, Scheme(OWN, Search(), True), "dense")
    assert (plan.vector_index, plan.filtered) == (index, filtered)


async def test_a_tenant_without_a_collection_has_no_plan(front: Started) -> None:
    async with adapter(front, layout="index") as target:
        await load(target, twins(1))
        plan = await target.explain(ask(TenantId("nobody"), "dense", unit_vectors(1)[0]))
        assert plan.lines == ("'nobody' has no collection or shard to search",)
        assert (plan.vector_index, plan.filtered) == (None, None)
