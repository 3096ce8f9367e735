"""What an artifact says of its targets, beside the suite's own entries and the files here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from retrieverbench.errors import Code
from retrieverbench.gate import CHANGES
from retrieverbench.job.scoring import chunks_per_tenant
from retrieverbench.job.verification.differences import Fault, compare
from retrieverbench.model import (
    MODES,
    Artifact,
    BackendRecord,
    CaseResult,
    CommandLine,
    Corpus,
    GoldenSet,
    Target,
    TargetResult,
)
from retrieverbench.run import Suite, TargetEntry

_WORDS = frozenset(code.word for code in Code)
_BY_SUITE = "by the suite"
_MEASURED_ONLY = (
    *("backend", "plan", "load_seconds", "settle_seconds", "scores", "timings", "late_failure"),
    *("results", "notes"),
)
"""What is there of a target only if it was measured."""
_FAILED_ONLY = ("failure_kind", "failure_code", "remedy")
_OF_AN_AUDIT = ("probes", "bounds")


@dataclass(frozen=True, slots=True)
class Expected:
    """One target as the suite and the command line want it, and its entry's line."""

    entry: TargetEntry
    target: Target
    line: int
    required: bool


def expected_targets(artifact: Artifact, suite: Suite) -> list[Expected]:
    """One per entry and mode that was to be measured, in the suite's order."""
    command = artifact.command
    added = [_added(adapter, artifact) for adapter in command.adapters]
    return [
        Expected(
            entry,
            target,
            suite.line("targets", number),
            required=entry.required or entry.name in command.require,
        )
        for number, entry in enumerate([*suite.targets, *added])
        if not command.only or entry.name in command.only
        for target in entry.targets()
    ]


def _added(adapter: str, artifact: Artifact) -> TargetEntry:
    """An entry of the command line's: its modes and layout are those that its class can do."""
    name = adapter.rpartition(":")[2].lower()
    found = [result.target for result in artifact.targets if result.target.name == name]
    modes = tuple(mode for mode in MODES if any(target.mode == mode for target in found))
    return TargetEntry(adapter, name, modes, found[0].layout if found else "filter")


def selection_faults(artifact: Artifact, suite: Suite) -> Iterator[Fault]:
    """Targets that the suite does not have, or that lack; and names it does not know."""
    command: CommandLine = artifact.command
    added = {adapter.rpartition(":")[2].lower() for adapter in command.adapters}
    known = {entry.name for entry in suite.targets} | added
    for option in ("only", "require"):
        for name in getattr(command, option):
            if name not in known:
                yield Fault(f"command.{option}", name, f"one of {sorted(known)} {_BY_SUITE}")
    for word in command.changing:
        if word not in CHANGES:
            yield Fault("command.changing", word, f"one of {sorted(CHANGES)}")
    there = {result.target.adapter for result in artifact.targets}
    for adapter in command.adapters:
        if adapter not in there and not command.only:
            yield Fault("command.adapters", adapter, "the adapter of a target beside it")
    expected = expected_targets(artifact, suite)
    labels = [result.target.label for result in artifact.targets]
    yield from compare("targets", labels, [each.target.label for each in expected], _BY_SUITE)


def target_faults(
    result: TargetResult, expected: Expected, suite: Suite, artifact: Artifact
) -> Iterator[Fault]:
    """What the suite says of this target, and whether it is either measured or failed."""
    yield from compare("target", result.target, expected.target, _BY_SUITE)
    yield from compare("depth", result.depth, suite.depth, _BY_SUITE)
    yield from compare("required", result.required, expected.required, _BY_SUITE)
    if artifact.suite_sha256 == suite.sha256:
        yield from compare("line", result.line, expected.line, _BY_SUITE)
    for name in _OF_AN_AUDIT:
        if getattr(result, name):
            yield Fault(name, getattr(result, name), "only a leak audit has them")
    yield from _outcome_faults(result)


def _outcome_faults(result: TargetResult) -> Iterator[Fault]:
    """A target has a failure or numbers, never both and never neither."""
    wrong: tuple[str, ...] = _MEASURED_ONLY
    why = "nothing beside a failure"
    if result.failure is None:
        wrong, why = _FAILED_ONLY, "None without a failure"
    for name in wrong:
        if getattr(result, name):
            yield Fault(name, getattr(result, name), why)
    if result.failure is not None:
        yield from _failure_faults(result)
    elif result.scores is None:
        yield Fault("scores", None, "there, or a failure")


def _failure_faults(result: TargetResult) -> Iterator[Fault]:
    """Code, kind and remedy as they are told of what failed."""
    if result.failure_code not in _WORDS - {Code.OK.word}:
        yield Fault("failure_code", result.failure_code, f"one of {sorted(_WORDS)}")
    if result.failure_kind is None:
        yield Fault("failure_kind", None, "'absent' or 'failed' beside a failure")
    elif result.failure_kind == "absent" and result.failure_code != Code.CONNECT.word:
        yield Fault("failure_code", result.failure_code, "'connect' where nothing can answer")


def case_faults(result: TargetResult, golden: GoldenSet) -> Iterator[Fault]:
    """Cases that were not asked, that lack, or stand there in another order."""
    asked = [case.id for case in golden.cases]
    told = [case.case_id for case in result.results]
    yield from compare("results", told, asked, "by the golden set")


def measured_faults(
    result: TargetResult, expected: Expected, corpus: Corpus, *, compose: bool
) -> Iterator[Fault]:
    """The backend and the answers of a target that has scores."""
    if result.backend is None:
        yield Fault("backend", None, "there beside scores")
    else:
        yield from _backend_faults(result.backend, result, expected.entry, corpus, compose=compose)
    for name in ("load_seconds", "settle_seconds"):
        value = getattr(result, name)
        if value is not None and not 0 <= value < math.inf:
            yield Fault(name, value, "0 or more expected")
    loaded = result.load_seconds is not None
    if loaded != (result.settle_seconds is not None) or (loaded and expected.entry.attach):
        yield Fault("load_seconds", result.load_seconds, "a time just where chunks were loaded")
    for number, case in enumerate(result.results):
        yield from _answer_faults(f"results.{number}", case, result.depth)


def _backend_faults(
    backend: BackendRecord,
    result: TargetResult,
    entry: TargetEntry,
    corpus: Corpus,
    *,
    compose: bool,
) -> Iterator[Fault]:
    for name in ("distribution", "distribution_version", "server", "server_version"):
        if not getattr(backend, name):
            yield Fault(f"backend.{name}", getattr(backend, name), "a name or version expected")
    if list(backend.properties) != sorted(set(backend.properties)):
        yield Fault("backend.properties", backend.properties, "each once and in order")
    if backend.settings_changed is None and result.late_failure is None:
        yield Fault("backend.settings_changed", None, "a list, or why there is none")
    stored = {tenant: count for tenant, count in backend.chunks.items() if count}
    if result.load_seconds is not None:
        yield from compare(
            "backend.chunks", stored, dict(chunks_per_tenant(corpus)), "in the corpus here"
        )
    if not compose and bool(backend.engine) != bool(entry.engine_name):
        yield Fault("backend.engine", backend.engine, "there just where an engine was started")


def _answer_faults(place: str, case: CaseResult, depth: int) -> Iterator[Fault]:
    """An answer that the runner writes so: hits up to the depth, or a code and a message."""
    if case.status != "ok":
        return
    if case.code is not None or case.message is not None or case.refused:
        found = case.code or case.message or case.refused
        yield Fault(f"{place}.code", found, "nothing beside an answer")
    if len(case.hits) > depth:
        yield Fault(f"{place}.hits", len(case.hits), f"at most {depth} hits")
    for rank, (uid, score) in enumerate(case.hits):
        if not uid or not math.isfinite(score):
            yield Fault(f"{place}.hits.{rank}", (uid, score), "a uid and a finite score")
