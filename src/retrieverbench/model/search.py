"""One request to a backend and its answer."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.tenant import TenantId

Mode = Literal["dense", "lexical", "hybrid"]
Layout = Literal["filter", "partition", "index", "rls"]
Fidelity = Literal["server", "engine", "stand-in"]
FilterTime = Literal["before", "during", "after", "never"]
Value = str | int | float | bool

MODES: tuple[Mode, ...] = ("dense", "lexical", "hybrid")


@dataclass(frozen=True, slots=True)
class Query:
    """One logical query of one tenant in one mode. Built before the clock starts.

    `where` holds equality conditions of the user on metadata, combined by AND with the
    tenant condition outside. `want` names what the answer shall carry beside uid and
    score: `text`, `tenant`, `total`; it is empty in timed runs. `vector` is None in
    lexical mode only.
    """

    text: str
    tenant: TenantId
    k: int
    mode: Mode
    vector: array[float] | None = None
    where: Mapping[str, Value] = field(default_factory=dict)
    want: frozenset[str] = frozenset()


@dataclass(slots=True)
class Hit:
    """One returned chunk. `tenant` is the backend's word: shown, never judged by."""

    uid: str
    score: float
    tenant: str | None = None
    text: str | None = None


@dataclass(slots=True)
class Response:
    """Best first, at most k hits. `server_ms` is the backend's own time if it tells it.

    `partial` is True when the backend itself says that the answer is incomplete.
    """

    hits: list[Hit]
    server_ms: float | None = None
    partial: bool = False
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How the backend answers one query, as the backend itself tells it.

    `lines` are its own words. `vector_index` is the approximate index that was used, "" when
    the search was exact, None when nothing tells. `filtered` says when the tenant condition
    was applied, seen from the search: before it, during it, after it (candidates are lost),
    never; None when nothing tells. `caveat` says how this plan may differ from the measured
    one, "" if it cannot.
    """

    lines: tuple[str, ...]
    vector_index: str | None = None
    filtered: FilterTime | None = None
    caveat: str = ""
