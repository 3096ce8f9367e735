"""What a suite may set for this adapter, and what of it cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le

from retrieverbench.adapter import OWN_PREFIX, Settings


@dataclass(frozen=True, slots=True)
class Connect:
    """There is nothing to connect to."""


@dataclass(frozen=True, slots=True)
class Place:
    """How words are made and weighed; the defaults are those of Elasticsearch."""

    analyzer: Literal["english", "standard"] = "english"
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75


@dataclass(frozen=True, slots=True)
class Search:
    """`depth` is the length of each leg's list before fusion, at least k."""

    exact: Literal[True] = True
    rrf_k: Annotated[int, Ge(1)] = 60
    depth: Annotated[int, Ge(1)] = 100


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def faults(settings: Settings) -> list[str]:
    """One line for everything in the settings that cannot be."""
    found = []
    if settings.endpoint:
        found.append(f"memory: endpoint: {settings.endpoint!r} is not used; leave it empty")
    if not settings.place.startswith(OWN_PREFIX):
        found.append(f"memory: place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.layout not in {"filter", "index"}:
        found.append(f"memory: layout: {settings.layout!r} is unknown; use filter or index")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        found.append("memory: dimension: 0 with a mode that needs vectors; choose an embedder")
    return found
