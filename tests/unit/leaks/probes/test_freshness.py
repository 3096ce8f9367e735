"""Moves and deletes that take effect late, half or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from audit_support import DRAW, audit, audit_one
from retrieverbench.leaks import Declared
from retrieverbench.leaks.probes import freshness
from retrieverbench.model import Hit, Query, Response, TenantId
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


class MovesNothing(Memory):
    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        pass


class DeletesNothing(Memory):
    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        pass


class KeepsById(Memory):
    """A deleted chunk is searched no more, and still read by its id."""

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        self.gone = [Hit(uid, 1.0) for uid in uids]
        await Memory.delete(self, tenant, uids)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        return [*await Memory.get(self, tenant, uids), *self.gone]


class Late(Memory):
    """Every third settle is slow to show: the change is seen after some searches."""

    behind = 0
    old: Any = None

    async def settle(self) -> None:
        self.old, self.behind = self._built or None, 3
        await Memory.settle(self)

    async def search(self, query: Query) -> Response:
        self.behind -= 1
        if self.behind < 0 or self.old is None:
            return await Memory.search(self, query)
        new, self._built = self._built, self.old
        try:
            return await Memory.search(self, query)
        finally:
            self._built = new


class LosesOthers(Memory):
    """Between a move and the settle after it, the moved tenant's chunks are away."""

    moved = False

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        self.moved = True
        await Memory.move(self, uid, source, target)

    async def settle(self) -> None:
        await Memory.settle(self)
        self.moved = False

    async def search(self, query: Query) -> Response:
        return Response([]) if self.moved else await Memory.search(self, query)


async def test_clean_retriever_passes_in_every_mode() -> None:
    results = await audit("P28", "P29", "P30")
    assert {result.outcome for result in results.values()} == {"pass"}
    assert all("seconds to visibility" in result.facts for result in results.values())


async def test_move_without_effect_is_a_leak() -> None:
    result = await audit_one("P28", adapter=MovesNothing)
    assert (result.outcome, result.severity) == ("fail", "critical")
    assert result.findings[0].uid == "{0}/{0}0".format(DRAW.words("owners")[0])


async def test_delete_without_effect_is_a_leak() -> None:
    result = await audit_one("P29", adapter=DeletesNothing)
    assert (result.outcome, result.severity) == ("fail", "critical")
    assert "is not a chunk that the audit wrote or knows" in result.reason


async def test_deleted_chunk_that_is_read_by_id_is_found() -> None:
    result = await audit_one("P29", adapter=KeepsById)
    assert result.outcome == "fail"
    assert "still read by id" in result.reason


async def test_late_change_passes_only_within_the_declared_seconds() -> None:
    assert (await audit_one("P28", adapter=Late)).outcome == "fail"
    declared = {"eventual_visibility": Declared(10.0, "suite.toml:9")}
    result = await audit_one("P28", adapter=Late, declared=declared)
    assert result.outcome == "pass"
    assert [(risk.name, risk.found) for risk in result.risks] == [("eventual_visibility", True)]


async def test_answers_that_lose_chunks_in_a_race_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(freshness, "SEARCHES", 50)
    result = await audit_one("P30", adapter=LosesOthers)
    assert (result.outcome, result.leak_class, result.severity) == ("fail", "starvation", "high")
    assert re.search(r"lost (1 own chunk|\d+ own chunks) that nobody wrote", result.reason)
