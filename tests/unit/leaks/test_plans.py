"""Of which question the plan is told."""

from __future__ import annotations

from typing import ClassVar

import pytest

from audit_support import DRAW, audit
from retrieverbench.leaks import crowds
from retrieverbench.model import Mode, Plan, Query
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


class Explaining(Memory):
    """It tells of how many chunks, and who asked."""

    capabilities: ClassVar[frozenset[str]] = Memory.capabilities | {"explain"}

    async def explain(self, query: Query) -> Plan:
        return Plan((f"{len(self._chunks)} chunks, {query.mode}, {query.tenant.value}",))


async def test_it_is_that_beside_the_largest_crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)
    plans: dict[Mode, Plan] = {}
    await audit("P08", adapter=Explaining, modes=["dense", "lexical"], plans=plans)
    small = crowds.smalls(DRAW)[-1].tenant.value
    assert plans == {
        mode: Plan((f"1000 chunks, {mode}, {small}",)) for mode in ("dense", "lexical")
    }


async def test_without_a_crowd_it_says_among_how_few() -> None:
    plans: dict[Mode, Plan] = {}
    await audit("P01", adapter=Explaining, modes=["dense"], plans=plans)
    plan = plans["dense"]
    assert plan.lines[0].startswith("64 chunks, dense")
    assert plan.caveat == "asked among 64 chunks: among more it may be another"
