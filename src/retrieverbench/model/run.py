"""What one target returned for one golden set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.search import Fidelity, Layout, Mode

CaseStatus = Literal["ok", "missing", "error"]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing under test: adapter, mode, isolation layout and settings.

    `name` is the suite's name for the entry; `label` is unique in a run.
    """

    name: str
    adapter: str
    mode: Mode
    layout: Layout = "filter"
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The target as tables, rules and files name it, e.g. `pgvector/dense/filter`."""
        return f"{self.name}/{self.mode}/{self.layout}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came back for one case, in the backend's order, or why nothing did.

    `hits` are (uid, score) pairs, best first, to the full depth asked for. `code` is a
    word of `errors.Code` and `message` one line, both None for an `ok` case. An error is
    an entry of the run, never an empty list. `refused` holds the uids of an answer that
    broke the protocol: it is not scored, but the owner ledger judges it all the same.
    """

    case_id: str
    status: CaseStatus
    hits: tuple[tuple[str, float], ...] = ()
    code: str | None = None
    message: str | None = None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Every case of a golden set asked of one target; `depth` results were asked for."""

    target: Target
    depth: int
    results: tuple[CaseResult, ...]
    fidelity: Fidelity
