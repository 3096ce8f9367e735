"""BM25 of Lucene 8 and later, without the constant factor k1 + 1 that Elasticsearch keeps.

A term adds idf · tf / (tf + k1 · (1 - b + b · length / average)) to the score of a chunk,
idf = ln(1 + (N - n + 0.5) / (n + 0.5)); N counts the chunks with at least one term and n
those with this term. The average is of exact lengths, the length a stored one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Postings = Mapping[str, tuple[Rows, Floats]]
"""For each term the rows that have it, ascending, and what it adds to the score of each."""


def weigh_terms(counts: Sequence[Counter[str]], k1: float, b: float) -> Postings:
    """The postings of chunks whose terms were counted; a row is a position in `counts`."""
    occurrences: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, count in enumerate(counts):
        for term, times in count.items():
            occurrences[term].append((row, times))
    lengths = [count.total() for count in counts]
    documents = sum(length > 0 for length in lengths)
    average = sum(lengths) / max(documents, 1)
    stored = np.asarray([_stored_length(length) for length in lengths], dtype=np.float64)
    norms = k1 * (1 - b + b * stored / max(average, 1))
    postings = {}
    for term, pairs in occurrences.items():
        rows, frequencies = np.asarray(pairs, dtype=np.int64).T
        idf = np.log(1 + (documents - len(rows) + 0.5) / (len(rows) + 0.5))
        postings[term] = (rows, idf * frequencies / (frequencies + norms[rows]))
    return postings


def score_rows(postings: Postings, terms: Iterable[str], count: int) -> Floats:
    """The score of each of `count` rows; 0 where no term of the query occurs, else above 0."""
    scores = np.zeros(count)
    for term, times in Counter(terms).items():
        if term in postings:
            rows, added = postings[term]
            scores[rows] += times * added
    return scores


def _stored_length(length: int) -> int:
    """The length that Lucene reads back from the one byte in which it keeps it."""
    if length < 40:
        return length
    shift = (length - 24).bit_length() - 4
    return 24 + (((length - 24) >> shift) << shift)
