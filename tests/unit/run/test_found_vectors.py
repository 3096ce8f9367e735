"""A place that was half loaded with another model's vectors is not completed."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Mapping, Sequence

import pytest

from retrieverbench.adapter import Settings
from retrieverbench.errors import AdapterError, BackendError, Unavailable
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.run.found_vectors import FoundSample, check_found_vectors
from retrieverbench.storage import stored

pytestmark = pytest.mark.anyio
A, B = TenantId("acme"), TenantId("globex")
COUNTS = {"acme": 100, "globex": 100}


def corpus(seed: int, length: float = 1.0) -> list[Chunk]:
    """The same chunks with the vectors of one model: unit vectors, or some longer ones."""
    rng = random.Random(seed)
    chunks = []
    for number in range(200):
        numbers = [rng.gauss(0, 1) for _ in range(8)]
        factor = rng.uniform(1, length) / math.hypot(*numbers)
        vector = array("f", (x * factor for x in numbers))
        chunks.append(Chunk(f"c{number}", (A, B)[number % 2], f"text {number}", vector=vector))
    return chunks


class Searched:
    """Exact search over what was stored, by inner product; `fault` for every question."""

    def __init__(self, held: Sequence[Chunk], fault: BackendError | None = None) -> None:
        self.held, self.fault, self.asked = held, fault, list[Query]()

    async def search(self, query: Query) -> Response:
        self.asked.append(query)
        if self.fault is not None:
            raise self.fault
        own = [(_product(query, c), c.uid) for c in self.held if c.tenant == query.tenant]
        return Response([Hit(uid, score) for score, uid in sorted(own, reverse=True)[: query.k]])


def _product(query: Query, chunk: Chunk) -> float:
    return sum(a * b for a, b in zip(query.vector or (), chunk.vector or (), strict=True))


async def check(
    adapter: Searched,
    chunks: Sequence[Chunk],
    *,
    modes: str = "dense hybrid",
    counts: Mapping[str, int] = COUNTS,
) -> int:
    settings = Settings("", "rb_x", frozenset(modes.split()))  # type: ignore[arg-type]
    sample = FoundSample()
    sample.offer(chunks)
    return await check_found_vectors(
        adapter,  # type: ignore[arg-type]
        settings,
        sample.chunks,
        chunks,
        counts,
        "load it anew",
    )


@pytest.mark.parametrize("length", [1.0, 9.0])
async def test_vectors_of_the_same_model_are_found_by_whatever_metric(length: float) -> None:
    """By inner product a chunk with a longer vector is nearer than the chunk itself."""
    chunks = corpus(1, length)
    adapter = Searched(chunks)
    assert await check(adapter, stored(chunks)) == 20
    assert {query.tenant for query in adapter.asked} == {A, B}
    assert {query.k for query in adapter.asked} == {10}


async def test_vectors_of_another_model_are_refused() -> None:
    told = r"of 20 chunks that were there already only \d are found by their own vectors.*anew"
    with pytest.raises(AdapterError, match=told):
        await check(Searched(corpus(2)), corpus(1))


async def test_equal_vectors_stand_for_one_another() -> None:
    one = corpus(1)[0].vector
    chunks = [Chunk(c.id, c.tenant, c.text, vector=one) for c in corpus(1)]
    assert await check(Searched(chunks), chunks) == 20


async def test_nothing_is_claimed_where_nothing_can_be_told() -> None:
    chunks = corpus(1)
    unasked = Searched(corpus(2))
    assert await check(unasked, chunks, modes="lexical hybrid") == 0
    assert await check(unasked, chunks, counts={"acme": 9, "globex": 9}) == 0
    assert unasked.asked == []
    assert await check(Searched(corpus(2), Unavailable("gone")), chunks) == 0
    assert await check(Searched([]), chunks) == 0
    assert await check(Searched(corpus(2)), chunks[:4]) == 0
