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

from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.world import DIMENSION, World, unit_vector
from retrieverbench.model import Chunk, TenantId

Order = Literal["first", "shuffled", "last"]
ORDERS: tuple[Order, ...] = ("first", "shuffled", "last")
"""When the small tenants' chunks are written, seen from the crowds'."""
ROWS, OWN = 10_000, 10
SIZES = (10, 15, 25, 50, 250, 500, 1_000, 2_000)
OWN_COSINE, CROWD_COSINE = 0.5, 0.9


@dataclass(frozen=True, slots=True)
class Small:
    """A tenant of ten chunks and the question that `crowd` foreign chunks answer better."""

    tenant: TenantId
    crowd: int
    text: str
    vector: array[float]


def crowd_of(draw: Draw) -> TenantId:
    """The tenant that owns every crowd."""
    return TenantId(draw.words("crowd")[0])


def smalls(draw: Draw, rows: int | None = None) -> list[Small]:
    """By size of crowd, the smallest first; the last crowd is what remains of `rows` (ROWS)."""
    rows = rows or ROWS
    sizes = [size for size in SIZES if size < rows // 2]
    number = len(sizes) + 1
    sizes.append(rows - number * OWN - sum(sizes))
    questions = _orthogonal(draw.random("crowd questions"), number)
    names, words = draw.words("small tenants"), draw.words("crowd words")
    return [
        Small(TenantId(name), size, word, vector)
        for name, size, word, vector in zip(names, sizes, words, questions, strict=False)
    ]


def make_crowds(draw: Draw, order: Order, rows: int | None = None) -> World:
    """The same chunks in each order."""
    random, filler = draw.random("crowds"), " ".join(draw.words("filler"))
    id_, owner = draw.words("ids")[0], crowd_of(draw)
    tenants = smalls(draw, rows)
    chunks: dict[TenantId, list[Chunk]] = {
        small.tenant: [
            Chunk(f"{id_}{number}", small.tenant, f"{small.text} {filler}", vector=vector)
            for number, vector in enumerate(_near(random, small))
        ]
        for small in tenants
    }
    crowd = [chunk for small in tenants for chunk in _crowd(random, small, owner)]
    random.shuffle(crowd)
    own = [chunk for owned in chunks.values() for chunk in owned]
    written = [*own, *crowd] if order == "first" else [*crowd, *own]
    if order == "shuffled":
        random.shuffle(written)
    return World({**chunks, owner: crowd}, order=written)


def crowds(draw: Draw, order: Order, rows: int | None = None) -> tuple[str, partial[World]]:
    """Name and maker of the place that the probes share."""
    return f"{rows or ROWS} in crowds, own {order}", partial(make_crowds, draw, order, rows)


def _near(random: Random, small: Small) -> Iterator[array[float]]:
    """Own vectors, at cosines of 0.5 and, by steps of 0.005, below it."""
    for number in range(OWN):
        yield unit_vector(random, small.vector, OWN_COSINE - 0.005 * number)


def _crowd(random: Random, small: Small, owner: TenantId) -> Iterator[Chunk]:
    for number in range(small.crowd):
        vector = unit_vector(random, small.vector, CROWD_COSINE)
        yield Chunk(f"{small.text}{number}", owner, f"{small.text} " * 3, vector=vector)


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
