"""The record of one run of a suite: everything later steps need, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.audit import LeakBound, ProbeResult, Unchosen
from retrieverbench.model.leaks import LeakCheck
from retrieverbench.model.run import CaseResult, Target
from retrieverbench.model.scores import Scores
from retrieverbench.model.search import Fidelity, Plan
from retrieverbench.model.timings import Noise, Timings
from retrieverbench.model.verdict import Verdict

SCHEMA = 1

FailureKind = Literal["absent", "failed"]


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """What answered, read back from the server.

    `settings_changed` names what differed between the description before and after the
    run; anything in it voids the run's timings. It is None where the second description
    could not be had. `weaknesses` are what makes isolation or figures worth less than the
    layout promises. `differs` says how what is only read differs from the corpus, "" if not.
    `slow` are what costs this target's questions time and weakens nothing.
    """

    distribution: str
    distribution_version: str
    server: str
    server_version: str
    client: str
    client_version: str
    settings: Mapping[str, object]
    properties: tuple[str, ...]
    unchecked: tuple[str, ...]
    engine: Mapping[str, object]
    settings_changed: tuple[str, ...] | None = ()
    weaknesses: tuple[str, ...] = ()
    chunks: Mapping[str, int] = field(default_factory=dict)
    differs: str = ""
    slow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetResult:
    """All that was measured of one target, or why it was not.

    When `failure` is set, `scores`, `timings` and `leaks` are None and `remedy` says what
    would make it run; nothing of such a target is ever shown as a number. `failure_kind`
    is `absent` when nothing here can answer (no client, no engine, no address) and `failed`
    when a backend that should have answered did not. `late_failure` is what failed after
    the quality and timed passes, whose numbers stand. `plan` is the backend's own plan of
    one filtered query, None where it tells none. `probes` are those of the leak audit,
    `bounds` how strong their result is in each arm. `line` is its entry's line in the suite,
    0 where that is not known.
    """

    target: Target
    fidelity: Fidelity | None
    required: bool
    depth: int
    failure: str | None = None
    failure_kind: FailureKind | None = None
    failure_code: str | None = None
    remedy: str | None = None
    backend: BackendRecord | None = None
    plan: Plan | None = None
    load_seconds: float | None = None
    settle_seconds: float | None = None
    results: tuple[CaseResult, ...] = ()
    scores: Scores | None = None
    timings: Timings | None = None
    leaks: LeakCheck | None = None
    probes: tuple[ProbeResult, ...] = ()
    bounds: tuple[LeakBound, ...] = ()
    late_failure: str | None = None
    notes: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class GoldenRecord:
    """Which questions were asked of which corpus.

    `ceilings` are the highest means that answers could reach, by canonical metric name, of the
    metrics that cannot reach 1 on this set. `superseded` chunks have been replaced by newer ones.
    `forbidding` cases forbid a chunk, and `no_relevant` ones have an answer by no chunk; None
    where the artifact does not tell.
    """

    name: str
    version: int | None
    sha256: str
    corpus: str
    corpus_sha256: str
    cases: int
    chunks: int
    tenants: int
    unanswerable: int
    needs_review: int
    relevance_level: int
    versions: Mapping[str, str] = field(default_factory=dict)
    must_pass: tuple[str, ...] = ()
    ceilings: Mapping[str, float] = field(default_factory=dict)
    superseded: int = 0
    forbidding: int | None = None
    no_relevant: int | None = None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What the command line changed of the suite, so that the two can be compared later.

    `only` and `require` are names of entries; empty `only` means all. `adapters` are those
    that were added, a target each. `timing` is False where the timed pass was left out,
    `compose` True where servers were started for the run. `changing` was declared as the thing
    under test, which may differ from a baseline.
    """

    only: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    timing: bool = True
    compose: bool = False
    changing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """One run of one suite. `started` is the only wall-clock time in it (UTC, ISO 8601).

    `kind` is `audit` where targets were probed for leaks and nothing else was measured.
    `metrics` are the canonical names that suite and rules asked for; scores may hold more,
    and reports show these only. Empty where the artifact does not tell. `suite_file` is the
    suite seen from the results folder, "" where the two have no folder in common. `sha256`
    is over everything else, "" until the artifact is written. `noise` is None where no target
    was timed twice; then no two times of the run may be compared. `unchosen` are the probes that
    `--fast` or `--probe` left out of an audit.
    """

    schema: int
    run_id: str
    suite: str
    suite_sha256: str
    started: str
    complete: bool
    harness: Mapping[str, str]
    machine: Mapping[str, object]
    commit: str | None
    dirty: bool | None
    seeds: Mapping[str, int]
    cache: str
    embedding: Mapping[str, str]
    golden: GoldenRecord
    targets: tuple[TargetResult, ...]
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    kind: Literal["run", "audit"] = "run"
    metrics: tuple[str, ...] = ()
    suite_file: str = ""
    sha256: str = ""
    noise: Noise | None = None
    command: CommandLine = CommandLine()
    unchosen: tuple[Unchosen, ...] = ()
