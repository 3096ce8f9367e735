"""An accepted run of one target, that later runs are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from retrieverbench.model.run import Target
from retrieverbench.model.search import Fidelity

BASELINE_SCHEMA = 1


def baseline_file(suite: str, label: str) -> str:
    """Where the baseline of a target lies below the folder of baselines."""
    return f"{suite}/{label.replace('/', '-')}.json"


@dataclass(frozen=True, slots=True)
class BaselineCase:
    """One case: its status, the uids in order to the full depth, and each metric's value.

    A value is None where the case is not in the metric's mean.
    """

    status: str
    uids: tuple[str, ...]
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was accepted, by its own checksum (`sha256`, over all other fields).

    `counters` are those of the scores, for rules on shares; None where one is undefined.
    """

    schema: int
    suite: str
    target: Target
    golden: str
    golden_version: int
    golden_sha256: str
    corpus_sha256: str
    relevance_level: int
    versions: Mapping[str, str]
    embedding: Mapping[str, str]
    convention: str
    depth: int
    fidelity: Fidelity
    server_version: str
    cache: str
    commit: str | None
    dirty: bool | None
    run_id: str
    accepted: str
    because: str
    cases: Mapping[str, BaselineCase]
    counters: Mapping[str, float | None] = field(default_factory=dict)
    sha256: str = ""
