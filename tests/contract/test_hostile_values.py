"""Drawn names and texts against every adapter on its engine: each tenant finds exactly its own.

Some hundred searches of each in the test suite; FUZZ_SEARCHES=100000 for the whole (`make fuzz`),
which ends after FUZZ_SECONDS for each place, whatever was reached.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import Phase, given, settings

from engine_support import combinations, need_engine, settings_of
from fuzz_support import ALMOST, WIDTH, Counting, Draw, Fuzzed, draws
from retrieverbench.engines import engine_names
from retrieverbench.model import MODES
from retrieverbench.run import Engines, TargetEntry, connect, load_adapter
from summary_support import TOLD

SEARCHES = int(os.environ.get("FUZZ_SEARCHES", "120"))
SECONDS = float(os.environ.get("FUZZ_SECONDS", "inf"))
SHARED = {"filter", "rls"}
FEW = 12
"""Names that become tables, collections or indices in the test suite."""
LEAST_SEARCHES = 60
"""More than the first example asks, which is the simplest of all."""
LEAST, MOST = (4, 8) if SEARCHES < 1_000 else (10, 40)
"""Tenants of one example."""
EXAMPLES = SEARCHES // (LEAST * len(MODES) * (2 + ALMOST)) + 1

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=list(combinations()), ids="-".join)
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
    adapter = await loaded.cls.open(settings_of(entry, connection, concurrency=WIDTH, **recording))
    try:
        yield Fuzzed(
            adapter,
            recorder,
            MODES,
            goal=SEARCHES if layout in SHARED else max(SEARCHES // 10, LEAST_SEARCHES),
            seconds=SECONDS,
            most=SEARCHES if layout in SHARED else max(FEW, SEARCHES // 1_000),
        )
    finally:
        await adapter.close()


@settings(
    max_examples=EXAMPLES,
    phases=[Phase.reuse, Phase.generate],  # what failed is named; engines are slow to shrink on
)
@given(batch=draws(LEAST, MOST))
async def test_each_tenant_finds_exactly_its_own(fuzzed: Fuzzed, batch: list[Draw]) -> None:
    if not fuzzed.is_done:
        await fuzzed.try_all(batch)


async def test_half_of_a_character_is_refused_or_names_nothing(fuzzed: Fuzzed) -> None:
    """Half of a surrogate pair has no bytes in UTF-8: as a tenant, in an id, in a text."""
    await fuzzed.try_halves()


async def test_each_name_is_a_tenant_by_itself_in_the_end(
    fuzzed: Fuzzed, record_property: Callable[[str, object], None]
) -> None:
    record_property(TOLD, fuzzed.told())
    await fuzzed.check_counts()
    assert fuzzed.searches
