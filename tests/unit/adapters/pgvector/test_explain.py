"""Plans as the server tells them, by the route that searches take."""

from __future__ import annotations

from typing import Any

import pytest

from pgvector_attach_support import Log
from pgvector_support import ACME, EXACT, GLOBEX, loaded, make_chunks, make_query, needs_server
from retrieverbench.engines import Started
from retrieverbench.model import MODES, FilterTime, Layout, Plan, TenantId
from retrieverbench_adapters.pgvector.plans import read_plan

pytestmark = [pytest.mark.anyio, needs_server]

# Enough foreign rows that the planner takes the vector index for the big tenant.
CHUNKS = [*make_chunks(ACME, 30), *make_chunks(GLOBEX, 1_500)]
OFF = {"search": {"iterative_scan": "off"}}


@pytest.mark.parametrize(
    ("layout", "options", "filtered", "indexed"),
    [
        ("filter", {}, "during", True),
        ("filter", OFF, "after", True),
        ("filter", EXACT, "before", False),
        ("partition", {}, "before", True),
        ("index", {}, "before", True),
        ("rls", {}, "during", True),
    ],
)
async def test_the_vector_index_and_the_time_of_the_condition(
    server: Started, layout: Layout, options: Any, filtered: FilterTime, indexed: bool
) -> None:
    async with loaded(server, CHUNKS, layout=layout, options=options, concurrency=1) as adapter:
        plans = {mode: await adapter.explain(make_query(GLOBEX, mode)) for mode in MODES}
        assert plans["dense"].filtered == plans["hybrid"].filtered == filtered
        assert plans["lexical"].filtered == "before"
        for mode in ("dense", "hybrid"):
            assert plans[mode].vector_index is not None
            assert bool(plans[mode].vector_index) is indexed, plans[mode].lines
        assert plans["lexical"].vector_index == ""
        for plan in plans.values():
            assert plan.caveat == ""
            assert any("chunks" in line and "Actual Rows" in line for line in plan.lines)
            assert max(map(len, plan.lines)) < 600
        gin = any("@@" in line and "chunks_" in line for line in plans["lexical"].lines)
        assert gin is (layout != "rls") or layout in {"partition", "index"}
        assert f"[{8} numbers]" in str(plans["dense"].lines) or not indexed


async def test_the_plan_is_that_of_the_connections_own_statement(server: Started) -> None:
    """With a generic plan for small and big tenants alike, unlike a plan made afresh."""
    generic = {"search": {"plan_cache_mode": "force_generic_plan"}}
    async with loaded(server, CHUNKS, options=generic, concurrency=1) as adapter:
        plan = await adapter.explain(make_query(ACME))
        assert "$1" in str(plan.lines)
        assert plan.caveat.startswith("plan_cache_mode = force_generic_plan")


async def test_a_tenant_without_a_table_is_answered_without_a_request(server: Started) -> None:
    log = Log()
    async with loaded(server, CHUNKS[:5], layout="index", recorder=log) as adapter:
        log.requests.clear()
        nobody = TenantId("nobody")
        plan = await adapter.explain(make_query(nobody))
        assert plan == Plan(("this tenant has no table: answered without a request",))
        for mode in MODES:
            assert not (await adapter.search(make_query(nobody, mode))).hits
        assert await adapter.get(nobody, ["acme/c000"]) == []
        assert log.requests == []


def scan(kind: str = "Seq Scan", **more: Any) -> dict[str, Any]:
    return {"Node Type": kind, "Relation Name": "docs", **more}


INDEXED: dict[str, Any] = {"Index Name": "docs_hnsw", "Order By": "(v <=> '[1,2]'::vector)"}


@pytest.mark.parametrize(
    ("node", "filtered"),
    [
        (scan(), "never"),
        (scan(Filter="(owner = 'a'::text)"), "before"),
        (scan(Filter="(tenant_owner = 'a'::text)"), "never"),
        (scan(Filter="(kind = 'owner'::text)"), "never"),
        (scan(Filter="((meta -> 'it''s owner'::text) = '1'::jsonb)"), "never"),
        (scan("Index Scan", **INDEXED), "never"),
        (scan("Index Scan", Filter="(owner = 'a'::text)", **INDEXED), "during"),
        (scan("Index Scan", **{"Index Cond": "(owner = 'a'::text)", "Index Name": "o"}), "before"),
        (
            scan("Bitmap Heap Scan", Plans=[
                {"Node Type": "Bitmap Index Scan", "Index Cond": "(owner = 'a'::text)"}
            ]),
            "before",
        ),
        (
            {"Node Type": "Append", "Plans": [
                scan(Filter="(owner = 'a'::text)"),
                scan("Index Scan", Filter="(owner = 'a'::text)", **INDEXED),
            ]},
            "during",
        ),
        ({"Node Type": "Append", "Plans": [scan(Filter="(owner = 'a'::text)"), scan()]}, "never"),
        ({"Node Type": "Result"}, None),
    ],
)  # fmt: skip
def test_the_rule_on_plans_written_by_hand(
    node: dict[str, Any], filtered: FilterTime | None
) -> None:
    root = {"Node Type": "Limit", "Plans": [node]}
    plan = read_plan(root, tenant="owner", iterative=True, tables=(), caveat="")
    assert plan.filtered == filtered
    assert plan.vector_index == ("docs_hnsw" if "docs_hnsw" in str(node) else "")
    once = read_plan(root, tenant="owner", iterative=False, tables=(), caveat="")
    assert once.filtered == ("after" if filtered == "during" else filtered)
    alone = read_plan(root, tenant="owner", iterative=False, tables=("docs",), caveat="")
    assert alone.filtered == ("before" if filtered else None)
