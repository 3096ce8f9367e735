"""What a suite may set for this adapter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

Weight = Annotated[float, Gt(0)]


@dataclass(frozen=True, slots=True)
class Connect:
    """`grpc` sends searches by gRPC, to `grpc_port`; all else is REST.

    `batch_bytes` is the largest body of one upsert (the server's own limit is 32 MiB), and
    `uploads` how many of them are under way at once.
    """

    grpc: bool = False
    grpc_port: Annotated[int, Ge(1), Le(65535)] = 6334
    batch_bytes: Annotated[int, Ge(1024), Le(32 * 1024 * 1024)] = 1_000_000
    uploads: Annotated[int, Ge(1), Le(64)] = 4


@dataclass(frozen=True, slots=True)
class Place:
    """The collection. Thresholds in kB of vectors; `avg_len` in terms, None: as counted.

    `m = 0` with `payload_m` links the points within each tenant and not over all of them.
    With `avg_len` given no terms wait in memory for the average to be known.
    """

    m: Annotated[int, Ge(0)] = 16
    payload_m: Annotated[int, Ge(0)] | None = None
    ef_construct: Annotated[int, Ge(4)] = 100
    full_scan_threshold: Annotated[int, Ge(0)] = 10_000
    indexing_threshold: Annotated[int, Ge(0)] = 10_000
    quantization: Literal["none", "scalar", "binary"] = "none"
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75
    avg_len: Annotated[float, Gt(0)] | None = None
    settle_timeout: Annotated[float, Gt(0)] = 900.0


@dataclass(frozen=True, slots=True)
class Search:
    """One search. `rank_constant` is that of 1/(constant + rank), rank from 1.

    `weights` (dense, lexical) divide the ranks before that, as Qdrant has it; they multiply
    no term. `rescore`, `oversampling` and `ignore_quantization` say how quantized vectors
    are used; None leaves it to the server. `sparse` names the sparse vector that lexical
    mode searches in an attached collection, and `sparse_model` what its terms were made by.
    """

    hnsw_ef: Annotated[int, Ge(1)] | None = None
    exact: bool = False
    rescore: bool | None = None
    oversampling: Annotated[float, Ge(1)] | None = None
    ignore_quantization: bool = False
    fusion: Literal["rrf", "dbsf"] = "rrf"
    rank_constant: Annotated[int, Ge(0)] = 60
    weights: tuple[Weight, Weight] | None = None
    prefetch: Annotated[int, Ge(1)] = 100
    idf: Literal["tenant", "collection"] = "tenant"
    sparse: str = ""
    sparse_model: Literal["qdrant/bm25", "own"] = "qdrant/bm25"


@dataclass(frozen=True, slots=True)
class Options:
    """All options of this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)
