"""Which questions of a golden set find which of the user's chunks."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest

from retrieverbench.leaks import find_questions
from retrieverbench.model import Chunk, GoldenCase, TenantId, make_uid

pytestmark = pytest.mark.anyio
BIRCH, CEDAR, OAK = map(TenantId, ("birch", "cedar", "oak"))
SHARED = "a rule that everybody has in the very same words, however long it is"
OWN = "of which birch alone has this one paragraph, long enough to be known"
CHUNKS = [
    Chunk("a", BIRCH, OWN),
    Chunk("b", BIRCH, SHARED),
    Chunk("b", CEDAR, SHARED),
    Chunk("c", OAK, "short"),
]
CASES = [
    GoldenCase("1", "nothing finds this", BIRCH, ("b",)),
    GoldenCase("2", "what of birch?", BIRCH, ("b",)),
    GoldenCase("3", "and of cedar?", CEDAR, ("b",)),
    GoldenCase("4", "jury duty?", CEDAR, (), unanswerable=True),
]
VECTORS = {case.id: array("f", [float(case.id)]) for case in CASES}


async def ask(tenant: TenantId, text: str, _vector: array[float] | None) -> Sequence[Sequence[str]]:
    """Two modes, of which the second shows less."""
    if text.startswith("nothing") or tenant == OAK:
        return []
    if tenant == BIRCH:
        return [["birch/a", "birch/b", "cedar/b"], ["cedar/b", "birch/b", "birch/a"]]
    return [["strange"], ["strange", "cedar/b"]]


async def test_a_question_stands_for_the_relevant_chunk_that_every_mode_shows() -> None:
    world = await find_questions(CHUNKS, CASES, VECTORS, ask, depth=10)
    (kept,) = world.private(BIRCH)
    assert (kept.uid, kept.text, kept.vector) == ("birch/b", "what of birch?", VECTORS["2"])


async def test_a_tenant_that_finds_nothing_of_its_own_keeps_its_question() -> None:
    world = await find_questions(CHUNKS, CASES, VECTORS, ask, depth=10)
    assert [chunk.text for chunk in world.private(CEDAR)] == ["and of cedar?"]
    assert [chunk.text for chunk in world.private(OAK)] == ["short"]
    assert all(chunk.vector for chunk in world.canaries.values())


async def test_the_ledger_is_the_whole_record() -> None:
    world = await find_questions(CHUNKS, CASES, VECTORS, ask, depth=10)
    assert world.ledger == {chunk.uid: chunk.tenant for chunk in CHUNKS}


async def test_a_chunk_is_known_by_its_text_only_where_nobody_else_has_it() -> None:
    async def first(
        tenant: TenantId, _text: str, _vector: array[float] | None
    ) -> Sequence[Sequence[str]]:
        return [[make_uid(tenant, "a" if tenant == BIRCH else "b")]]

    cases = [GoldenCase("1", "what?", BIRCH, ("a",)), GoldenCase("3", "what?", CEDAR, ("b",))]
    world = await find_questions(CHUNKS, cases, VECTORS, first, depth=10)
    assert set(world.tokens) == {BIRCH}
    assert world.tokens[BIRCH].startswith("ofwhichbirchalone")


async def test_a_question_that_finds_chunks_of_two_tenants_is_known() -> None:
    world = await find_questions(CHUNKS, CASES, VECTORS, ask, depth=10)
    assert world.twins == {}, "cedar finds nothing of its own"

    async def everybody(
        tenant: TenantId, _text: str, _vector: array[float] | None
    ) -> Sequence[Sequence[str]]:
        return [[make_uid(tenant, "b")]]

    world = await find_questions(CHUNKS, CASES, VECTORS, everybody, depth=10)
    assert {t: own[0].text for t, own in world.twins.items()} == {
        BIRCH: "nothing finds this",
        CEDAR: "nothing finds this",
    }
    assert (world.owned(BIRCH), world.owned(OAK)) == (2, 1)
