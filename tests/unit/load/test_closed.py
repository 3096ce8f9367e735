"""The closed loop against fakes whose true answer is known beforehand."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import anyio
import pytest

from retrieverbench.errors import Code, Throttled
from retrieverbench.load import ClosedPlan, Subject, TimedResult, measure_closed, query_order
from retrieverbench.model import Hit, Query, Response, TenantId
from retrieverbench.run import foreign
from stubborn_support import Stubborn

pytestmark = pytest.mark.anyio

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
OWNERS = {f"acme/{n}": ACME for n in range(10)} | {f"globex/{n}": GLOBEX for n in range(10)}
K = 5


def plan(**changes: float) -> ClosedPlan:
    """A short measurement; keywords change single fields."""
    settings: dict[str, float] = {
        "concurrency": 4,
        "rounds": 2,
        "requests": 100,
        "warmup": 0,
        "seconds": 20.0,
        "timeout": 5.0,
        "seed": 7,
    }
    settings |= changes
    return ClosedPlan(**settings)  # type: ignore[arg-type]  # whole numbers where wanted


def queries(count: int = 20) -> list[Query]:
    """Questions of acme; the text is the number, so that a fake can tell them apart."""
    return [Query(str(n), ACME, K, "lexical") for n in range(count)]


def own(count: int = K) -> Response:
    """A right answer of `count` rows."""
    return Response([Hit(f"acme/{n}", 1.0 - n / 10) for n in range(count)])


class Fake:
    """Counts its calls and answers what it is told to."""

    def __init__(self, answers: Sequence[Response | Exception], delay: float = 0.0) -> None:
        self.answers = answers
        self.delay = delay
        self.calls = 0

    async def search(self, query: Query) -> Response:
        answer = self.answers[self.calls % len(self.answers)]
        self.calls += 1
        await asyncio.sleep(self.delay)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def measure(fake: Fake, expected: int | None = None, **changes: float) -> TimedResult:
    rows = None if expected is None else [expected] * 20
    subject = Subject("fake", fake.search, queries(), rows)
    results = await measure_closed([subject], plan(**changes), OWNERS)
    return results["fake"]


async def test_null_backend_has_no_errors_and_counts_every_request() -> None:
    fake = Fake([own()])
    result = await measure(fake)
    assert result.finished.errors == {}
    assert result.finished.requests == result.answers == fake.calls == 200
    assert result.violations == ()


async def test_fixed_delay_gives_that_service_time_and_throughput() -> None:
    result = await measure(Fake([own()], delay=0.01), concurrency=4)
    p50 = result.finished.service["p50"].value
    assert p50 is not None
    assert p50 >= 10.0
    assert result.finished.throughput is not None
    assert result.finished.throughput <= 4 / 0.01


async def test_error_share_is_exact_and_not_retried() -> None:
    fake = Fake([own(), own(), own(), Throttled("429")])
    result = await measure(fake)
    assert result.finished.errors == {"throttled": 50}
    assert fake.calls == 200
    assert "errors" in result.finished.verdicts


async def test_an_exception_that_no_adapter_should_raise_is_a_bad_answer() -> None:
    result = await measure(Fake([ValueError("oops")]), rounds=1)
    assert result.finished.errors == {"bad_answer": 100}
    assert result.finished.throughput is None
    assert result.finished.service["p50"].value is None


async def test_never_answering_is_a_timeout_and_the_slot_is_usable_after() -> None:
    fake = Fake([own()], delay=30.0)
    result = await measure(fake, requests=8, rounds=1, timeout=0.05)
    assert result.finished.errors == {"timeout": 8}
    assert result.finished.service["p50"].censored
    assert result.finished.service["p50"].value == pytest.approx(50.0)


async def test_swallowed_cancellation_is_a_timeout_all_the_same() -> None:
    states: list[int] = []

    async def search(query: Query) -> Response:
        task = asyncio.current_task()
        assert task is not None
        states.append(task.cancelling())
        if query.text == "0":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                return own()
        return own()

    subject = Subject("fake", search, queries(), None)
    settings = plan(requests=20, rounds=1, timeout=0.05, concurrency=1)
    result = (await measure_closed([subject], settings, OWNERS))["fake"]
    assert result.finished.errors == {"timeout": 1}
    assert set(states) == {0}


async def test_swallowing_twice_is_a_timeout_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "CANCEL_SECONDS", 0.1)
    states: list[int] = []

    async def search(query: Query) -> Response:
        task = asyncio.current_task()
        assert task is not None
        states.append(task.cancelling())
        if query.text == "0":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
        return own()

    subject = Subject("fake", search, queries(), None)
    settings = plan(requests=20, rounds=1, timeout=0.05, concurrency=1)
    result = (await measure_closed([subject], settings, OWNERS))["fake"]
    assert result.finished.errors == {"timeout": 1}
    assert set(states) == {0}


async def test_a_search_that_cannot_be_cancelled_fails_its_target_alone(
    stubborn: Stubborn,
) -> None:
    asked: list[str] = []

    async def search(query: Query) -> Response:
        asked.append(query.text)
        if query.text == "7":
            await stubborn.hang()
        return Response([Hit("globex/3", 0.5)])

    subjects = [
        Subject("bad", search, queries(), None),
        Subject("good", Fake([own()]).search, queries(), None),
    ]
    results = await measure_closed(subjects, plan(timeout=0.05, requests=40), OWNERS)
    assert results["good"].finished.errors == {}
    bad = results["bad"]
    assert bad.timings is None
    assert "a search did not end within 0.05 s and does not react" in str(bad.abandoned)
    assert {v.uid for v in bad.violations} == {"globex/3"}
    assert len(asked) <= 40  # nothing after the block in which it was left behind


async def test_an_adapter_that_cancels_its_own_task_ends_no_worker() -> None:
    async def search(query: Query) -> Response:
        task = asyncio.current_task()
        assert task is not None
        if query.text == "0":
            task.cancel()
        await asyncio.sleep(0)
        return own()

    subject = Subject("fake", search, queries(), None)
    settings = plan(requests=40, rounds=1, concurrency=1)
    result = (await measure_closed([subject], settings, OWNERS))["fake"]
    assert result.finished.errors == {"bad_answer": 2}
    assert result.finished.requests == 40


async def test_a_cancelled_block_ends_though_its_searches_do_not(stubborn: Stubborn) -> None:
    with anyio.move_on_after(0.05) as scope:
        await measure_closed([Subject("bad", stubborn.hang, queries(), None)], plan(), OWNERS)
    assert scope.cancelled_caught
    assert stubborn.running == 4


async def test_a_cancelled_block_asks_nothing_more_where_cancellation_is_swallowed() -> None:
    asked: list[str] = []

    async def search(query: Query) -> Response:
        asked.append(query.text)
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(30)
        return own()

    with anyio.move_on_after(0.05):
        await measure_closed([Subject("bad", search, queries(), None)], plan(), OWNERS)
    assert len(asked) == 4


async def test_late_answer_between_two_sweeps_is_a_timeout() -> None:
    result = await measure(Fake([own()], delay=0.012), requests=8, rounds=1, timeout=0.01)
    assert result.finished.errors == {"timeout": 8}


async def test_underfilled_answers_are_not_ok() -> None:
    result = await measure(Fake([own(2)]), expected=K)
    assert result.finished.errors == {"wrong_count": 200}
    assert result.finished.throughput is None


async def test_underfill_is_not_judged_where_only_the_backend_knows() -> None:
    assert (await measure(Fake([own(2)]))).finished.errors == {}


async def test_one_foreign_row_in_many_answers_is_found() -> None:
    leak = Response([Hit("acme/1", 1.0), Hit("globex/3", 0.5)])
    result = await measure(Fake([own()] * 199 + [leak]))
    assert result.finished.errors == {"tenant_violation": 1}
    (violation,) = result.violations
    assert (violation.uid, violation.rank, violation.owner) == ("globex/3", 2, "globex")


async def test_unknown_uid_counts_as_foreign_and_keeps_its_text() -> None:
    stranger = Response([Hit("who/1", 1.0)])
    result = await measure(Fake([stranger]), requests=4, rounds=1)
    assert {(v.uid, v.owner) for v in result.violations} == {("who/1", None)}
    assert result.finished.errors == {"tenant_violation": 4}


async def test_a_leak_of_the_warmup_alone_is_found() -> None:
    leak = Response([Hit("globex/3", 0.5)])
    fake = Fake([leak, *[own()] * 500])
    result = await measure(fake, warmup=1, concurrency=1, requests=50, rounds=1)
    assert [v.uid for v in result.violations] == ["globex/3"]
    assert result.finished.errors == {}


async def test_what_a_cut_off_measurement_saw_is_kept() -> None:
    seen: dict[str, TimedResult] = {}
    calls = 0

    async def search(_query: Query) -> Response:
        nonlocal calls
        calls += 1
        if calls == 20:
            scope.cancel()
        await asyncio.sleep(0)
        return Response([Hit("globex/3", 0.5)])

    with anyio.CancelScope() as scope:
        subject = Subject("fake", search, queries(), None)
        await measure_closed([subject], plan(requests=1000), OWNERS, into=seen)
    assert seen["fake"].timings is None
    assert {v.uid for v in seen["fake"].violations} == {"globex/3"}


async def test_a_backend_that_answers_nothing_more_is_not_asked_on() -> None:
    fake = Fake([*[own()] * 100, *[Throttled("gone")] * 1000])
    result = await measure(fake, rounds=5, requests=100)
    assert result.finished.errors == {"throttled": 100}
    assert (result.finished.rounds, fake.calls) == (2, 200)


async def test_a_foreign_row_beyond_k_is_found_too() -> None:
    rows = [Hit(f"acme/{n}", 1.0 - n / 10) for n in range(K)]
    result = await measure(Fake([Response([*rows, Hit("globex/3", 0.1)])]), requests=4, rounds=1)
    assert {(v.uid, v.rank, v.owner) for v in result.violations} == {("globex/3", K + 1, "globex")}
    assert result.finished.errors == {"tenant_violation": 4}


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Response([Hit("acme/1", 1.0), Hit("acme/1", 0.5)]), "bad_answer"),
        (Response([Hit("acme/1", float("nan"))]), "bad_answer"),
        (Response([Hit(f"acme/{n}", 1.0) for n in range(K + 1)]), "wrong_count"),
        (Response([Hit("acme/1", 1.0)], partial=True), "partial"),
    ],
    ids=["same uid twice", "NaN score", "k + 1 rows", "partial"],
)
async def test_broken_answers_have_their_code(answer: Response, word: str) -> None:
    result = await measure(Fake([answer]), requests=10, rounds=1)
    assert result.finished.errors == {word: 10}


async def test_every_subject_gets_the_same_queries_in_mirrored_order() -> None:
    blocks: list[str] = []
    subjects = [Subject(name, Fake([own()]).search, queries(), None) for name in ("a", "b")]
    await measure_closed(subjects, plan(rounds=2, requests=5), OWNERS, blocks.append)
    assert blocks == ["a", "b", "a", "b", "b", "a"]


@pytest.mark.parametrize(("questions", "requests"), [(30, 40), (30, 10), (7, 21), (1, 5)])
def test_no_question_is_asked_more_than_once_oftener_than_another(
    questions: int, requests: int
) -> None:
    """Rounds that each began anew asked some of 30 questions three times, others six times."""
    counts: Counter[int] = Counter()
    for number in range(5):
        order = query_order(questions, requests, seed=7, round_number=number)
        assert len(order) == requests
        counts.update(order)
        asked = [counts[index] for index in range(questions)]
        assert max(asked) - min(asked) <= 1


async def test_questions_that_were_not_asked_are_not_counted() -> None:
    few = await measure(Fake([own()]), requests=6, rounds=2)
    assert few.finished.distinct_queries == 12
    cut = await measure(Fake([own()], delay=0.2), requests=20, rounds=1, seconds=0.1)
    assert cut.finished.distinct_queries == cut.finished.requests == 4


def test_query_order_is_whole_passes_and_stable() -> None:
    order = query_order(4, 10, seed=3, round_number=0)
    assert sorted(order[:4]) == sorted(order[4:8]) == [0, 1, 2, 3]
    assert order == query_order(4, 10, seed=3, round_number=0)
    assert order != query_order(4, 10, seed=4, round_number=0)


def test_codes_of_records_never_change() -> None:
    assert [(code.word, int(code)) for code in (Code.OK, Code.TENANT_VIOLATION, Code.PARTIAL)] == [
        ("ok", 0),
        ("tenant_violation", 11),
        ("partial", 14),
    ]


async def test_answers_are_judged_by_who_asked_whatever_the_adapter_makes_of_its_query() -> None:
    async def search(query: Query) -> Response:
        object.__setattr__(query.tenant, "value", "globex")
        object.__setattr__(query, "tenant", GLOBEX)
        return Response([Hit("globex/1", 1.0)])

    subject = Subject("bad", search, queries(), None)
    result = (await measure_closed([subject], plan(rounds=1), OWNERS))["bad"]
    assert result.finished.errors == {"tenant_violation": 100}
    assert {violation.owner for violation in result.violations} == {"globex"}
