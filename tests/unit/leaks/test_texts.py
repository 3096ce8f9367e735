"""Some questions are asked once more, with the texts of their hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.errors import Unavailable
from retrieverbench.leaks import TextResult, ToldTotals, ask_texts, make_ledger, questions_for_texts
from retrieverbench.model import Chunk, GoldenCase, Hit, Query, Response, TenantId

pytestmark = pytest.mark.anyio
MakeStore = Callable[[Sequence[Chunk], Any], Adapter]
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
CORPUS = [
    Chunk("1", ACME, "a text that is long enough"),
    Chunk("2", GLOBEX, "another text, as long"),
]
OWNERS = {chunk.text: frozenset({chunk.tenant}) for chunk in CORPUS}


async def ask(store: MakeStore, search: Any, into: TextResult, times: int = 1) -> None:
    case = GoldenCase("c1", "x", ACME)
    await ask_texts(
        store(CORPUS, search),
        [case] * times,
        [Query(case.query, ACME, 3, "lexical")] * times,
        make_ledger(CORPUS),
        lambda text: OWNERS.get(text, frozenset()),
        target="fake/lexical/filter",
        timeout=5.0,
        into=into,
    )


async def test_ids_and_texts_of_others_are_found_once(store: MakeStore) -> None:
    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        assert query.want == {"text"}
        return Response([Hit("acme/1", 2.0, text=CORPUS[1].text), Hit("globex/2", 1.0)])

    into = TextResult()
    for _ in range(2):
        await ask(store, search, into)
        assert [(f.uid, f.shown, f.seen_in, f.owner) for f in into.findings] == [
            ("globex/2", "id", "text", "globex"),
            ("acme/1", "text", "text", "globex"),
        ]
    assert (into.asked, into.note) == (2, "")


async def test_own_texts_are_none(store: MakeStore) -> None:
    into = TextResult()
    await ask(store, lambda _q, _c: Response([Hit("acme/1", 1.0, text=CORPUS[0].text)]), into)
    assert into.findings == []


@pytest.mark.parametrize("partial", [False, True])
async def test_a_total_of_others_is_told(store: MakeStore, partial: bool) -> None:
    into = TextResult(totals=ToldTotals({"acme": 1}))
    await ask(store, lambda _q, _c: Response([], total=2, partial=partial), into)
    assert into.failed == partial
    assert into.totals is not None
    assert "'acme' was told a total of 2 chunks, and it owns 1 (case 'c1', with texts)" in (
        into.totals.side_channel
    )


async def test_a_question_that_failed_is_told(store: MakeStore) -> None:
    def failing(_query: Query, _chunks: Sequence[Chunk]) -> Response:
        raise Unavailable("down")

    into = TextResult()
    await ask(store, failing, into)
    many = TextResult()
    await ask(store, failing, many, times=9)
    assert many.asked == 3, "each would wait for its timeout"
    assert into.note == (
        "1 of 1 question asked once more for the texts of chunks failed, so that those texts were "
        "not judged; the first error: down"
    )


def test_of_a_large_set_as_many_as_the_limit_are_drawn_by_the_seed() -> None:
    assert questions_for_texts(3, 0) == [0, 1, 2]
    drawn = questions_for_texts(1000, 7)
    assert len(set(drawn)) == 100
    assert drawn == questions_for_texts(1000, 7) != questions_for_texts(1000, 8)
