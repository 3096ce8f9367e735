"""Fast answers that are not those of the quality pass void the times; a few near misses do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.load import ClosedPlan, Subject, measure_closed
from retrieverbench.load.agreement import Ranked, average_overlap
from retrieverbench.model import Agreement, Hit, Query, Response, TenantId, Timings

ACME = TenantId("acme")
K, CHUNKS = 5, 40
OWNERS = {f"acme/{number}": ACME for number in range(CHUNKS)}
QUERIES = [Query(str(number), ACME, K, "dense") for number in range(20)]
PLAN = ClosedPlan(
    concurrency=2, rounds=1, requests=100, warmup=0, seconds=20.0, timeout=5.0, seed=7
)
Answer = Callable[[int], list[int]]


def right(number: int) -> list[int]:
    """The chunks of a question, best first."""
    return [(3 * number + step) % CHUNKS for step in range(K)]


def reference(score: Callable[[int], float] = lambda rank: 1.0 - rank / 10) -> list[Ranked | None]:
    return [
        [(f"acme/{chunk}", score(rank)) for rank, chunk in enumerate(right(number))]
        for number in range(len(QUERIES))
    ]


async def timed(
    answer: Answer, ranked: list[Ranked | None] | None = None, expected: int = K
) -> Timings:
    async def search(query: Query) -> Response:
        await asyncio.sleep(0)
        chunks = answer(int(query.text))
        return Response([Hit(f"acme/{chunk}", 1.0 - n / 10) for n, chunk in enumerate(chunks)])

    wanted = reference() if ranked is None else ranked
    subject = Subject("fake", search, QUERIES, [expected] * len(QUERIES), reference=wanted)
    return (await measure_closed([subject], PLAN, OWNERS))["fake"].finished


async def agreement(
    answer: Answer, ranked: list[Ranked | None] | None = None, expected: int = K
) -> Agreement:
    found = (await timed(answer, ranked, expected)).agreement
    assert found is not None
    return found


@pytest.mark.anyio
async def test_the_same_answers_agree() -> None:
    assert await agreement(right) == Agreement(100, 100, 100, 1.0, 0.95)


def others(number: int) -> list[int]:
    return [(chunk + 20) % CHUNKS for chunk in right(number)]


def everybodys(_number: int) -> list[int]:
    return [0, 1, 2, 3, 4]


def backwards(number: int) -> list[int]:
    return right(number)[::-1]


def one_in_five_wrong(number: int) -> list[int]:
    return others(number) if number % 5 == 0 else right(number)


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [others, everybodys, backwards, one_in_five_wrong])
async def test_other_own_chunks_void_the_times(answer: Answer) -> None:
    found = await timed(answer)
    assert found.errors == {}
    assert found.agreement is not None
    assert not found.agreement.holds
    assert "invalid" in found.verdicts
    assert found.void is not None
    assert found.void.startswith("timed answers are not those of the quality pass: ")


@pytest.mark.anyio
async def test_fewer_chunks_void_the_times_even_where_short_answers_are_no_error() -> None:
    found = await timed(lambda number: right(number)[:2], expected=2)
    assert found.errors == {}
    assert "invalid" in found.verdicts


@pytest.mark.anyio
async def test_short_answers_are_compared_although_they_are_an_error() -> None:
    found = await timed(lambda number: right(number)[:2])
    assert found.errors == {"wrong_count": 100}
    assert found.agreement is not None
    assert not found.agreement.holds


@pytest.mark.anyio
async def test_an_approximate_index_that_misses_a_little_is_valid() -> None:
    """One answer in ten lacks its last chunk, as an index of neighbours may do."""
    random = Random(1)

    def nearly(number: int) -> list[int]:
        chunks = right(number)
        return [*chunks[:-1], (chunks[-1] + 1) % CHUNKS] if random.random() < 0.1 else chunks

    found = await agreement(nearly)
    assert found.holds
    assert 80 <= found.equal < 100
    assert found.overlap == pytest.approx(1 - (100 - found.equal) / 100 * 0.04)


@pytest.mark.anyio
async def test_chunks_of_equal_score_may_be_exchanged_and_no_others() -> None:
    tied = reference(lambda rank: 1.0 if rank in {1, 2} else -float(rank))

    def exchanged(number: int) -> list[int]:
        first, second, third, *rest = right(number)
        return [first, third, second, *rest]

    assert (await agreement(exchanged, tied)).equal == 100
    assert (await agreement(exchanged)).equal == 0


@pytest.mark.anyio
async def test_cases_without_an_answer_are_not_compared() -> None:
    ranked = reference()
    ranked[:10] = [None] * 10
    found = await agreement(right, ranked)
    assert (found.answers, found.compared, found.equal) == (100, 50, 50)


@pytest.mark.anyio
async def test_answers_that_cannot_be_compared_at_all_are_worth_nothing() -> None:
    nothing: list[Ranked | None] = [None] * len(QUERIES)
    assert (await timed(right, nothing)).void is not None


@pytest.mark.anyio
async def test_where_nothing_was_answered_there_is_nothing_to_agree() -> None:
    found = await agreement(lambda _number: [0, 0])
    assert found == Agreement(0, 0, 0, None, 0.95)
    assert found.holds


@pytest.mark.parametrize(
    ("found", "expected", "overlap"),
    [
        ([], [], 1.0),
        ([], [1], 0.0),
        ([1], [], 0.0),
        ([1, 2], [1, 2], 1.0),
        ([2, 1], [1, 2], 0.5),
        ([3, 4], [1, 2], 0.0),
        ([1], [1, 2], 0.75),
        ([1, 2, 3], [1, 2], (1 + 1 + 2 / 3) / 3),
        ([5, 1, 2, 3], [1, 2, 3, 4], (0 + 1 / 2 + 2 / 3 + 3 / 4) / 4),
    ],
)
def test_average_overlap(found: list[int], expected: list[int], overlap: float) -> None:
    assert average_overlap(found, expected) == pytest.approx(overlap)


LISTS = st.lists(st.integers(0, 12), unique=True, max_size=10)


@given(LISTS, LISTS)
def test_average_overlap_is_that_of_sets_of_prefixes(one: list[int], other: list[int]) -> None:
    """Against its definition with sets; symmetric, and 1 for equal lists alone."""
    depth = max(len(one), len(other))
    plain = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, depth + 1)]
    overlap = average_overlap(one, other)
    assert overlap == pytest.approx(sum(plain) / depth if depth else 1.0)
    assert overlap == pytest.approx(average_overlap(other, one))
    assert (overlap > 1 - 1e-9) == (one == other)
