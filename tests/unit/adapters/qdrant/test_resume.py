"""A load that was broken off goes on, and ends as one that was not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qdrant_support import LAYOUTS, A, B, adapter, ask, chunk, load, settings_for, unit_vectors
from retrieverbench.engines import Started, qdrant
from retrieverbench.model import Layout
from retrieverbench_adapters.qdrant import Qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]
# Short texts first: their average alone is not the average of all.
CHUNKS = [
    chunk(str(n), tenant, " ".join(["refund", *["order"] * n]), unit_vectors(8)[n])
    for n in range(8)
    for tenant in (A, B)
]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_scores_are_those_of_a_load_in_one_piece(front: Started, layout: Layout) -> None:
    asked = [ask(tenant, "lexical", [], "refund order") for tenant in (A, B)]
    async with adapter(front, layout=layout) as whole:
        await load(whole, CHUNKS)
        expected = [(await whole.search(query)).hits for query in asked]
        counted = (await whole.describe()).settings
    settings = replace(settings_for(front, layout=layout), resume=True)
    begun = await Qdrant.open(settings)
    await begun.put(CHUNKS[:8])
    await begun.close()
    going_on = await Qdrant.open(settings)
    assert (await going_on.describe()).chunks == {"acme": 4, "globex": 4}
    await load(going_on, CHUNKS[8:])
    assert [(await going_on.search(query)).hits for query in asked] == expected
    described = (await going_on.describe()).settings
    averages = ("avg_len_smallest", "avg_len_largest")
    assert [described[name] for name in averages] == [counted[name] for name in averages]
    await going_on.close()
