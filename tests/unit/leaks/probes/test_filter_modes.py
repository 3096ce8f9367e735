"""The target's own filter mode must find everything; the others are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import pytest

from audit_support import audit_one
from retrieverbench.errors import Refused
from retrieverbench.leaks import Declared, crowds
from retrieverbench.model import FilterMode, Plan, ProbeResult, Query, Response, TenantId
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


class Modes(Memory):
    """With an odd `rrf_k` it loses half of the answer where there are others' chunks."""

    filter_modes: ClassVar[Mapping[str, object]] = {
        "default": {"search": {"rrf_k": 60}},
        "whole": {"search": {"rrf_k": 64}},
        "half": {"search": {"rrf_k": 61}},
        "unknown": {"search": {"nothing": 1}},
        "silent": {"search": {"rrf_k": 62}},
    }

    async def search(self, query: Query) -> Response:
        found = await Memory.search(self, query)
        counts = (await self.describe()).chunks
        if self._options.search.rrf_k == 62:
            return Response([])
        if len(counts) > 1 and self._options.search.rrf_k % 2:
            return Response(found.hits[:5])
        return found


class Explaining(Modes):
    """It has a plan, but for one of its modes."""

    capabilities: ClassVar[frozenset[str]] = Memory.capabilities | {"explain"}

    async def explain(self, query: Query) -> Plan:
        if self._options.search.rrf_k % 2:
            raise Refused("no plan for this one")
        return Plan((f"k {query.k}",), "", "before")


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)


def modes_of(result: ProbeResult) -> dict[str, FilterMode]:
    return {mode.name: mode for mode in result.filter_modes}


async def test_every_mode_is_measured_and_the_own_one_judged() -> None:
    result = await audit_one("P10", adapter=Modes)
    assert (result.outcome, result.trials) == ("pass", 2), "other modes are no trials"
    told = modes_of(result)
    assert list(told) == ["", *(name for name in Modes.filter_modes if name != "default")]
    assert told[""].options == Modes.filter_modes["default"], "as the target searches anyhow"
    whole = {"crowd 10": 1.0, "own first": 1.0, "own before": 10, "own after": 10}
    assert told[""].facts == told["whole"].facts
    assert whole.items() <= told["whole"].facts.items()
    half = told["half"].facts
    assert (half["crowd 10"], half["own last"], half["own after"]) == (1.0, 0.5, 5)
    assert half["short answers"] == "3 of 9", "of five chunks all came, of ten not"
    assert told["half"].options == {"search": {"rrf_k": 61}}


async def test_a_mode_that_cannot_be_measured_is_told_and_judges_nothing() -> None:
    told = modes_of(await audit_one("P10", adapter=Modes))
    assert "search.nothing" in told["unknown"].note
    assert told["unknown"].facts == {}
    assert "own tenant" in told["silent"].note, "what answers nobody hides nothing"
    assert told["silent"].facts == {}


async def test_a_leak_of_another_mode_is_a_leak_and_says_of_which() -> None:
    class Open(Modes):
        """One of its modes asks everybody's chunks."""

        async def search(self, query: Query) -> Response:
            if self._options.search.rrf_k != 63:
                return await super().search(query)
            names = (await self.describe()).chunks
            other = next(name for name in names if name != query.tenant.value)
            return await Memory.search(self, replace(query, tenant=TenantId(other)))

        filter_modes: ClassVar[Mapping[str, object]] = {"open": {"search": {"rrf_k": 63}}}

    result = await audit_one("P10", adapter=Open)
    assert (result.outcome, result.severity) == ("fail", "critical")
    assert "in filter mode 'open', which the target does not set" in result.reason
    told = modes_of(result)
    assert told["open"].facts == {}
    assert "which is a leak" in told["open"].note
    assert told[""].facts["own first"] == 1.0


async def test_the_plan_of_each_mode_is_told() -> None:
    told = modes_of(await audit_one("P10", adapter=Explaining))
    assert told["whole"].plan == Plan(("k 10",), "", "before")
    assert told["half"].plan is None
    assert told["half"].note == "no plan for this one"
    assert told["half"].facts


async def test_own_mode_that_starves_is_a_failure_down_to_the_declared_floor() -> None:
    result = await audit_one("P10", adapter=Modes, search={"rrf_k": 61})
    assert (result.outcome, result.severity) == ("fail", "high")
    assert "filter mode 'of the target', share found 0.5 beside the largest" in result.reason
    assert list(modes_of(result)) == ["", "default", "whole", "unknown", "silent"]
    floor = {"approximate": Declared(0.5, "suite.toml:3")}
    result = await audit_one("P10", adapter=Modes, search={"rrf_k": 61}, declared=floor)
    assert (result.outcome, result.risks[0].name) == ("pass", "approximate")


async def test_adapter_without_modes_is_not_applicable() -> None:
    assert (await audit_one("P10")).outcome == "not applicable"
