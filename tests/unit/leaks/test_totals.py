"""A total counts the asker's own chunks; the unfiltered arm shows that it could count more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.errors import Unavailable
from retrieverbench.leaks import (
    ToldTotals,
    TotalResult,
    ask_total,
    ask_unfiltered_total,
    make_ledger,
    total_question,
)
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId

pytestmark = pytest.mark.anyio
MakeStore = Callable[[Sequence[Chunk], Any], Adapter]
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
CORPUS = [Chunk("1", ACME, "one"), *(Chunk(str(n), GLOBEX, "two") for n in range(3))]


async def ask(store: MakeStore, search: Any, *, accepted: bool = False) -> TotalResult:
    """Ask as the tenant that owns one chunk, in its place and in the control arm."""
    query = total_question(Query("x", GLOBEX, 3, "lexical"), ACME, ["one two", "two three"])
    into = TotalResult(query, 1, accepted)
    place = store(CORPUS, search)
    ledger = make_ledger(CORPUS)
    await ask_total(place, ledger, target="fake/lexical/filter", timeout=5.0, into=into)
    await ask_unfiltered_total(place, TenantId("control"), timeout=5.0, into=into)
    return into


def counting(own: int | None, control: int | None, *uids: str) -> Any:
    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        assert (query.text, query.want) == ("one two three", frozenset({"total"}))
        total = own if query.tenant == ACME else control
        return Response([Hit(uid, 1.0) for uid in uids], total=total)

    return search


async def test_a_total_of_own_chunks_is_clean_and_proven_by_the_control(store: MakeStore) -> None:
    seen = await ask(store, counting(1, 4, "acme/1"))
    assert (seen.told, seen.unfiltered, seen.note, seen.side_channel) == (1, 4, "", "")


async def test_a_total_above_the_own_chunks_is_a_side_channel(store: MakeStore) -> None:
    seen = await ask(store, counting(4, 4))
    assert seen.findings == [], "no chunk was shown"
    assert seen.side_channel == (
        "'acme' was told a total of 4 chunks, and it owns 1; "
        "declares = { global_totals = true } in the target accepts it"
    )


async def test_a_total_beside_hits_that_break_the_protocol_is_judged(store: MakeStore) -> None:
    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        return Response([Hit(f"acme/{n}", 1.0) for n in range(query.k + 1)], total=4)

    seen = await ask(store, search)
    assert "was told a total of 4 chunks" in seen.side_channel
    assert (seen.unfiltered, seen.fault) == (None, "search returned 4 hits for k = 3")


async def test_a_declared_one_is_told_and_no_side_channel(store: MakeStore) -> None:
    seen = await ask(store, counting(4, 4), accepted=True)
    assert seen.side_channel == ""
    assert "counts others' chunks: 4, of 1 own, as [targets.declares] says" in seen.note


async def test_foreign_hits_beside_it_are_findings(store: MakeStore) -> None:
    (finding,) = (await ask(store, counting(1, 4, "globex/2"))).findings
    assert (finding.uid, finding.owner, finding.rank) == ("globex/2", "globex", 1)


async def test_a_control_that_counts_no_more_proves_nothing(store: MakeStore) -> None:
    assert "1 in the unfiltered control arm" in (await ask(store, counting(1, 1))).note


async def test_what_could_not_be_had_is_told(store: MakeStore) -> None:
    def failing(_query: Query, _chunks: Sequence[Chunk]) -> Response:
        raise Unavailable("down")

    assert (await ask(store, failing)).note == "its total could not be had: down"
    assert "tells none" in (await ask(store, counting(None, None))).note


def test_totals_of_ordinary_answers_are_judged_by_what_the_asker_owns() -> None:
    told = ToldTotals({"acme": 1, "globex": 3})
    for tenant, total, further in ((ACME, None, 0), (ACME, 1, 0), (GLOBEX, 4, 1)):
        told.judge(tenant, total, "case 'c1'", further=further)
    assert (told.side_channel, told.note) == ("", "")
    for number in (2, 3):
        told.judge(ACME, 4, f"case 'c{number}'")
    assert told.side_channel == (
        "'acme' was told a total of 4 chunks, and it owns 1 (case 'c2'); further such answers: 1; "
        "declares = { global_totals = true } in the target accepts it"
    )


def test_declared_ones_are_a_note() -> None:
    told = ToldTotals({}, accepted=True)
    told.judge(ACME, 4, "case 'c1'")
    assert told.side_channel == ""
    assert told.note.startswith("totals count others' chunks, as [targets.declares] says: 'acme'")
