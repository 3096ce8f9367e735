"""Baselines on disk: read for the gate, written by `baseline accept` and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from retrieverbench.errors import InputError
from retrieverbench.files import write_whole
from retrieverbench.model import (
    BASELINE_SCHEMA,
    Artifact,
    Baseline,
    BaselineCase,
    CaseResult,
    Scores,
    TargetResult,
    baseline_file,
)
from retrieverbench.report.acceptance import changes, objections
from retrieverbench.report.artifact import checksum, read_record


def baseline_path(folder: Path, suite: str, label: str) -> Path:
    """`<folder>/<suite>/<target>.json`, the target's slashes written as hyphens."""
    return folder / baseline_file(suite, label)


def load_baselines(
    folder: Path, suite: str, labels: Iterable[str]
) -> tuple[dict[str, Baseline], list[str]]:
    """The baselines of a suite's targets, by label; those not accepted yet are absent.

    And a line per file that is no baseline, of another schema, or altered by hand: they are
    the gate's to judge, for a run may find worse than that.
    """
    found = {}
    faults: list[str] = []
    for label in labels:
        path = baseline_path(folder, suite, label)
        if os.path.lexists(path):
            try:
                found[label] = read_baseline(path)
            except InputError as error:
                faults += error.faults
    return found, faults


def other_baselines(
    folder: Path, suite: str, labels: Collection[str]
) -> tuple[dict[str, Baseline], list[str]]:
    """The suite's baselines of targets other than these, by label; faults as `load_baselines`."""
    paths = {baseline_path(folder, suite, label) for label in labels}
    found = {}
    faults: list[str] = []
    for path in sorted((folder / suite).glob("*.json")):
        try:
            baseline = None if path in paths else read_baseline(path)
        except InputError as error:
            faults += [
                f"{fault}, or remove it if its target was given up" for fault in error.faults
            ]
            continue
        if baseline is not None and path == baseline_path(folder, suite, baseline.target.label):
            found[baseline.target.label] = baseline
    return found, faults


def read_baseline(path: Path) -> Baseline:
    """One baseline; its own checksum must agree."""
    remedy = "accept a run with 'retrieverbench baseline accept'"
    return read_record(path, Baseline, BASELINE_SCHEMA, remedy)


def check_acceptable(artifact: Artifact, *, because: str = "", allow_dirty: bool = False) -> None:
    """Raise InputError when the run may not become a baseline.

    That is with a leak, an error or missing case, an interrupted run, an unversioned golden
    set, a cache, an uncommitted tree (unless `allow_dirty`), a failed rule without a reason,
    nothing measured. What the artifact prints is believed: `job.verification` computes it again.
    """
    faults = list(objections(artifact, because, allow_dirty=allow_dirty))
    if faults:
        raise InputError(*(f"cannot be accepted: {fault}" for fault in faults))


def accept_baseline(
    artifact: Artifact, folder: Path, *, because: str = "", allow_dirty: bool = False
) -> list[str]:
    """Write one baseline per measured target; lines that say what changed.

    Raises InputError as `check_acceptable` does, before anything is written.
    """
    check_acceptable(artifact, because=because, allow_dirty=allow_dirty)
    accepted = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = []
    for result in artifact.targets:
        label = result.target.label
        if result.scores is None:
            lines.append(f"{label}: not measured, no baseline written")
            continue
        baseline = _make(artifact, result, result.scores, accepted, because)
        path = baseline_path(folder, artifact.suite, label)
        lines.append(f"{label}: accepted")
        try:
            before = read_baseline(path) if path.exists() else None
            lines += changes(before, baseline, result, artifact)
        except InputError as error:  # it is replaced: that is the remedy its message names
            lines.append(f"  not compared with the baseline before: {error}")
        write_whole(path, _dump(baseline))
    return lines


def _make(
    artifact: Artifact, result: TargetResult, scores: Scores, accepted: str, because: str
) -> Baseline:
    golden = artifact.golden
    backend = result.backend
    assert golden.version is not None
    assert result.fidelity is not None
    baseline = Baseline(
        schema=BASELINE_SCHEMA,
        suite=artifact.suite,
        target=result.target,
        golden=golden.name,
        golden_version=golden.version,
        golden_sha256=golden.sha256,
        corpus_sha256=golden.corpus_sha256,
        relevance_level=golden.relevance_level,
        versions=golden.versions,
        embedding=artifact.embedding,
        convention=scores.convention,
        depth=result.depth,
        fidelity=result.fidelity,
        server_version=backend.server_version if backend else "",
        cache=artifact.cache,
        commit=artifact.commit,
        dirty=artifact.dirty,
        run_id=artifact.run_id,
        accepted=accepted,
        because=because,
        cases={case.case_id: _case(case, scores) for case in result.results},
        counters=dict(scores.counters),
    )
    return replace(baseline, sha256=checksum(_plain(baseline)))


def _case(case: CaseResult, scores: Scores) -> BaselineCase:
    values = {
        metric: by_case[case.case_id].value
        for metric, by_case in sorted(scores.cases.items())
        if case.case_id in by_case
    }
    return BaselineCase(case.status, tuple(uid for uid, _score in case.hits), values)


def _plain(baseline: Baseline) -> dict[str, object]:
    from pydantic import TypeAdapter

    plain = TypeAdapter(Baseline).dump_python(baseline, mode="json")
    assert isinstance(plain, dict)
    return plain


def _dump(baseline: Baseline) -> bytes:
    """Sorted keys, one case a line, so that a review sees what moved."""
    plain = _plain(baseline)
    cases = plain.pop("cases")
    assert isinstance(cases, dict)
    head = json.dumps(plain, sort_keys=True, indent=1)[:-2]
    rows = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(cases[key], sort_keys=True)}" for key in sorted(cases)
    )
    return f'{head},\n "cases": {{\n{rows}\n }}\n}}\n'.encode()
