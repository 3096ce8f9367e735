"""Which questions of a golden set find which of the user's chunks."""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import pytest

from retrieverbench.leaks import World, find_questions
from retrieverbench.model import Chunk, GoldenCase, Mode, TenantId, make_uid

pytestmark = pytest.mark.anyio
BIRCH, CEDAR, OAK = map(TenantId, ("birch", "cedar", "oak"))
Vector: TypeAlias = "array[float] | None"
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


async def ask(mode: Mode, tenant: TenantId, text: str, _vector: Vector) -> Sequence[str]:
    """Dense search shows nothing of birch's own; oak finds nothing in any mode."""
    if text.startswith("nothing") or tenant == OAK or mode == "dense":
        return []
    return ["cedar/b", "birch/a", "birch/b"] if tenant == BIRCH else ["strange"]


async def shared(_mode: Mode, tenant: TenantId, _text: str, _vector: Vector) -> Sequence[str]:
    return [make_uid(tenant, "b")]


async def worlds(
    answer: Callable[[Mode, TenantId, str, Vector], Awaitable[Sequence[str]]] = ask,
    cases: Sequence[GoldenCase] = CASES,
) -> dict[Mode, World]:
    return await find_questions(
        CHUNKS, cases, VECTORS, answer, modes=("dense", "lexical"), depth=10
    )


async def test_a_question_stands_for_the_relevant_chunk_that_it_shows() -> None:
    (kept,) = (await worlds())["lexical"].private(BIRCH)
    assert (kept.uid, kept.text, kept.vector) == ("birch/b", "what of birch?", VECTORS["2"])


async def test_a_mode_that_finds_nothing_takes_no_question_from_another() -> None:
    found = await worlds()
    assert found["dense"].only[BIRCH] == "nothing finds this", "its first question"
    assert found["lexical"].only[BIRCH] == "what of birch?"


async def test_a_tenant_that_finds_nothing_of_its_own_keeps_its_question() -> None:
    world = (await worlds())["lexical"]
    assert [chunk.text for chunk in world.private(CEDAR)] == ["and of cedar?"]
    assert [chunk.text for chunk in world.private(OAK)] == ["short"]
    assert all(chunk.vector for chunk in world.canaries.values())


async def test_the_ledger_is_the_whole_record() -> None:
    world = (await worlds())["dense"]
    assert world.ledger == {chunk.uid: chunk.tenant for chunk in CHUNKS}


async def test_a_chunk_is_known_by_its_text_only_where_nobody_else_has_it() -> None:
    async def first(_mode: Mode, tenant: TenantId, _text: str, _vector: Vector) -> Sequence[str]:
        return [make_uid(tenant, "a" if tenant == BIRCH else "b")]

    cases = [GoldenCase("1", "what?", BIRCH, ("a",)), GoldenCase("3", "what?", CEDAR, ("b",))]
    world = (await worlds(first, cases))["lexical"]
    assert set(world.tokens) == {BIRCH}
    assert world.tokens[BIRCH].startswith("ofwhichbirchalone")


async def test_a_question_that_finds_chunks_of_two_tenants_is_known() -> None:
    assert (await worlds())["lexical"].twins == {}, "cedar finds nothing of its own"
    world = (await worlds(shared))["dense"]
    assert {t: own[0].text for t, own in world.twins.items()} == {
        BIRCH: "nothing finds this",
        CEDAR: "nothing finds this",
    }
    assert (world.owned(BIRCH), world.owned(OAK)) == (2, 1)
