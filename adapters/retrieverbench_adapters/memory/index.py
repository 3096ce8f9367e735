"""Chunks as arrays in which is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieverbench.errors import Rejected
from retrieverbench.model import Chunk
from retrieverbench_adapters.memory.analyzer import Analyzer
from retrieverbench_adapters.memory.bm25 import Postings, weigh_terms
from retrieverbench_adapters.memory.options import Place


@dataclass(frozen=True, slots=True)
class Index:
    """Arrays over chunks in the order of (tenant, uid); a row is a position in them.

    `spans` holds each tenant's first row and the one after its last. `matrix` holds unit
    vectors, float32, and no column without vectors. `term_count` counts repeated terms too.
    """

    uids: Sequence[str]
    chunks: Sequence[Chunk]
    spans: Mapping[str, tuple[int, int]]
    matrix: NDArray[np.float32]
    postings: Postings
    term_count: int


def build_index(
    stored: Sequence[tuple[str, Chunk]], analyzer: Analyzer, place: Place, dimension: int
) -> Index:
    """The arrays of (uid, chunk) that are in the order of (tenant, uid)."""
    chunks = [chunk for _uid, chunk in stored]
    counts = [Counter(analyzer.terms(chunk.searchable_text)) for chunk in chunks]
    matrix = np.empty((len(chunks), dimension), dtype=np.float32)
    if dimension:
        for row, chunk in enumerate(chunks):
            matrix[row] = unit_vector(chunk.vector, dimension, f"chunk {chunk.uid!r}")
    return Index(
        uids=[uid for uid, _chunk in stored],
        chunks=chunks,
        spans=_spans(chunks),
        matrix=matrix,
        postings=weigh_terms(counts, place.k1, place.b),
        term_count=sum(count.total() for count in counts),
    )


def unit_vector(vector: object, dimension: int, owner: str) -> NDArray[np.float32]:
    """The vector at length 1; Rejected when it is missing, of a wrong size or without a cosine."""
    if vector is None:
        raise Rejected(f"memory: vector of {owner}: missing; dense search needs one")
    exact = np.asarray(vector, dtype=np.float64)
    if exact.shape != (dimension,):
        raise Rejected(f"memory: vector of {owner}: {exact.size} numbers, expected {dimension}")
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length) or length == 0:
        raise Rejected(f"memory: vector of {owner}: its length is {length}, so it has no cosine")
    return (exact / length).astype(np.float32)


def _spans(chunks: Sequence[Chunk]) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = {}
    for row, chunk in enumerate(chunks):
        start, _ = spans.get(chunk.tenant.value, (row, row))
        spans[chunk.tenant.value] = (start, row + 1)
    return spans
