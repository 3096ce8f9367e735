"""The service's rules for scores: BM25 over lossy lengths, rank fusion, and how they print."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache

RRF_CONSTANT = 60


def float32(value: float) -> float:
    """The nearest single-precision number, in double precision."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def shortest(value: float) -> float:
    """The single-precision number as it is printed: with the fewest digits that name it."""
    single = float32(value)
    for digits in range(6, 9):
        short = float(f"{single:.{digits}g}")
        if float32(short) == single:
            return short
    return float(f"{single:.9g}")


@lru_cache(maxsize=4096)
def lossy_length(length: int) -> float:
    """A field's length after Lucene's one-byte norm (byte315 of 1/sqrt(length))."""
    bits = int.from_bytes(struct.pack("<f", 1.0 / math.sqrt(length)), "little")
    byte = (bits >> 21) - 384
    norm: float = struct.unpack("<f", struct.pack("<I", (byte << 21) + (48 << 24)))[0]
    return 1.0 / (norm * norm)


def inverse_frequency(documents: int, containing: int) -> float:
    """The idf of a term: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def bm25(
    idf: float, frequency: int, length: float, mean_length: float, k1: float, b: float
) -> float:
    """One term of one field: idf * tf*(k1+1) / (tf + k1*(1 - b + b*L/avgdl))."""
    damping = k1 * (1 - b + b * length / mean_length)
    return idf * frequency * (k1 + 1) / (frequency + damping)


def fuse(lists: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """Reciprocal rank fusion of (weight, ranked documents), all in single precision.

    The sum over lists of f32(weight) * f32(1/(60 + rank)), rank counted from 0.
    """
    fused: dict[int, float] = {}
    for weight, ranked in lists:
        factor = float32(weight)
        for rank, document in enumerate(ranked):
            share = float32(factor * float32(1.0 / (RRF_CONSTANT + rank)))
            fused[document] = float32(fused.get(document, 0.0) + share)
    return fused
