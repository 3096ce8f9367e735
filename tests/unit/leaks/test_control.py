"""The control arm shows what could be stolen, and is judged itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.errors import Unavailable
from retrieverbench.leaks import (
    ControlResult,
    ask_control,
    control_cases,
    control_chunks,
    control_tenant,
    make_ledger,
)
from retrieverbench.leaks import control as control_module
from retrieverbench.model import Chunk, GoldenCase, Hit, Query, Response, TenantId
from retrieverbench.run import build_queries

pytestmark = pytest.mark.anyio
MakeStore = Callable[[Sequence[Chunk], Any], Adapter]
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
OWNER = TenantId("control")
CORPUS = [Chunk("1", tenant, f"text {n}") for n, tenant in enumerate((ACME, GLOBEX))]
CASES = [GoldenCase("a", "text 0", ACME, ("1",)), GoldenCase("g", "text 1", GLOBEX, ("1",))]


async def ask(store: MakeStore, search: Any, corpus: Sequence[Chunk] = CORPUS) -> ControlResult:
    into = ControlResult()
    chunks = control_chunks(corpus, CASES, 0, OWNER)
    await ask_control(
        store(chunks, search),
        chunks,
        CASES,
        build_queries(CASES, {}, "lexical", 3),
        make_ledger(corpus),
        target="fake/lexical/filter",
        timeout=5.0,
        into=into,
    )
    return into


def everything(query: Query, chunks: Sequence[Chunk]) -> Response:
    assert query.tenant == OWNER
    return Response([Hit(chunk.uid, 1.0) for chunk in chunks])


def test_all_chunks_get_one_owner_and_keep_their_uid_as_id() -> None:
    chunks = control_chunks(CORPUS, CASES, 0, OWNER)
    assert [(chunk.uid, chunk.text) for chunk in chunks] == [
        ("control/acme/1", "text 0"),
        ("control/globex/1", "text 1"),
    ]


def test_owner_is_another_in_every_run_and_none_of_the_corpus() -> None:
    owners = {control_tenant(["acme"]) for _ in range(20)}
    assert len(owners) > 15
    assert TenantId("acme") not in owners


def test_large_corpus_is_sampled_with_what_the_cases_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_module, "CONTROL_CHUNKS", 10)
    corpus = [Chunk(str(n), ACME, "text") for n in range(100)]
    cases = [GoldenCase("a", "q", ACME, ("7",)), GoldenCase("b", "q", ACME, None, {"93": 2})]
    first = control_chunks(corpus, cases, 3, OWNER)
    assert len(first) == 10
    assert {"acme/7", "acme/93"} <= {chunk.id for chunk in first}
    for seed in range(20):
        assert len({chunk.uid for chunk in control_chunks(corpus, cases, seed, OWNER)}) == 10
    assert first == control_chunks(corpus, cases, 3, OWNER)
    assert first != control_chunks(corpus, cases, 4, OWNER)


def test_cases_are_all_of_a_small_set_and_a_drawn_part_of_a_large_one() -> None:
    assert control_cases(CASES, 1) == CASES
    many = [GoldenCase(str(n), "q", ACME) for n in range(100)]
    assert len(control_cases(many, 1)) == 30
    assert control_cases(many, 1) == control_cases(many, 1)


async def test_unfiltered_answers_show_foreign_chunks(store: MakeStore) -> None:
    result = await ask(store, everything)
    assert (result.asked, result.failed, result.foreign, result.findings) == (2, 0, 2, [])


async def test_arm_that_shows_only_own_chunks_proves_nothing(store: MakeStore) -> None:
    def own_only(query: Query, _chunks: Sequence[Chunk]) -> Response:
        owner = "acme" if query.text == "text 0" else "globex"
        return Response([Hit(f"control/{owner}/1", 1.0)])

    assert (await ask(store, own_only)).foreign == 0


async def test_failures_are_counted(store: MakeStore) -> None:
    def down(_query: Query, _chunks: Sequence[Chunk]) -> Response:
        raise Unavailable("down")

    result = await ask(store, down)
    assert (result.asked, result.failed, result.foreign) == (2, 2, 0)


@pytest.mark.parametrize(("uid", "owner"), [("globex/1", "globex"), ("ghost", None)])
async def test_chunk_from_outside_the_arm_is_a_leak(
    store: MakeStore, uid: str, owner: str | None
) -> None:
    """The measured place showed through: its chunks belong to real tenants."""
    result = await ask(store, lambda _q, _c: Response([Hit(uid, 1.0)]))
    assert [(f.uid, f.owner, f.tenant, f.seen_in) for f in result.findings] == [
        (uid, owner, "control", "control")
    ] * 2
    assert result.foreign == 0


async def test_a_forgotten_tenant_is_named_as_what_it_may_be(store: MakeStore) -> None:
    def without_tenant(query: Query, chunks: Sequence[Chunk]) -> Response:
        return Response([Hit(chunk.id, 1.0) for chunk in chunks])

    result = await ask(store, without_tenant)
    assert len(result.findings) == 4
    assert all("'control/" in (found.hint or "") for found in result.findings)


async def test_refused_answer_shows_a_leak_but_proves_nothing(store: MakeStore) -> None:
    def broken(_query: Query, chunks: Sequence[Chunk]) -> Response:
        return Response([Hit("globex/1", float("nan")), *(Hit(c.uid, 1.0) for c in chunks)])

    result = await ask(store, broken)
    assert (result.failed, result.foreign, len(result.findings)) == (2, 0, 2)


async def test_real_tenant_of_that_name_confuses_nothing(store: MakeStore) -> None:
    corpus = [*CORPUS, Chunk("1", TenantId("control"), "text 2")]
    result = await ask(store, everything, corpus)
    assert (result.foreign, result.findings) == (4, [])
