"""The best chunks of a tenant for a query, of all that there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from retrieverbench.model import Chunk, Query, TenantId, Value
from retrieverbench_adapters.memory.analyzer import Analyzer
from retrieverbench_adapters.memory.bm25 import Floats, Rows, score_rows
from retrieverbench_adapters.memory.index import Index, unit_vector
from retrieverbench_adapters.memory.options import Search

Ranked = list[tuple[int, float]]  # rows and scores, best first


def tenant_rows(index: Index, tenant: TenantId, where: Mapping[str, Value]) -> Rows:
    """The one place where a tenant's rows are chosen; `where` can only narrow them."""
    start, end = index.spans[tenant.value]
    rows = np.arange(start, end, dtype=np.int64)
    if not where:
        return rows
    return rows[[_satisfies(chunk, where) for chunk in index.chunks[start:end]]]


def ranked(index: Index, query: Query, analyzer: Analyzer, search: Search) -> tuple[Ranked, int]:
    """The best k of the query's tenant, ties by uid, and how many candidates there were."""
    rows = tenant_rows(index, query.tenant, query.where)
    legs = []
    if query.mode != "lexical":
        legs.append((rows, _cosines(index, rows, query)))
    if query.mode != "dense":
        terms = analyzer.terms(query.text)
        scores = score_rows(index.postings, terms, len(index.chunks))[rows]
        legs.append((rows[scores > 0], scores[scores > 0]))
    if len(legs) == 1:
        return _best(*legs[0], query.k), len(legs[0][0])
    lists = [_best(*leg, max(search.depth, query.k)) for leg in legs]
    return _fused(lists, search.rrf_k)[: query.k], len(rows)


def _satisfies(chunk: Chunk, where: Mapping[str, Value]) -> bool:
    """Equality as in JSON: 1 is 1.0, and neither is true."""
    for name, wanted in where.items():
        found = chunk.metadata.get(name)
        if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
            return False
    return True


def _cosines(index: Index, rows: Rows, query: Query) -> Floats:
    vector = unit_vector(query.vector, index.matrix.shape[1], "query")
    # einsum adds every row up in the same order; the product of a linear algebra library
    # does not, and then equal vectors differ in their last bits and are no ties.
    cosines: Floats = np.einsum("ij,j->i", index.matrix[rows], vector)
    return cosines


def _best(rows: Rows, scores: Floats, k: int) -> Ranked:
    """The k highest scores, ties by row, which is the order of uids within a tenant."""
    if k < len(rows):
        least = np.partition(scores, len(rows) - k)[len(rows) - k]
        rows, scores = rows[scores >= least], scores[scores >= least]
    order = np.argsort(-scores, kind="stable")[:k]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def _fused(lists: Iterable[Ranked], rrf_k: int) -> Ranked:
    """Reciprocal rank fusion: the sum over the lists of 1 / (rrf_k + rank), rank from 1."""
    fused: defaultdict[int, float] = defaultdict(float)
    for leg in lists:
        for rank, (row, _) in enumerate(leg, start=1):
            fused[row] += 1 / (rrf_k + rank)
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))
