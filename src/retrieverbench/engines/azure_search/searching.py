"""`docs/search`: the body checked, the lists ranked and fused, a page of hits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrieverbench.engines.azure_search.binding import compile_filter, find_field
from retrieverbench.engines.azure_search.definition import Field
from retrieverbench.engines.azure_search.matching import Scores, match_text
from retrieverbench.engines.azure_search.mutants import Matches, matches
from retrieverbench.engines.azure_search.replies import Refusal, invalid_expression
from retrieverbench.engines.azure_search.request import SearchRequest, VectorQuery, parse_search
from retrieverbench.engines.azure_search.scoring import float32, fuse, shortest
from retrieverbench.engines.azure_search.store import Document, Index
from retrieverbench.engines.azure_search.syntax import count_terms, parse_simple

MAX_TEXT_RECALL = 1000
MAX_CLAUSES = 3000
PAGE, MAX_PAGE = 50, 1000


@dataclass(frozen=True, slots=True)
class _Ranked:
    """All matches, best first, with the score as it is printed."""

    numbers: Sequence[int]
    scores: Scores
    show: Callable[[float], float]


def search(index: Index, raw: Any, url: str) -> dict[str, Any]:
    """The answer's body. `url` is where a continuation is posted to."""
    request = parse_search(raw, index.definition.fields)
    if index.options.BROKEN_ON_PURPOSE != "cache_without_tenant":
        return _answer(index, request, raw, url)
    documents = index.documents()  # what is remembered does not outlive a write
    question = json.dumps({**raw, "filter": None}, sort_keys=True)
    if not documents or not _ranks(request):
        return _answer(index, request, raw, url)
    if question not in index.remembered:
        index.remembered[question] = _answer(index, request, raw, url)
    return index.remembered[question]


def _answer(index: Index, request: SearchRequest, raw: Any, url: str) -> dict[str, Any]:
    documents = index.documents()
    show, found = _matches(index, request, documents)
    answer: dict[str, Any] = {}
    if request.count:
        answer["@odata.count"] = found.counted
    if request.minimum_coverage is not None:
        answer["@search.coverage"] = 100.0
    if request.facets:
        faceted = [documents[number] for number in found.faceted]
        answer["@search.facets"] = dict(_facet(f, faceted, index) for f in request.facets)
    size = _page_size(request)
    page = found.hits[request.skip : request.skip + size]
    more = request.skip + size < len(found.hits)
    continued = more and (request.top is None or request.top > MAX_PAGE)
    if continued:
        answer["@search.nextPageParameters"] = _next_page(raw, request, size)
    fields = _selected(index, request.select)
    answer["value"] = [
        {"@search.score": show(found.scores[n]), **_shown(documents[n], fields)} for n in page
    ]
    if continued:
        answer["@odata.nextLink"] = url
    return answer


def _matches(
    index: Index, request: SearchRequest, documents: Mapping[int, Document]
) -> tuple[Callable[[float], float], Matches]:
    """How scores are printed, and what the filter lets through."""
    mutant, every = index.options.BROKEN_ON_PURPOSE, set(documents)
    allowed = every
    if request.filter:
        condition = compile_filter(request.filter, index.definition.fields, mutant)
        allowed = {number for number, d in documents.items() if d.fulfils(condition)}
    if mutant is None:
        ranked = _rank(index, request, documents, allowed, allowed)
        counted = len(ranked.numbers)
        return ranked.show, Matches(ranked.numbers, ranked.scores, counted, ranked.numbers)
    show = _rank(index, request, documents, every, every).show

    def rank(by_text: set[int], by_vector: set[int]) -> dict[int, float]:
        ranked = _rank(index, request, documents, by_text, by_vector)
        return {number: ranked.scores[number] for number in ranked.numbers}

    hybrid = bool(request.vectors) and request.search is not None
    top = request.skip + _page_size(request)
    ranks = _ranks(request)
    return show, matches(mutant, rank, allowed, every, hybrid=hybrid, ranks=ranks, top=top)


def _ranks(request: SearchRequest) -> bool:
    """Whether some documents are better matches than others."""
    return bool(request.vectors) or request.search not in {None, "", "*"}


def _page_size(request: SearchRequest) -> int:
    return min(request.top if request.top is not None else PAGE, MAX_PAGE)


def lookup(index: Index, key: str, select: str | None) -> dict[str, Any] | None:
    """A document by its key, None if there is none. Takes no filter, as in the service."""
    values = index.visible(key)
    names = [name.strip() for name in select.split(",")] if select else None
    fields = _selected(index, names)
    return None if values is None else _shown(Document(key, 0, 0, values), fields)


def _rank(
    index: Index,
    request: SearchRequest,
    documents: Mapping[int, Document],
    by_text: set[int],
    by_vector: set[int],
) -> _Ranked:
    """The matches among what may be found by text and by vector; one set but in mutants."""
    lists: list[tuple[float, list[int]]] = []
    scores: Scores = {}
    if request.search is not None or not request.vectors:
        scores = _text_scores(index, request, documents)
        scores = {n: float32(score) for n, score in scores.items() if n in by_text}
        if not request.vectors:
            return _Ranked(_best_first(scores), scores, shortest)
        lists.append((1.0, _best_first(scores)[:MAX_TEXT_RECALL]))
    for query in request.vectors:
        for field in query.fields:
            scores = _vector_scores(index, query, field)
            lists.append((query.weight, _nearest(index, request, query, scores, by_vector)))
    if len(lists) == 1:
        return _Ranked(lists[0][1], scores, shortest)
    fused = fuse(lists)
    return _Ranked(_best_first(fused), fused, lambda score: score)


def _text_scores(index: Index, request: SearchRequest, documents: Mapping[int, Document]) -> Scores:
    if request.search in {None, "", "*"}:
        return dict.fromkeys(documents, 1.0)
    fields = request.search_fields
    tree = parse_simple(str(request.search), "and" if request.search_mode == "all" else "or")
    if count_terms(tree) * len(fields) > MAX_CLAUSES:
        raise Refusal(
            400,
            f"The query has too many clauses: terms times fields may be {MAX_CLAUSES} at most.",
            code="ClauseLimitExceeded",
        )
    return match_text(index, tree, fields, global_statistics=request.global_statistics)


def _vector_scores(index: Index, query: VectorQuery, field: Field) -> Scores:
    """The score of every document that has a vector."""
    import numpy as np

    vectors = index.vectors(field.name)
    wanted = np.array(query.vector, dtype=np.float32).astype(np.float64)
    length = float(np.linalg.norm(wanted)) or 1.0
    cosines = np.clip(vectors.matrix @ (wanted / length), -1.0, 1.0)
    scores = (1.0 / (2.0 - cosines)).astype(np.float32)  # 1/3 for opposite vectors, 1 for equal
    return dict(zip(vectors.numbers, scores.tolist(), strict=True))


def _nearest(
    index: Index, request: SearchRequest, query: VectorQuery, scores: Scores, allowed: set[int]
) -> list[int]:
    """The k nearest under the filter mode: filter first, or after the top k of shard or index."""
    match request.vector_filter_mode:
        case "preFilter":
            return _best_first({n: s for n, s in scores.items() if n in allowed})[: query.k]
        case "strictPostFilter":
            kept = _best_first(scores)[: query.k]
        case _:
            kept = []
            for shard in index.shards:
                within = {n: s for n, s in scores.items() if n in shard.documents}
                kept += _best_first(within)[: query.k]
    kept_allowed = {n: scores[n] for n in kept if n in allowed}
    return _best_first(kept_allowed)[: query.k]


def _best_first(scores: Scores) -> list[int]:
    """By score, ties by the order of writing."""
    return sorted(scores, key=lambda number: (-scores[number], number))


def _facet(
    expression: str, matches: Sequence[Document], index: Index
) -> tuple[str, list[dict[str, Any]]]:
    """How many matches have each value; most frequent first. `count:0` means all values."""
    name, *parameters = (part.strip() for part in expression.split(","))
    field = find_field(name, index.definition.fields, "facet")
    if not field.facetable:
        raise invalid_expression(f"The field '{name}' is not facetable.", "facet")
    limit = 10
    for parameter in parameters:
        key, _, value = parameter.partition(":")
        if key != "count" or not value.isdigit():
            raise Refusal(501, f"The stand-in does not implement the facet parameter '{parameter}'")
        limit = int(value)
    counts: Counter[Any] = Counter()
    for document in matches:
        stored = document.values.get(name)
        counts.update(set(stored) if isinstance(stored, list) else [stored])
    counts.pop(None, None)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return name, [{"count": n, "value": v} for v, n in ordered[: limit or None]]


def _next_page(raw: Mapping[str, Any], request: SearchRequest, size: int) -> dict[str, Any]:
    following = {**raw, "skip": request.skip + size}
    if request.top is not None:
        following["top"] = request.top - size
    return following


def _selected(index: Index, names: Sequence[str] | None) -> list[Field]:
    fields = index.definition.fields
    if not names or names == ["*"]:
        return [field for field in fields.values() if field.retrievable]
    found = [find_field(name, fields, "$select") for name in names]
    for field in found:
        if not field.retrievable:
            raise invalid_expression(f"'{field.name}' is not a retrievable field.", "$select")
    return found


def _shown(document: Document, fields: Sequence[Field]) -> dict[str, Any]:
    return {
        field.name: document.values.get(field.name, [] if field.is_collection else None)
        for field in fields
    }
