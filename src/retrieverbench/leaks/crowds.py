"""Small tenants in a large index, each beside a crowd of foreign chunks that answer better.

10,000 chunks of 32 dimensions. Nine tenants own ten chunks each, at cosine 0.5 to their
question; another owns the rest, at cosine 0.9 to one of the nine questions, and repeats its
word. The questions are orthogonal, so no crowd comes near another's tenant. One load so
answers for every size of crowd: the sizes are multiples of the k that is asked for, then
doublings, and the last is what remains of the 10,000.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

from retrieverbench.leaks.world import DIMENSION, World, unit_vector
from retrieverbench.model import Chunk, TenantId

Order = Literal["first", "shuffled", "last"]
ORDERS: tuple[Order, ...] = ("first", "shuffled", "last")
"""When the small tenants' chunks are written, seen from the crowds'."""
ROWS, OWN = 10_000, 10
SIZES = (10, 15, 25, 50, 250, 500, 1_000, 2_000)
OWN_COSINE, CROWD_COSINE = 0.5, 0.9
CROWD = TenantId("crowd")
WORDS = (
    "walnut", "harbour", "violin", "lantern", "meadow", "copper", "glacier", "saddle", "orchid",
)  # fmt: skip
_FILLER = "paper table window garden bottle river mountain kitchen"


@dataclass(frozen=True, slots=True)
class Small:
    """A tenant of ten chunks and the question that `crowd` foreign chunks answer better."""

    tenant: TenantId
    crowd: int
    text: str
    vector: array[float]


def smalls(seed: int, rows: int | None = None) -> list[Small]:
    """By size of crowd, the smallest first; the last crowd is what remains of `rows` (ROWS)."""
    rows = rows or ROWS
    sizes = [size for size in SIZES if size < rows // 2]
    number = len(sizes) + 1
    sizes.append(rows - number * OWN - sum(sizes))
    questions = _orthogonal(Random(seed), number)
    return [
        Small(TenantId(f"small{word}"), size, word, vector)
        for size, word, vector in zip(sizes, WORDS, questions, strict=False)
    ]


def make_crowds(seed: int, order: Order, rows: int | None = None) -> World:
    """The same chunks in each order."""
    random = Random(seed + 1)
    tenants = smalls(seed, rows)
    chunks: dict[TenantId, list[Chunk]] = {
        small.tenant: [_own(random, small, number) for number in range(OWN)] for small in tenants
    }
    crowd = [chunk for small in tenants for chunk in _crowd(random, small)]
    random.shuffle(crowd)
    own = [chunk for owned in chunks.values() for chunk in owned]
    written = [*own, *crowd] if order == "first" else [*crowd, *own]
    if order == "shuffled":
        random.shuffle(written)
    return World({**chunks, CROWD: crowd}, order=written)


def crowds(seed: int, order: Order, rows: int | None = None) -> tuple[str, partial[World]]:
    """Name and maker of the place that the probes share."""
    return f"{rows or ROWS} in crowds, own {order}", partial(make_crowds, seed, order, rows)


def _own(random: Random, small: Small, number: int) -> Chunk:
    """Its word once in a text of nine words; cosines of 0.5 and, by steps of 0.005, below it."""
    cosine = OWN_COSINE - 0.005 * number
    vector = unit_vector(random, small.vector, cosine)
    return Chunk(f"own{number}", small.tenant, f"{small.text} {_FILLER}", vector=vector)


def _crowd(random: Random, small: Small) -> Iterator[Chunk]:
    for number in range(small.crowd):
        vector = unit_vector(random, small.vector, CROWD_COSINE)
        yield Chunk(f"{small.text}{number}", CROWD, f"{small.text} " * 3, vector=vector)


def _orthogonal(random: Random, number: int) -> list[array[float]]:
    """Unit vectors, each at a right angle to the others (Gram and Schmidt)."""
    made: list[array[float]] = []
    for _ in range(number):
        vector: Sequence[float] = [random.gauss(0.0, 1.0) for _ in range(DIMENSION)]
        for other in made:
            along = math.fsum(x * y for x, y in zip(vector, other, strict=True))
            vector = [x - along * y for x, y in zip(vector, other, strict=True)]
        length = math.sqrt(math.fsum(x * x for x in vector))
        made.append(array("f", (x / length for x in vector)))
    return made
