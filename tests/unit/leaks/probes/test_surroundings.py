"""Rights, stages and times: judged where they exist, left out by name where they do not."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from audit_support import DRAW, audit, audit_one
from retrieverbench.adapter import Description
from retrieverbench.leaks import ARMS, Declared
from retrieverbench.model import Query, Response
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
FOUND = Description("PostgreSQL", "18", "client", "1", {}, {})


class Slow(Memory):
    """Takes longer for a word that the second tenant's chunks hold."""

    async def search(self, query: Query) -> Response:
        if query.text == DRAW.words("only")[1]:
            await anyio.sleep(0.002)
        return await Memory.search(self, query)


async def test_rights_are_judged_where_the_server_enforces() -> None:
    results = await audit("P43", modes=("dense",), description=FOUND)
    assert results["P43", None].outcome == "not applicable"
    assert "layout 'filter'" in results["P43", None].reason


async def test_role_that_no_policy_binds_is_a_failure() -> None:
    inert = replace(FOUND, unbound=("role 'postgres' is a superuser",))
    for description, outcome in ((FOUND, "pass"), (inert, "fail")):
        results = await audit("P43", modes=("dense",), scene_layout="rls", description=description)
        assert results["P43", None].outcome == outcome


async def test_search_without_later_stages_is_not_applicable() -> None:
    result = (await audit("P45", modes=("dense",)))["P45", None]
    assert result.outcome == "not applicable"
    assert "what goes in cannot be seen" in result.reason


async def test_times_are_told_of_servers_only_and_never_fail() -> None:
    assert (await audit_one("P46", "lexical", fidelity="engine")).outcome == "not applicable"
    result = await audit_one("P46", "lexical", Slow, fidelity="server")
    assert (result.outcome, result.severity) == ("pass", "info")
    assert isinstance(result.facts["microseconds longer"], float)
    assert result.facts["microseconds longer"] > 1000


async def test_totals_over_all_tenants_are_a_risk_only_where_declared() -> None:
    class Counts(Memory):
        async def search(self, query: Query) -> Response:
            found = await Memory.search(self, query)
            return replace(found, total=len(self._chunks))

    assert (await audit_one("P39", "lexical", Counts, arms=ARMS)).outcome == "fail"
    declared = {"global_totals": Declared(1.0, "suite.toml:9")}
    result = await audit_one("P39", "lexical", Counts, arms=ARMS, declared=declared)
    assert (result.outcome, result.risks[0].name) == ("pass", "global_totals")
