"""Totals that nobody declares or asks for: judged where they are told, and never guessed at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probe_support import Toy, audit
from retrieverbench.model import ProbeResult, Query, Response

pytestmark = pytest.mark.anyio
UNDECLARED = Toy.capabilities - {"total"}


class Telling(Toy):
    """Every answer bears a total."""

    def total(self, query: Query, hits: int) -> int:
        return hits

    async def search(self, query: Query) -> Response:
        found = await super().search(replace(query, want=frozenset()))
        return replace(found, total=self.total(query, len(found.hits)))

    def own(self, query: Query) -> int:
        return sum(self.is_own(query.tenant, owner) for owner in self.owners.values())


class Everybodys(Telling):
    def total(self, query: Query, hits: int) -> int:
        return len(self.owners)


class EverybodysMatches(Telling):
    def total(self, query: Query, hits: int) -> int:
        asked = set(query.text.split())
        return sum(bool(asked & set(chunk.text.split())) for chunk in self.chunks.values())


class Capped(EverybodysMatches):
    """Never above what the asker owns: only what nobody has tells that it counts others'."""

    def total(self, query: Query, hits: int) -> int:
        return min(super().total(query, hits), self.own(query))


class Hits(Telling):
    def total(self, query: Query, hits: int) -> int:
        return hits


class Matches(Telling):
    def total(self, query: Query, hits: int) -> int:
        return len(self.candidates(query))


class Owned(Telling):
    """All that the asker has, whatever it asks."""

    def total(self, query: Query, hits: int) -> int:
        return self.own(query)


async def judged(
    make: type[Toy], *ids: str, capabilities: frozenset[str] = UNDECLARED
) -> list[ProbeResult]:
    return await audit(make, *(ids or ("P39",)), capabilities=capabilities)


either = pytest.mark.parametrize("capabilities", [UNDECLARED, Toy.capabilities])
"""Totals are declared, and so asked for, or not."""


@pytest.mark.parametrize("make", [Hits, Matches, Owned])
async def test_a_total_that_may_be_of_own_chunks_accuses_nobody(make: type[Toy]) -> None:
    for result in await judged(make, "P01", "P12", "P22", "P25", "P28", "P29", "P30", "P39"):
        assert result.outcome == "pass", (result.probe, result.mode, result.reason)


@either
@pytest.mark.parametrize("make", [Everybodys, EverybodysMatches, Capped])
async def test_one_that_counts_others_is_a_side_channel(
    make: type[Toy], capabilities: frozenset[str]
) -> None:
    results = await judged(make, capabilities=capabilities)
    told = {(r.outcome, r.leak_class, r.severity) for r in results}
    assert told == {("fail", "side channel", "medium")}
    assert all("was told a total of " in result.reason for result in results)


@pytest.mark.parametrize("make", [Matches, Owned])
async def test_nor_does_one_that_was_asked_for(make: type[Toy]) -> None:
    for result in await judged(make, "P39", "P29", capabilities=Toy.capabilities):
        assert result.outcome == "pass", (result.probe, result.mode, result.reason)


async def test_any_probe_sees_it_and_the_first_tells_it_for_all() -> None:
    results = {r.probe: r for r in await judged(Everybodys, "P01", "P02", "P22")}
    assert (results["P01"].outcome, results["P01"].severity) == ("fail", "medium")
    assert results["P01"].leak_class == "side channel"
    assert "was told a total of 64 chunks, and it owns 16; declares" in results["P01"].reason
    assert results["P02"].outcome == "pass", "told once"
    assert results["P22"].outcome == "fail", "who owns nothing is asked about apart"


async def test_the_total_of_an_answer_that_breaks_the_protocol_is_judged() -> None:
    class TooMany(Everybodys):
        async def search(self, query: Query) -> Response:
            found = await super().search(query)
            return replace(found, hits=found.hits * (query.k + 1))

    (result, *_others) = await judged(TooMany, "P01")
    assert result.outcome == "fail"
    assert "was told a total of 64 chunks, and it owns 16; declares" in result.reason


async def test_missing_hits_explain_no_total() -> None:
    class Empty(Everybodys):
        async def search(self, query: Query) -> Response:
            return replace(await super().search(query), hits=[])

    for result in await judged(Empty, "P01"):
        assert (result.outcome, result.severity) == ("fail", "medium"), result.reason


async def test_none_at_all_is_not_applicable() -> None:
    for result in await judged(Toy):
        assert result.outcome == "not applicable"
        assert result.reason == (
            "the adapter does not declare total, and its ordinary answers bear none"
        )
