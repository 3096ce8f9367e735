"""What keeps its promises passes every probe, and what finds nothing passes none.

That each probe catches its faults is proven with the leaky adapter: `test_mutation_score`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from probe_support import Toy, audit, memory
from retrieverbench.adapter import Description
from retrieverbench.errors import Rejected
from retrieverbench.leaks import CATALOG
from retrieverbench.model import Chunk, Hit, Layout, Query, Response, TenantId

pytestmark = pytest.mark.anyio
NOT_OF_CROWDS = [probe.id for probe in CATALOG if probe.leak_class != "starvation"]
"""Those of crowds need thousands of chunks and have a file of their own."""


async def test_a_clean_retriever_passes_every_probe() -> None:
    results = await audit(memory("index"), *NOT_OF_CROWDS)
    bad = [r for r in results if r.outcome not in {"pass", "not applicable"}]
    assert not bad, [(r.probe, r.mode, r.arm, r.reason) for r in bad]
    assert all(result.control for result in results if result.outcome == "pass")


async def test_one_that_finds_nothing_passes_no_probe() -> None:
    class Silent(Toy):
        def candidates(self, query: Query) -> list[tuple[float, str]]:
            return []

        async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
            return []

        async def describe(self) -> Description:
            return replace(await super().describe(), chunks={})

    passed = {r.probe for r in await audit(Silent, *NOT_OF_CROWDS) if r.outcome == "pass"}
    assert not passed


class Folded(Toy):
    def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
        return tenant.value.casefold() == owner.value.casefold()


async def test_a_label_that_disagrees_is_told_and_judges_nothing() -> None:
    class Stale(Toy):
        """Every hit says that it is another's."""

        async def search(self, query: Query) -> Response:
            found = await super().search(query)
            return replace(found, hits=[replace(hit, tenant="someone") for hit in found.hits])

    for result in await audit(Stale, "P01"):
        assert result.outcome == "pass"
        uids = [label.uid for label in result.labels]
        assert len(set(uids)) == len(uids) > 0
        assert {label.label for label in result.labels} == {"someone"}
        assert all(label.uid.startswith(f"{label.owner}/") for label in result.labels)
    assert not any(result.labels for result in await audit(Toy, "P01"))


@pytest.mark.parametrize("layout", ["filter", "index"])
async def test_names_that_a_wider_pattern_allows_are_exact_through_the_guard(
    layout: Layout,
) -> None:
    results = await audit(memory(layout), "P13", "P18", pattern=r".+")
    assert {result.outcome for result in results} == {"pass"}
    failed = await audit(Folded, "P18", pattern=r".+")
    assert {result.arm for result in failed if result.outcome == "fail"} == {
        "guarded",
        "below the guard",
    }


async def test_names_that_are_refused_at_the_load_must_not_be_found() -> None:
    class Plain(Toy):
        """Takes plain names only, when it loads and when it is asked."""

        def check(self, tenant: TenantId) -> None:
            super().check(tenant)
            if not re.fullmatch(r"[\w.-]+", tenant.value):
                raise Rejected("only plain names")

    class PlainAtLoad(Toy):
        """Takes plain names only when it loads; the others are somebody's in a search."""

        async def put(self, chunks: Sequence[Chunk]) -> None:
            if not all(re.fullmatch(r"[\w.-]+", chunk.tenant.value) for chunk in chunks):
                raise Rejected("only plain names")
            await super().put(chunks)

        def is_own(self, tenant: TenantId, owner: TenantId) -> bool:
            return re.sub(r"[^\w.-]", "", tenant.value) == owner.value

    assert {r.outcome for r in await audit(PlainAtLoad, "P18")} == {"pass", "fail"}
    assert "got an error" in (await audit(Plain, "P13"))[-1].reason, "no TenantError"
