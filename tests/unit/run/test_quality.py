"""Every case has a result, whatever the adapter does with its question."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.errors import Code, Refused, Throttled, TimedOut, Unavailable
from retrieverbench.model import (
    CaseResult,
    GoldenCase,
    Hit,
    Query,
    Response,
    Run,
    Target,
    TenantId,
)
from retrieverbench.run import Abandoned, ask_all, build_queries, search_once
from retrieverbench.run import quality as quality_module
from stubborn_support import Stubborn

pytestmark = pytest.mark.anyio
ACME = TenantId("acme")
TARGET = Target("fake", "fake", "lexical")
CASES = [GoldenCase(f"c{n}", f"question {n}", ACME, (f"d{n}",)) for n in range(9)]
Answer = Callable[[Query], Any]


class Fake:
    """Answers what a function says; an exception that it returns is raised."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.in_flight = self.most = 0

    async def search(self, query: Query) -> Response:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        found = self.answer(query)
        if isinstance(found, BaseException):
            raise found
        if asyncio.iscoroutine(found):
            found = await found
        return found  # type: ignore[no-any-return]


def adapter(answer: Answer) -> Adapter:
    return Fake(answer)  # type: ignore[return-value]  # only search is asked for


async def ask(answer: Answer, *, depth: int = 3, concurrency: int = 2, **options: Any) -> Run:
    settings: dict[str, Any] = {"fidelity": "engine", "timeout": 5.0} | options
    queries = build_queries(CASES, {}, "lexical", depth)
    return await ask_all(
        adapter(answer), TARGET, CASES, queries, concurrency=concurrency, **settings
    )


def test_queries_carry_vectors_only_where_they_are_searched() -> None:
    vectors = {case.id: array("f", [1.0]) for case in CASES}
    for mode in ("dense", "hybrid"):
        assert all(q.vector == vectors["c0"] for q in build_queries(CASES, vectors, mode, 7))
    lexical = build_queries(CASES, vectors, "lexical", 7)
    assert [(q.text, q.tenant, q.k, q.vector) for q in lexical[:1]] == [
        ("question 0", ACME, 7, None)
    ]


async def test_answers_keep_the_order_of_cases_and_hits() -> None:
    run = await ask(lambda q: Response([Hit(f"acme/{q.text}", 2), Hit("acme/x", 1.5)]))
    assert [result.case_id for result in run.results] == [case.id for case in CASES]
    assert run.results[4] == CaseResult("c4", "ok", (("acme/question 4", 2.0), ("acme/x", 1.5)))
    assert run.depth == 3


async def test_an_empty_answer_is_an_answer() -> None:
    run = await ask(lambda _q: Response([]))
    assert {(r.status, r.hits) for r in run.results} == {("ok", ())}


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (Unavailable("connection refused"), "connect", "connection refused"),
        (Refused("wrong password"), "auth", "wrong password"),
        (Throttled("slow down", retry_after=1), "throttled", "slow down"),
        (Unavailable("reset", code=Code.RESET), "reset", "reset"),
        (TimedOut("server gave up"), "timeout", "server gave up"),
        (TimeoutError(), "timeout", "search raised TimeoutError"),
        (KeyError("vector"), "bad_answer", "search raised KeyError: 'vector'"),
        (RuntimeError("a\nb\x1b[31m"), "bad_answer", "search raised RuntimeError: a b [31m"),
        (SystemExit(0), "bad_answer", "search raised SystemExit: 0"),
        (asyncio.CancelledError(), "bad_answer", "cancelled by the adapter"),
        (None, "bad_answer", "search returned NoneType"),
        (Response([Hit("acme/1", float("nan"))]), "bad_answer", "score nan"),
        (Response([Hit(f"acme/{n}", 1) for n in range(4)]), "bad_answer", "4 hits for k = 3"),
        (Response([Hit("acme/1", 1)], partial=True), "partial", "incomplete"),
        (Response(None), "bad_answer", "hits is NoneType"),  # type: ignore[arg-type]
    ],
)
async def test_a_failure_is_an_entry_and_stops_nothing(
    answer: object, code: str, text: str
) -> None:
    """Every third question fails; the others are answered, and none is missing."""
    good = Response([Hit("acme/1", 1.0)])
    run = await ask(lambda q: answer if int(q.text[-1]) % 3 == 0 else good)
    assert len(run.results) == len(CASES)
    for number, result in enumerate(run.results):
        if number % 3:
            assert result.status == "ok"
        else:
            assert (result.status, result.code, result.hits) == ("error", code, ())
            assert text in (result.message or "")


async def test_refused_answers_keep_their_uids_for_the_ledger() -> None:
    run = await ask(lambda _q: Response([Hit("globex/1", 1), Hit("acme/2", float("inf"))]))
    assert run.results[0].refused == ("globex/1", "acme/2")
    assert run.results[0].hits == ()


async def test_hanging_search_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_module, "GRACE_SECONDS", 0.02)
    run = await ask(lambda _q: asyncio.Event().wait(), timeout=0.01, concurrency=9)
    assert {(r.status, r.code, r.message) for r in run.results} == {
        ("error", "timeout", "no answer within 0.01 s")
    }


async def test_a_search_that_cannot_be_cancelled_ends_the_asking(
    stubborn: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality_module, "GRACE_SECONDS", 0.02)
    done: list[CaseResult] = []

    def answer(query: Query) -> object:
        return stubborn.hang() if query.text == "question 3" else Response([])

    with pytest.raises(Abandoned, match=r"search did not end within 0\.03 s and does not react"):
        await ask(answer, timeout=0.01, concurrency=1, on_done=done.append)
    assert [result.case_id for result in done] == ["c0", "c1", "c2"]


async def test_hidden_values_leave_the_message() -> None:
    run = await ask(lambda _q: Refused("no entry for hunter2"), hidden=["hunter2"])
    assert run.results[0].message == "no entry for ***"


async def test_concurrency_is_kept_and_progress_told() -> None:
    fake = Fake(lambda _q: Response([]))
    done: list[str] = []
    queries = build_queries(CASES, {}, "lexical", 3)
    await ask_all(
        fake,  # type: ignore[arg-type]  # only search is asked for
        TARGET,
        CASES,
        queries,
        fidelity="engine",
        concurrency=4,
        timeout=5.0,
        on_done=lambda result: done.append(result.case_id),
    )
    assert fake.most == 4
    assert sorted(done) == [case.id for case in CASES]


async def test_a_real_cancellation_passes_through() -> None:
    with anyio.move_on_after(0.02) as scope:
        await search_once(
            adapter(lambda _q: asyncio.sleep(60)), build_queries(CASES, {}, "lexical", 1)[0], 60.0
        )
    assert scope.cancelled_caught


async def test_no_case_at_all_is_an_empty_run() -> None:
    run = await ask_all(
        adapter(lambda _q: None), TARGET, [], [], fidelity="engine", concurrency=2, timeout=1.0
    )
    assert (run.results, run.depth) == ((), 0)


async def test_a_late_answer_is_a_timeout_and_its_uids_are_kept() -> None:
    async def late(_query: Query) -> Response:
        await asyncio.sleep(0.05)
        return Response([Hit("globex/1", 1.0)])

    run = await ask(late, timeout=0.01)
    assert {(r.status, r.code, r.refused) for r in run.results} == {
        ("error", "timeout", ("globex/1",))
    }
    assert all("the timeout is 0.01 s" in (r.message or "") for r in run.results)


class Panic(BaseException):
    """What an extension written in Rust raises is no Exception either."""


class MuteRefused(Refused):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Numbered(Refused):
    code = 401  # type: ignore[assignment]  # what an adapter's author might write


@pytest.mark.parametrize(
    "error",
    [
        Panic("boom"),
        BaseExceptionGroup("several", [Panic("boom")]),
        GeneratorExit(),
        KeyboardInterrupt(),
        MuteRefused("x"),
        Numbered("x"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_foreign_exceptions_are_bad_answers(error: BaseException) -> None:
    run = await ask(lambda _q: error)
    assert {(r.status, r.code) for r in run.results} == {("error", "bad_answer")}
    assert all(f"search raised {type(error).__name__}" in (r.message or "") for r in run.results)


async def test_a_secret_cut_in_half_by_the_limit_is_hidden() -> None:
    run = await ask(lambda _q: Refused("x" * 296 + "hunter2"), hidden=["hunter2"])
    assert "hunt" not in (run.results[0].message or "")


def test_overwritten_vectors_spoil_no_other_query() -> None:
    vectors = {case.id: array("f", [1.0]) for case in CASES}
    for query in build_queries(CASES, vectors, "dense", 3):
        assert query.vector is not None
        query.vector[0] = 7.0
    others = build_queries(CASES, vectors, "dense", 3)
    assert [q.vector for q in others] == [array("f", [1.0])] * len(CASES)


async def test_who_asked_is_not_the_adapters_to_change() -> None:
    def answer(query: Query) -> Response:
        object.__setattr__(query.tenant, "value", "globex")
        object.__setattr__(query, "k", 9)
        assert query.vector is not None
        query.vector[0] = 9.0
        return Response([Hit(f"globex/{n}", 1.0) for n in range(2)])

    query = Query("text", TenantId("acme"), 1, "dense", array("f", [1.0]))
    await search_once(adapter(answer), query, 5.0)
    assert query == Query("text", TenantId("acme"), 1, "dense", array("f", [1.0]))


async def test_a_known_uid_in_an_answer_of_a_wrong_shape_is_kept_for_the_ledger() -> None:
    def answer(_query: Query) -> Any:
        return Response([("globex/9", 1.0)])  # type: ignore[list-item]

    for known, kept in (({"globex/9"}, ("globex/9",)), (set[str](), ())):
        run = await ask(answer, known=known)
        assert {(result.status, result.refused) for result in run.results} == {("error", kept)}


async def test_answers_are_handed_on_as_they_come_of_invalid_ones_the_total() -> None:
    seen: list[tuple[str, int | None]] = []

    def answer(query: Query) -> Any:
        number = int(query.text.split()[1])
        hits = [Hit("acme/1", math.nan)] if number == 1 else []
        return Unavailable("down") if number == 0 else Response(hits, total=number)

    await ask(answer, on_answer=lambda case_id, found: seen.append((case_id, found.total)))
    assert sorted(seen) == [(f"c{n}", n) for n in range(1, 9)]
