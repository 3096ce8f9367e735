"""What other tenants' chunks change is told, excused where declared, and found when it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import pytest

from audit_support import audit, audit_one
from retrieverbench.adapter import Settings
from retrieverbench.errors import InputError
from retrieverbench.leaks import Declared
from retrieverbench.model import Query, Response, TenantId
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
SHARED = {"shared_idf": Declared(1.0, "suite.toml:9")}


class DropsFarthest(Memory):
    """Approximate where there is much to search: it misses the best chunk."""

    async def search(self, query: Query) -> Response:
        found = await Memory.search(self, query)
        return Response(found.hits[1:] if len(self._chunks) > 100 else found.hits)


class KeepsDeleted(Memory):
    """Deleted chunks stay in the statistics, and are searched no more."""

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        for uid in uids:
            self._chunks[uid] = replace(self._chunks[uid], tenant=TenantId("nobody"))


async def test_tenants_with_statistics_of_their_own_pass() -> None:
    results = await audit("P36", "P37", "P38", layout="index")
    assert {result.outcome for result in results.values()} == {"pass"}
    assert len(results) == 5


async def test_shared_statistics_are_a_failure_of_medium_severity() -> None:
    result = await audit_one("P36", "lexical")
    assert (result.outcome, result.severity) == ("fail", "medium")
    assert "answers are in another order" in result.reason
    assert result.facts["other sets"] == 0


async def test_declared_statistics_are_an_accepted_risk_with_its_size() -> None:
    result = await audit_one("P36", "lexical", declared=SHARED)
    assert (result.outcome, result.reason) == ("pass", "")
    (first, *_) = result.risks
    assert (first.name, first.place, first.found) == ("shared_idf", "suite.toml:9", True)
    assert "another order; scores change by up to" in first.effect


async def test_declaration_that_nothing_bears_out_is_told() -> None:
    result = await audit_one("P36", "lexical", layout="index", declared=SHARED)
    assert [risk.found for risk in result.risks] == [False]


async def test_declaration_excuses_no_other_set_of_matches() -> None:
    result = await audit_one("P36", "lexical", DropsFarthest, declared=SHARED)
    assert (result.outcome, result.severity) == ("fail", "high")


async def test_recall_that_falls_beside_others_is_a_failure() -> None:
    assert (await audit_one("P37")).outcome == "pass"
    result = await audit_one("P37", adapter=DropsFarthest)
    assert result.outcome == "fail"
    floor = {"approximate": Declared(0.5, "suite.toml:9")}
    capabilities = Memory.capabilities - {"exact"}
    result = await audit_one(
        "P37", "dense", DropsFarthest, declared=floor, capabilities=capabilities
    )
    assert result.outcome == "pass"
    assert "recall fell from 1.00 to" in result.risks[0].effect


async def test_options_that_forbid_exact_search_leave_that_half_out() -> None:
    class NeverExact(DropsFarthest):
        @classmethod
        async def open(cls, settings: Settings) -> Self:
            if settings.options["search"].get("exact"):
                raise InputError("search.exact: it is never exact")
            return await super().open(settings)

    result = await audit_one("P37", adapter=NeverExact)
    assert (result.outcome, result.severity) == ("fail", "medium"), "the other half was asked"
    assert "exact search was not compared: the target's options rule it out" in result.limit
    assert "search.exact" not in result.limit, "it is the probe that set it, not the user"


async def test_trace_of_deleted_chunks_is_found() -> None:
    assert (await audit_one("P38", "lexical")).outcome == "pass"
    result = await audit_one("P38", "lexical", KeepsDeleted)
    assert result.outcome == "fail"
    assert "after others' chunks were deleted" in result.reason
