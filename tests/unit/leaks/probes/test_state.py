"""What a connection keeps is looked for where every question shares one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

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
        async def loaded(self, _name: str, make: Any, variant: Variant) -> AsyncIterator[Scene]:
            assert make() is self.world
            opened.append(variant)
            yield self

    async with state._one_connection(Scene()):  # type: ignore[arg-type]
        pass
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
