"""Small tenants in a large index, each beside a crowd of foreign chunks that answer better.

10,000 chunks of 32 dimensions. Eleven tenants own ten chunks each, at cosine 0.5 to their
question; another owns the rest, at cosine 0.9 to one of nine questions, and repeats its
word. The questions are orthogonal, so no crowd comes near another's tenant. One load so
answers for every size of crowd: the sizes are multiples of the k that is asked for, then
doublings, and the last is what remains of the 10,000. Beside that one stand three tenants with
the same question, so that one load answers for every order of writing, too: one is written
before all others, one after them, the third and all smaller crowds' tenants in between.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal

from retrieverbench.leaks.draw import Draw, letters
from retrieverbench.leaks.world import DIMENSION, World, unit_vector
from retrieverbench.model import Chunk, TenantId

Order = Literal["first", "shuffled", "last"]
ORDERS: tuple[Order, ...] = ("first", "shuffled", "last")
"""When a small tenant's chunks are written, seen from the crowds'."""
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
    """By size of crowd, the smallest first; the last crowd is what remains of `rows` (ROWS).

    Their chunks are written among the crowds'.
    """
    rows = rows or ROWS
    sizes = [size for size in SIZES if size < rows // 2]
    number = len(sizes) + 1
    tenants = number + len(ORDERS) - 1
    sizes.append(rows - tenants * OWN - sum(sizes))
    questions = orthogonal(draw.random("crowd questions"), number)
    names, words = draw.words("small tenants"), draw.words("crowd words")
    return [
        Small(TenantId(name), size, word, vector)
        for name, size, word, vector in zip(names, sizes, words, questions, strict=False)
    ]


def beside_largest(draw: Draw, rows: int | None = None) -> Mapping[Order, Small]:
    """The last of `smalls`, and two with its question that are written first and last."""
    shuffled = smalls(draw, rows)[-1]
    *_names, first, last = map(TenantId, draw.words("small tenants"))
    return {
        "first": replace(shuffled, tenant=first),
        "shuffled": shuffled,
        "last": replace(shuffled, tenant=last),
    }


def make_crowds(draw: Draw, rows: int | None = None) -> World:
    """All of them, in the order in which they are written."""
    random, filler = draw.random("crowds"), " ".join(draw.words("filler"))
    id_, owner = draw.words("ids")[0], crowd_of(draw)
    tenants, largest = smalls(draw, rows), beside_largest(draw, rows)
    chunks: dict[TenantId, list[Chunk]] = {
        small.tenant: [
            Chunk(
                f"{id_}{number}",
                small.tenant,
                f"{small.text} {filler} {letters(number)}",  # equal texts may be shown once
                vector=vector,
            )
            for number, vector in enumerate(_near(random, small))
        ]
        for small in [*tenants[:-1], *largest.values()]
    }
    crowd = [chunk for small in tenants for chunk in _crowd(random, small, owner)]
    among = [*crowd, *(chunk for small in tenants for chunk in chunks[small.tenant])]
    random.shuffle(among)
    first, last = (chunks[largest[order].tenant] for order in ("first", "last"))
    return World({**chunks, owner: crowd}, order=[*first, *among, *last])


def crowds(draw: Draw, rows: int | None = None) -> tuple[str, partial[World]]:
    """Name and maker of the place that the probes share."""
    return f"{rows or ROWS} in crowds", partial(make_crowds, draw, rows)


def _near(random: Random, small: Small) -> Iterator[array[float]]:
    """Own vectors, at cosines of 0.5 and, by steps of 0.005, below it."""
    for number in range(OWN):
        yield unit_vector(random, small.vector, OWN_COSINE - 0.005 * number)


def _crowd(random: Random, small: Small, owner: TenantId) -> Iterator[Chunk]:
    for number in range(small.crowd):
        vector = unit_vector(random, small.vector, CROWD_COSINE)
        yield Chunk(f"{small.text}{number}", owner, f"{small.text} " * 3, vector=vector)


def orthogonal(random: Random, number: int) -> list[array[float]]:
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
