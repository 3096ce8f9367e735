"""What a suite may set for this adapter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le


@dataclass(frozen=True, slots=True)
class Connect:
    """`batch_bytes`: the largest body of one upsert (the server's own limit is 32 MiB)."""

    batch_bytes: Annotated[int, Ge(1024), Le(32 * 1024 * 1024)] = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """The collection. Thresholds in kB of vectors; `avg_len` in terms, None: as counted."""

    m: Annotated[int, Ge(0)] = 16
    ef_construct: Annotated[int, Ge(4)] = 100
    full_scan_threshold: Annotated[int, Ge(0)] = 10_000
    indexing_threshold: Annotated[int, Ge(0)] = 10_000
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75
    avg_len: Annotated[float, Gt(0)] | None = None
    settle_timeout: Annotated[float, Gt(0)] = 900.0


@dataclass(frozen=True, slots=True)
class Search:
    """One search. `rank_constant` is that of 1/(constant + rank), rank from 1."""

    hnsw_ef: Annotated[int, Ge(1)] | None = None
    exact: bool = False
    rank_constant: Annotated[int, Ge(0)] = 60
    prefetch: Annotated[int, Ge(1)] = 100
    idf: Literal["tenant", "collection"] = "tenant"


@dataclass(frozen=True, slots=True)
class Options:
    """All options of this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)
