"""What a connection keeps is looked for where every question shares one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio.lowlevel
import pytest

from audit_support import DRAW, audit, audit_one
from retrieverbench.errors import Rejected
from retrieverbench.leaks import ARMS, Variant, make_world
from retrieverbench.leaks.probes import state
from retrieverbench.model import Query, Response
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio


async def test_one_connection_is_forced() -> None:
    opened: list[Variant] = []

    class Scene:
        world = make_world(DRAW)

        @asynccontextmanager
        async def loaded(self, name: str, make: Any, variant: Variant) -> AsyncIterator[Any]:
            assert make() is self.world
            opened.append(variant)
            yield SimpleNamespace(world=None)

    async with state._one_connection(Scene()) as place:  # type: ignore[arg-type]
        assert place.world is Scene.world
    assert [variant.concurrency for variant in opened] == [1]
    results = await audit("P32", "P33", modes=("lexical",), arms=ARMS)
    assert {result.outcome for result in results.values()} == {"pass"}


async def test_a_condition_on_a_foreign_tenant_that_is_told_apart_is_found() -> None:
    class Telling(Memory):
        async def search(self, query: Query) -> Response:
            if query.where.get("tenant") == DRAW.tenants[1].value:
                raise Rejected("not yours")
            return await Memory.search(self, query)

    result = await audit_one("P40", "lexical", Telling, arms=("below the guard",))
    assert result.outcome == "fail"
    assert "otherwise than one on a tenant of no name" in result.reason
    clean = await audit_one("P40", "lexical", arms=("below the guard",))
    assert (clean.outcome, bool(clean.limit)) == ("pass", True)


async def test_a_condition_that_is_lost_among_other_questions_is_found() -> None:
    """In lexical mode too, where a tenant's own word would find nothing foreign."""

    class Crowded(Memory):
        in_flight = 0

        async def search(self, query: Query) -> Response:
            self.in_flight += 1
            await anyio.lowlevel.checkpoint()
            others = DRAW.tenants if self.in_flight > 4 else [query.tenant]
            found = [await Memory.search(self, replace(query, tenant=other)) for other in others]
            self.in_flight -= 1
            return Response([hit for each in found for hit in each.hits][: query.k])

    result = await audit_one("P31", "lexical", Crowded, arms=("below the guard",))
    assert (result.outcome, bool(result.findings)) == ("fail", True)
