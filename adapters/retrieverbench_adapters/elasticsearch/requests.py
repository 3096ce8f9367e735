"""Requests that only Elasticsearch understands: its vector fields, kNN section and fusion."""

from __future__ import annotations

from retrieverbench.adapter import Settings
from retrieverbench.model import Query
from retrieverbench.remote.lucene import (
    Isolation,
    Json,
    Scope,
    TextIndex,
    answer_part,
    attached_fields,
    beside,
    words,
)
from retrieverbench.remote.lucene.requests import conditions, float32, index_body
from retrieverbench_adapters.elasticsearch.options import Options, Search


def isolation(settings: Settings, options: Options) -> Isolation:
    """The layout, or the filtered alias that may stand for layout `filter`."""
    return "alias" if options.place.filtered_alias else settings.layout


def text_index(settings: Settings, options: Options) -> TextIndex:
    """How texts are indexed and searched, and in which fields."""
    place, fields = options.place, attached_fields(settings.attached)
    return TextIndex(
        *(place.analyzer, place.k1, place.b, place.fields, options.search.tie_breaker, fields)
    )


def place_body(settings: Settings, options: Options) -> Json:
    """Mapping and settings of each index."""
    place = options.place
    vector = None
    if settings.dimension:
        kind: Json = {"type": place.vector_index or ("flat" if options.search.exact else "hnsw")}
        if kind["type"] != "flat":
            kind |= {"m": place.m, "ef_construction": place.ef_construction}
        vector = {
            "type": "dense_vector",
            "dims": settings.dimension,
            "similarity": "cosine",
            "index_options": kind,
        }
    partitioned = settings.layout == "partition"
    shards = place.partitions if partitioned else 1
    return index_body(text_index(settings, options), vector, {}, shards=shards, routed=partitioned)


def search_body(query: Query, scope: Scope, search: Search, text: TextIndex) -> Json:
    """The request of one search; hybrid is the server's own fusion here."""
    if query.mode == "lexical":
        return {"query": words(query, scope, text), **answer_part(query, query.k, text)}
    if query.mode == "dense":
        nearest = _nearest(query, scope, query.k, search, text)
        return {**nearest, **answer_part(query, query.k, text)}
    depth = max(query.k, search.depth)
    nearest = _nearest(query, scope, depth, search, text)
    retrievers = [
        {"standard": {"query": words(query, scope, text)}},
        nearest if "knn" in nearest else {"standard": nearest},
    ]
    fusion = {"rank_constant": search.rrf_k, "rank_window_size": depth, "retrievers": retrievers}
    return {"retriever": {"rrf": fusion}, **answer_part(query, query.k, text)}


def legs(query: Query, scope: Scope, search: Search, text: TextIndex) -> list[Json]:
    """The searches whose ranks the client fuses."""
    depth = max(query.k, search.depth)
    shown = answer_part(query, depth, text)
    return [
        {"query": words(query, scope, text), **shown},
        {**_nearest(query, scope, depth, search, text), **shown},
    ]


def _nearest(query: Query, scope: Scope, k: int, search: Search, text: TextIndex) -> Json:
    """The filter stands inside: beside it, it cuts hits after the search."""
    nearest: Json = {
        "field": text.names.vector,
        "query_vector": float32(query.vector, "the query"),
        "k": k,
        "num_candidates": max(k, search.num_candidates),
    }
    met = conditions(query, scope, text)
    if search.knn_filter == "inside":
        return {"knn": {**nearest, "filter": met}}
    return {"query": beside({"knn": nearest}, met)}
