"""Retrievers that are odd and show nobody anything: no probe may accuse them of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from probe_support import Toy, audit
from retrieverbench.errors import Code, Rejected, Unavailable
from retrieverbench.leaks import RequestLog, crowds
from retrieverbench.model import SEVERITIES, Mode, ProbeResult, Query, Response, TenantId

pytestmark = pytest.mark.anyio
GRAVE = SEVERITIES[: SEVERITIES.index("high") + 1]
"""What fails an audit."""


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 200)


def accused(results: Sequence[ProbeResult]) -> set[str]:
    return {r.probe for r in results if r.outcome == "fail" and r.severity in GRAVE}


def unproven(results: Sequence[ProbeResult]) -> set[str]:
    return {result.probe for result in results if result.outcome == "inconclusive"}


class Floor(Toy):
    """Dense answers below a cosine of 0.6 are not shown."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        return [each for each in super().candidates(query) if each[0] <= -0.6]


class AfterFloor(Toy):
    """The same, and the tenant's condition comes after the search."""

    def most(self, query: Query) -> int:
        return query.k

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        found = sorted(
            (-(self.score(query, chunk) or 0.0), uid) for uid, chunk in self.chunks.items()
        )
        best = [uid for _score, uid in found[: self.most(query)]]
        return [each for each in super().candidates(query) if each[1] in best]


class AfterHalf(AfterFloor):
    """The condition comes after a search that finds the better half of everybody's chunks."""

    def most(self, query: Query) -> int:
        return max(query.k, len(self.chunks) // 2)


class ShownOnce(Toy):
    """Equal texts are shown once in an answer."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        first: dict[str, tuple[float, str]] = {}
        for each in super().candidates(query):
            first.setdefault(self.chunks[each[1]].text, each)
        return list(first.values())


class Limited(Toy):
    """Never more than ten hits."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        return super().candidates(query)[:10]


class Halving(Toy):
    """A reranker drops the worse half of what matches."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        found = super().candidates(query)
        return found[: (len(found) + 1) // 2]


class Conditionless(Halving):
    """The same, and questions with a condition find nothing."""

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        return [] if query.where else super().candidates(query)


class Turning(Toy):
    """Another chunk is left out of each answer."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(log)
        self.turns = count()

    def candidates(self, query: Query) -> list[tuple[float, str]]:
        found, turn = super().candidates(query), next(self.turns)
        return found[:2] + [each for n, each in enumerate(found[2:]) if n != turn % 11]


class Polite(Toy):
    """Turns away what no search can be made of, and strangers by Python's own errors."""

    def check(self, tenant: TenantId) -> None:
        value: object = tenant.value
        if not isinstance(value, str) or not value.strip():
            raise ValueError("a tenant is a name")
        if len(value) > 100:
            raise Rejected("400: a tenant has 100 characters at most")

    async def search(self, query: Query) -> Response:
        if not any(letter.isalnum() for letter in query.text):
            raise Rejected("400: the question holds no word")
        return await super().search(query)


class Wordy(Toy):
    """Takes words and no signs."""

    async def search(self, query: Query) -> Response:
        if not all(letter.isalnum() or letter.isspace() for letter in query.text):
            raise Rejected("400: write words")
        return await super().search(query)


class Parsing(Toy):
    """Signs that its query language cannot parse are an error."""

    async def search(self, query: Query) -> Response:
        if query.text.count('"') % 2:
            raise Rejected("400: a quote is not closed")
        return await super().search(query)


class OneAtATime(Toy):
    """A session per tenant, which answers one question at a time."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(log)
        self.busy: set[TenantId] = set()

    async def search(self, query: Query) -> Response:
        if query.tenant in self.busy:
            raise RuntimeError("the session is busy")
        self.busy.add(query.tenant)
        try:
            return await super().search(query)
        finally:
            self.busy.discard(query.tenant)


async def test_a_floor_of_scores_is_no_crowd() -> None:
    results = await audit(Floor, "P05", "P07", "P08", "P09", "P42", modes=["dense"])
    assert not accused(results)
    assert unproven(results) == {"P07", "P08", "P09"}
    assert all("where no others are" in r.reason for r in results if r.outcome == "inconclusive")


async def test_what_a_crowd_hides_beyond_that_is_still_found() -> None:
    assert accused(await audit(AfterFloor, "P07", "P09", modes=["dense"])) == {"P07", "P09"}


async def test_names_whose_chunks_the_search_lost_are_starved_and_not_mixed_up() -> None:
    names = ("P13", "P16", "P17", "P18", "P19", "P20", "P41")
    failed = [r for r in await audit(AfterHalf, *names, modes=["dense"]) if r.outcome == "fail"]
    assert {result.probe for result in failed} == set(names)
    assert {(r.leak_class, r.severity) for r in failed} == {("starvation", "high")}
    assert all("of its 2 chunks: own ones are missing, as names" in r.reason for r in failed)


async def test_a_graver_failure_beside_it_is_the_one_that_is_told() -> None:
    class Nobodys(AfterHalf):
        """A number passes for a name, and is an error of the backend."""

        def check(self, tenant: TenantId) -> None:
            if type(tenant.value) is not str:
                raise Unavailable("500: it expected a text", code=Code.HTTP_5XX)

    results = await audit(Nobodys, "P20", modes=["dense"])
    told = {r.arm: (r.leak_class, r.severity) for r in results}
    assert told["below the guard"] == ("leak", "critical")
    assert all("500: it expected a text" in r.reason for r in results if r.severity == "critical")


@pytest.mark.parametrize("make", [ShownOnce, Limited])
async def test_equal_texts_shown_once_and_limits_are_no_loss(make: type[Toy]) -> None:
    names = ("P05", "P07", "P09", "P26", "P29", "P30", "P31", "P42")
    assert not accused(await audit(make, *names, modes=["dense", "lexical"]))


async def test_answers_that_differ_by_themselves_prove_nothing() -> None:
    results = await audit(Turning, "P31", "P32", "P33", "P35", "P36", modes=["dense", "lexical"])
    assert not accused(results)
    assert unproven(results) == {"P31", "P32", "P33", "P35", "P36"}
    assert any("differ by themselves" in result.reason for result in results)


async def test_what_cannot_be_searched_may_be_turned_away() -> None:
    names = ("P12", "P13", "P14", "P20", "P21", "P22", "P23", "P32", "P35", "P41", "P48")
    assert not accused(await audit(Polite, *names, modes=["lexical"]))


async def test_an_error_among_other_questions_shows_nothing() -> None:
    results = await audit(OneAtATime, "P31", modes=["lexical"])
    assert {result.outcome for result in results} == {"inconclusive"}
    assert "the session is busy" in results[0].reason


@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_who_drops_a_share_of_what_matches_loses_no_condition(mode: Mode) -> None:
    assert not accused(await audit(Halving, "P05", modes=[mode]))
    assert accused(await audit(Conditionless, "P05", modes=[mode])) == {"P05"}


async def test_who_takes_no_signs_has_no_query_language() -> None:
    results = await audit(Wordy, "P14", modes=["lexical"])
    assert {result.outcome for result in results} == {"pass"}
    assert accused(await audit(Parsing, "P14", modes=["lexical"])) == {"P14"}
