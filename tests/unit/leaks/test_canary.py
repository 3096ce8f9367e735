"""Canaries: found by their owner, by nobody else, and never named by their token."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.errors import Unavailable
from retrieverbench.leaks import Canary, CanaryResult, make_canaries, make_ledger, probe_canaries
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId

pytestmark = pytest.mark.anyio
MakeStore = Callable[[Sequence[Chunk], Any], Adapter]
TENANTS = [TenantId(name) for name in ("acme", "globex", "initech")]
CANARIES = make_canaries(TENANTS, 4)
CHUNKS = [
    *(canary.chunk for canary in CANARIES),
    *(Chunk("d", tenant, "ordinary") for tenant in TENANTS),
]


async def probe(
    store: MakeStore, search: Any, canaries: Sequence[Canary] = CANARIES, *, k: int = 3
) -> CanaryResult:
    into = CanaryResult()
    ledger = make_ledger([*CHUNKS, *(canary.chunk for canary in canaries)])
    chunks = [*CHUNKS, *(canary.chunk for canary in canaries)]
    await probe_canaries(
        store(chunks, search),
        canaries,
        ledger,
        target="fake/dense/filter",
        mode="dense",
        k=k,
        timeout=5.0,
        into=into,
    )
    for canary in canaries:  # whatever was seen: the token stays inside
        assert canary.token not in repr(into)
    return into


def own(query: Query, chunks: Sequence[Chunk]) -> Response:
    mine = [chunk for chunk in chunks if chunk.tenant == query.tenant]
    return Response([Hit(chunk.uid, 1.0, text=chunk.text) for chunk in mine[: query.k]])


def everything(query: Query, chunks: Sequence[Chunk]) -> Response:
    return Response([Hit(chunk.uid, 1.0) for chunk in chunks[: query.k]])


def test_tokens_are_random_words_that_nothing_shows() -> None:
    tokens = {canary.token for canary in [*CANARIES, *make_canaries(TENANTS, 4)]}
    assert len(tokens) == 6
    for canary in CANARIES:
        assert canary.token.isalnum()
        assert canary.token == canary.token.lower()
        assert canary.token[0].isalpha()
        assert 24 <= len(canary.token) <= 32
        assert canary.token in canary.chunk.text
        assert canary.token not in canary.chunk.uid
        assert canary.token not in f"{canary!r} {canary}"


def test_nothing_of_a_canary_is_alike_in_two_runs() -> None:
    """What knew canaries by an id or a phrase could behave when it is asked for one."""
    runs = [make_canaries(TENANTS[:1], 0)[0].chunk for _ in range(5)]
    assert len({chunk.id for chunk in runs}) == 5
    words = [set(chunk.text.split()) for chunk in runs]
    assert not set.intersection(*words)


def test_vectors_have_length_1_or_are_not_there() -> None:
    for canary in CANARIES:
        assert canary.chunk.vector is not None
        assert math.isclose(math.fsum(x * x for x in canary.chunk.vector), 1.0, abs_tol=1e-5)
    assert make_canaries(TENANTS, 0)[0].chunk.vector is None


async def test_clean_store(store: MakeStore) -> None:
    result = await probe(store, own)
    assert result.findings == []
    assert (result.planned, result.owned, result.found_by_owner) == (3, 3, 3)
    assert (result.asked, result.answered, result.failed) == (6, 6, 0)
    assert result.answers == 9


async def test_everybody_asks_and_is_asked_equally_often(store: MakeStore) -> None:
    canaries = make_canaries([TenantId(f"t{n}") for n in range(9)], 0)
    asked: list[tuple[TenantId, str]] = []

    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        asked.append((query.tenant, query.text))
        return Response([])

    await probe(store, search, canaries)
    assert len(set(asked)) == len(asked) == 9 * 6
    assert {sum(tenant == c.chunk.tenant for tenant, _ in asked) for c in canaries} == {6}


async def test_who_has_no_answer_must_not_be_answered_with_everybodys(store: MakeStore) -> None:
    """All canaries share words: to the secret word alone, nobody but its owner has an answer."""

    def matching(query: Query, chunks: Sequence[Chunk]) -> list[Chunk]:
        asked = set(query.text.split())
        return [chunk for chunk in chunks if asked & set(chunk.text.split())]

    def closed(query: Query, chunks: Sequence[Chunk]) -> Response:
        return own(query, matching(query, chunks))

    def open_to_strangers(query: Query, chunks: Sequence[Chunk]) -> Response:
        found = closed(query, chunks)
        return found if found.hits else everything(query, matching(query, chunks))

    def wordless(query: Query, chunks: Sequence[Chunk]) -> Response:
        return closed(query, chunks) if " " in query.text else Response([])

    clean = await probe(store, closed)
    assert (clean.findings, clean.found_by_owner) == ([], 3)
    blind = await probe(store, wordless)
    assert (blind.findings, blind.found_by_owner) == ([], 2), "its own control fails"
    found = (await probe(store, open_to_strangers)).findings
    assert {(each.uid, each.case_id) for each in found} == {(CANARIES[0].chunk.uid,) * 2}


async def test_query_is_the_canary_itself_with_its_text_wanted(store: MakeStore) -> None:
    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        first, *others = CANARIES
        asked = {first.token: first, **{c.chunk.text: c for c in others}}
        canary = asked[query.text]
        assert query.vector == canary.chunk.vector
        assert query.want == {"text"}
        assert (query.k, query.mode) == (3, "dense")
        return Response([])

    assert (await probe(store, search)).failed == 0


async def test_missing_filter_is_found_for_owners_and_askers(store: MakeStore) -> None:
    result = await probe(store, everything, k=2)
    by_asker = {(finding.tenant, finding.owner) for finding in result.findings}
    assert len(by_asker) == 6
    assert {finding.seen_in for finding in result.findings} == {"canary"}


async def test_store_that_returns_nothing_fails_its_control(store: MakeStore) -> None:
    result = await probe(store, lambda _q, _c: Response([]))
    assert (result.found_by_owner, result.findings, result.hits) == (0, [], 0)


async def test_failing_searches_prove_nothing(store: MakeStore) -> None:
    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        if query.tenant == TENANTS[0]:
            raise Unavailable("down")
        return own(query, chunks)

    result = await probe(store, search)
    assert (result.failed, result.answered, result.found_by_owner) == (3, 4, 2)
    assert result.answers == 6


async def test_leak_in_a_refused_answer_counts(store: MakeStore) -> None:
    """Too many hits, or a broken score: refused as an answer, still a leak."""

    def too_many(query: Query, chunks: Sequence[Chunk]) -> Response:
        return Response([Hit(chunk.uid, 1.0) for chunk in chunks[: query.k + 1]])

    def broken(_query: Query, chunks: Sequence[Chunk]) -> Response:
        return Response([Hit(chunks[0].uid, float("nan"))])

    for search in (too_many, broken):
        result = await probe(store, search)
        assert result.failed == 9
        assert result.findings


async def test_unknown_uid_is_a_finding(store: MakeStore) -> None:
    result = await probe(store, lambda _q, _c: Response([Hit("ghost", 1.0)]))
    assert {(finding.uid, finding.owner) for finding in result.findings} == {("ghost", None)}


async def test_token_under_an_own_uid_is_a_finding(store: MakeStore) -> None:
    """The answer names the asker's own chunk and shows another's text."""

    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        mine = next(chunk for chunk in chunks if chunk.tenant == query.tenant)
        return Response([Hit(mine.uid, 1.0, text=chunks[0].text)])

    result = await probe(store, search)
    assert len(result.findings) == 6
    assert {(f.tenant == f.owner, f.rank) for f in result.findings} == {(False, 1)}


@dataclass
class Highlighted(Response):
    highlights: dict[str, list[str]] = field(default_factory=dict)


async def test_any_foreign_token_anywhere_counts(store: MakeStore) -> None:
    """Not only the one asked for, and not only in hits."""
    third = CANARIES[2]

    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        found = Highlighted(own(query, chunks).hits)
        found.highlights = {"text": [third.chunk.text]}
        return found

    result = await probe(store, search)
    seen = {
        (finding.tenant, finding.uid, finding.owner, finding.rank) for finding in result.findings
    }
    assert seen == {
        ("acme", third.chunk.uid, "initech", 0),
        ("globex", third.chunk.uid, "initech", 0),
    }


async def test_token_in_an_error_text_counts(store: MakeStore) -> None:
    def search(query: Query, _chunks: Sequence[Chunk]) -> Response:
        raise Unavailable(f"cannot parse {CANARIES[1].token} near {query.text}")

    result = await probe(store, search)
    assert {finding.owner for finding in result.findings} == {"globex"}


async def test_an_echo_of_the_question_is_no_leak(store: MakeStore) -> None:
    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        found = Highlighted(own(query, chunks).hits)
        found.highlights = {query.text: []}
        return found

    assert (await probe(store, search)).findings == []


async def test_interrupt_keeps_what_was_found(store: MakeStore) -> None:
    into = CanaryResult()

    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        if into.owned:
            scope.cancel()
        return everything(query, chunks)

    with anyio.CancelScope() as scope:
        await probe_canaries(
            store(CHUNKS, search),
            CANARIES,
            make_ledger(CHUNKS),
            target="t",
            mode="lexical",
            k=2,
            timeout=5.0,
            into=into,
            on_done=lambda: pytest.fail("went on"),
        )
        await anyio.sleep(1)
    assert into.findings
    assert into.planned == 3


async def test_totals_are_kept_of_answers_that_break_the_protocol_too(store: MakeStore) -> None:
    def search(query: Query, chunks: Sequence[Chunk]) -> Response:
        return Response(own(query, chunks).hits, total=7, partial=True)

    seen = await probe(store, search)
    assert seen.failed == len(seen.totals) > 0
    assert {total for _asker, total in seen.totals} == {7}
