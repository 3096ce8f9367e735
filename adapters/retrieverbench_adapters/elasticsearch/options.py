"""What a suite may set for this adapter, and what of it cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from retrieverbench.adapter import Settings
from retrieverbench.remote.lucene import KnnFilter, settings_faults

_POOL = 100  # connections that the client's HTTP library opens at most, whatever it is told


@dataclass(frozen=True, slots=True)
class Connect:
    """`ca_certs` is the path of the certificate authority's file for https."""

    ca_certs: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How chunks are indexed. `vector_index` None is `hnsw`, or `flat` for exact search.

    `fields` is `flat` (title, newline and text in one field), `summed` (title and text apart,
    their scores added) or `best_fields` (the higher score and a part of the other).
    `partitions` is the number of shards in layout `partition`, where each tenant's chunks are
    routed to one of them. `filtered_alias` puts the condition of layout `filter` into an alias
    per tenant, which is no security control.
    `batch_bytes` is the size of one bulk request (the client's HTTP library sends more than
    a mebibyte in one blocking piece), `timeout` in seconds the deadline of one
    bulk request and of `settle`. `force_merge` makes `settle` merge into one segment.
    """

    analyzer: str = "english"
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75
    fields: Literal["flat", "summed", "best_fields"] = "flat"
    vector_index: Literal["hnsw", "int8_hnsw", "bbq_hnsw", "flat"] | None = None
    m: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Ge(1)] = 100
    partitions: Annotated[int, Ge(1), Le(1024)] = 4
    filtered_alias: bool = False
    force_merge: bool = False
    batch_bytes: Annotated[int, Ge(1)] = 1_000_000
    timeout: Annotated[float, Gt(0)] = 300.0


@dataclass(frozen=True, slots=True)
class Search:
    """`depth` is the length of each leg's list before fusion, at least k.

    `tie_breaker` is the part of the lower score that counts with place.fields `best_fields`.
    `knn_filter` `outside` applies the conditions to what the kNN search has found, so that a
    tenant beside a large one loses chunks of its own: for comparison only.
    """

    exact: bool = False
    num_candidates: Annotated[int, Ge(1), Le(10_000)] = 100
    knn_filter: KnnFilter = "inside"
    tie_breaker: Annotated[float, Ge(0), Le(1)] = 0.5
    fusion: Literal["client", "server"] = "client"
    rrf_k: Annotated[int, Ge(1)] = 60
    depth: Annotated[int, Ge(1)] = 100


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def faults(settings: Settings, options: Options) -> list[str]:
    """One line for everything that is wrong, before anything is sent."""
    found = settings_faults("elasticsearch", settings, "api_key, or user, password")
    if options.place.filtered_alias and (settings.layout != "filter" or settings.attached):
        found.append(
            "elasticsearch: options.place.filtered_alias: true needs layout 'filter', "
            f"not {settings.layout!r}, and an index that is not attached"
        )
    if settings.concurrency > _POOL:
        found.append(
            f"elasticsearch: concurrency: {settings.concurrency} searches would wait for the "
            f"client's {_POOL} connections; lower it"
        )
    if options.search.exact and options.place.vector_index not in {None, "flat"}:
        found.append(
            "elasticsearch: options.search.exact: true needs options.place.vector_index "
            f"'flat', not {options.place.vector_index!r}"
        )
    return found
