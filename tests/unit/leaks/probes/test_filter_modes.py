"""The target's own filter mode must find everything; the others are measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from audit_support import audit_one
from retrieverbench.leaks import Declared, crowds
from retrieverbench.model import Query, Response
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


class Modes(Memory):
    """With an odd `rrf_k` it loses half of the answer where there are others' chunks."""

    filter_modes: ClassVar[Mapping[str, object]] = {
        "whole": {"search": {"rrf_k": 60}},
        "half": {"search": {"rrf_k": 61}},
        "unknown": {"search": {"nothing": 1}},
    }

    async def search(self, query: Query) -> Response:
        found = await Memory.search(self, query)
        counts = (await self.describe()).chunks
        if len(counts) > 1 and self._options.search.rrf_k % 2:
            return Response(found.hits[:5])
        return found


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)


async def test_every_mode_is_measured_and_the_own_one_judged() -> None:
    result = await audit_one("P10", adapter=Modes)
    assert result.outcome == "pass"
    assert result.facts["mode of the target"] == 1.0
    assert (result.facts["mode whole"], result.facts["mode half"]) == (1.0, 0.5)


async def test_own_mode_that_starves_is_a_failure_down_to_the_declared_floor() -> None:
    result = await audit_one("P10", adapter=Modes, search={"rrf_k": 61})
    assert (result.outcome, result.severity) == ("fail", "high")
    floor = {"approximate": Declared(0.5, "suite.toml:3")}
    result = await audit_one("P10", adapter=Modes, search={"rrf_k": 61}, declared=floor)
    assert (result.outcome, result.risks[0].name) == ("pass", "approximate")


async def test_adapter_without_modes_is_not_applicable() -> None:
    assert (await audit_one("P10")).outcome == "not applicable"
