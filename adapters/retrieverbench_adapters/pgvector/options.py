"""What a suite may set for this adapter, and what its settings must be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from retrieverbench.adapter import OWN_PREFIX, Settings
from retrieverbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Connect:
    """Seconds: to connect, and for everything that `settle` does."""

    connect_timeout: Annotated[int, Ge(2)] = 10
    settle_timeout: Annotated[float, Gt(0)] = 3600.0


@dataclass(frozen=True, slots=True)
class Place:
    """What is built. Without the HNSW index (`none`) dense search is exact."""

    index: Literal["hnsw", "none"] = "hnsw"
    m: Annotated[int, Ge(2), Le(100)] = 16
    ef_construction: Annotated[int, Ge(4), Le(1000)] = 64
    text_search_config: str = "english"
    maintenance_work_mem: str = "512MB"


@dataclass(frozen=True, slots=True)
class Search:
    """`exact` never uses the HNSW index; `depth` is each leg's length before fusion, ≥ k."""

    exact: bool = False
    ef_search: Annotated[int, Ge(1), Le(1000)] = 40
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] = "strict_order"
    max_scan_tuples: Annotated[int, Ge(1)] = 20_000
    scan_mem_multiplier: Annotated[float, Ge(1), Le(1000)] = 1.0
    work_mem: str = "64MB"
    plan_cache_mode: Literal["force_custom_plan", "force_generic_plan", "auto"] = (
        "force_custom_plan"
    )
    ranking: Literal["ts_rank_cd", "ts_rank"] = "ts_rank_cd"
    normalization: Annotated[int, Ge(0), Le(63)] = 0
    rrf_k: Annotated[int, Ge(1)] = 60
    depth: Annotated[int, Ge(1)] = 100


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def check_settings(settings: Settings, capabilities: frozenset[str]) -> None:
    """Raise InputError with one line per fault."""
    faults = []
    if not settings.place.startswith(OWN_PREFIX):
        faults.append(f"pgvector: place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.layout not in capabilities:
        faults.append(f"pgvector: layout: {settings.layout!r} is not there; use filter, partition")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        faults.append("pgvector: dimension: 0 with a mode that needs vectors; choose an embedder")
    unknown = sorted(settings.secrets.keys() - {"user", "password"})
    faults += [f"pgvector: secrets: {name!r} is unknown; use user, password" for name in unknown]
    if faults:
        raise InputError(*faults)
