"""Drawn names and texts against every adapter on its engine: each tenant finds exactly its own.

A few hundred searches of each in the test suite; FUZZ_SEARCHES=100000 for the whole (`make fuzz`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import Phase, given, settings

from engine_support import combinations, need_engine, settings_of
from fuzz_support import Counting, Draw, Fuzzed, draws
from retrieverbench.engines import engine_names
from retrieverbench.model import MODES
from retrieverbench.run import Engines, TargetEntry, connect, load_adapter
from summary_support import TOLD

SEARCHES = int(os.environ.get("FUZZ_SEARCHES", "240"))
PER_EXAMPLE = 60
"""Searches of an average example."""
SUBJECTS = [(name, layout) for name, layout in combinations() if layout in {"filter", "rls"}]
"""Layouts with a table or an index per tenant cannot hold thousands of them."""

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=SUBJECTS, ids="-".join)
async def fuzzed(request: pytest.FixtureRequest, engines: Engines) -> AsyncIterator[Fuzzed]:
    name, layout = request.param
    need_engine(name)
    loaded, recorder = load_adapter(name), Counting()
    exact = {"exact": True} if "exact" in loaded.cls.capabilities and name != "memory" else {}
    entry = TargetEntry(
        adapter=name,
        name=name,
        modes=MODES,
        layout=layout,
        engine="embedded" if name in engine_names() else "",
        search=exact,
    )
    connection = await connect(entry, os.environ, engines)
    recording = {"recorder": recorder} if "record" in loaded.cls.capabilities else {}
    adapter = await loaded.cls.open(settings_of(entry, connection, concurrency=1, **recording))
    try:
        yield Fuzzed(adapter, recorder, MODES)
    finally:
        await adapter.close()


@settings(
    max_examples=max(1, SEARCHES // PER_EXAMPLE),
    phases=[Phase.reuse, Phase.generate],  # what failed is named; engines are slow to shrink on
)
@given(batch=draws)
async def test_each_tenant_finds_exactly_its_own(fuzzed: Fuzzed, batch: list[Draw]) -> None:
    await fuzzed.try_all(batch)


async def test_each_name_is_a_tenant_by_itself_in_the_end(
    fuzzed: Fuzzed, record_property: Callable[[str, object], None]
) -> None:
    record_property(TOLD, fuzzed.told())
    await fuzzed.check_counts()
    assert fuzzed.searches
