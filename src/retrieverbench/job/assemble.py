"""From what was measured to the artifact: scores, leak columns, provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.adapter import Description
from retrieverbench.errors import BackendError, Code, MissingClient, NotConfigured, plural
from retrieverbench.job.hiding import without_secrets
from retrieverbench.job.machine import Origin
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.scoring import golden_record, score_target
from retrieverbench.job.state import EntryState
from retrieverbench.job.vectors import Embedded
from retrieverbench.leaks import TimedCounts, leak_columns
from retrieverbench.load import TimedResult
from retrieverbench.model import (
    SCHEMA,
    Artifact,
    BackendRecord,
    CaseResult,
    Corpus,
    GoldenCase,
    GoldenSet,
    LeakCheck,
    LeakFinding,
    Mode,
    Noise,
    Run,
    TargetResult,
    Timings,
)
from retrieverbench.run import Place, is_loaded, log_frames, one_line, reason_and_remedy


def assemble(
    prepared: Prepared,
    targets: Sequence[TargetResult],
    *,
    embedded: Embedded,
    noise: Noise | None,
    origin: Origin,
    run_id: str,
    started: str,
    complete: bool,
) -> Artifact:
    """Everything that is known, in one record; the verdict is added by the gate."""
    return Artifact(
        schema=SCHEMA,
        run_id=run_id,
        suite=prepared.suite.name,
        suite_sha256=prepared.suite.sha256,
        started=started,
        complete=complete,
        harness=origin.harness,
        machine=origin.machine,
        commit=origin.commit,
        dirty=origin.dirty,
        seeds={"suite": prepared.suite.seed},
        cache="off",
        metrics=prepared.metrics,
        embedding=dict(embedded.identity),
        golden=golden_record(prepared.golden, prepared.corpus, prepared.metrics),
        targets=tuple(targets),
        notes=run_notes(prepared.corpus, prepared.golden),
        noise=noise,
    )


def run_notes(corpus: Corpus, golden: GoldenSet) -> tuple[str, ...]:
    """What the reader of a run should know, its files' warnings included."""
    return (
        "query vectors are computed before the clock starts; nothing caches answers",
        *corpus.warnings,
        *golden.warnings,
    )


def target_results(prepared: Prepared, states: Sequence[EntryState]) -> list[TargetResult]:
    """One result per entry and mode, in the suite's order.

    A defect of ours, or too little memory, costs the scores of one target and no other's.
    """
    return [
        without_secrets(_kept_result(prepared, state, mode), state, prepared.corpus.chunks)
        for state in states
        for mode in state.entry.modes
    ]


def bare_result(prepared: Prepared, state: EntryState, mode: Mode) -> TargetResult:
    """What is known of a target whatever was measured: its backend, or why there is none."""
    place = state.place
    empty = TargetResult(
        target=state.target(mode),
        fidelity=place.fidelity if place else None,
        required=state.entry.name in prepared.required,
        depth=prepared.suite.depth,
        line=state.line,
        backend=_backend_record(place, mode, state.after) if place else None,
    )
    failure = state.failure or state.unmeasured.get(mode)
    return empty if failure is None else replace(_failed(empty, failure), backend=None)


def _kept_result(prepared: Prepared, state: EntryState, mode: Mode) -> TargetResult:
    """The result; without scores, but with the answers as they came, where those cannot be had."""
    try:
        return _target_result(prepared, state, mode)
    except Exception as error:  # noqa: BLE001 - what was measured is not lost to it
        log_frames(error)
        run = state.runs.get(mode)
        told = f"its answers could not be scored: {type(error).__name__}: {one_line(error)}"
        empty = bare_result(prepared, state, mode)
        return replace(
            _failed(
                empty,
                BackendError(told, remedy="report the defect; the answers are in the artifact"),
            ),
            results=run.results if run else (),
            leaks=_seen_before(prepared, state, empty),
        )


def _target_result(prepared: Prepared, state: EntryState, mode: Mode) -> TargetResult:
    run = state.runs.get(mode)
    place = state.place
    empty = bare_result(prepared, state, mode)
    if empty.failure is not None:
        return replace(empty, leaks=_seen_before(prepared, state, empty))
    if run is None or place is None:
        return _interrupted(prepared, state, replace(empty, backend=None))
    if (unanswered := state.unanswered.get(mode)) is not None:
        shown = _leaks(prepared, state, run, None)
        failed = replace(_failed(empty, unanswered), backend=None)
        return replace(failed, leaks=shown if shown.proof == "leak" else None)
    timed = state.timed.get(mode)
    return replace(
        empty,
        plan=state.plans.get(mode),
        load_seconds=place.load_seconds,
        settle_seconds=place.settle_seconds,
        results=run.results,
        scores=score_target(run, prepared.golden, prepared.corpus, prepared.metrics),
        timings=timed.timings if timed else None,
        leaks=_leaks(prepared, state, run, timed),
        late_failure=state.late_failure or _failed_probes(state, mode),
        notes=(*state.notes, *_notes_of_probes(state, mode)),
    )


def _notes_of_probes(state: EntryState, mode: Mode) -> Iterator[str]:
    for told in (state.texts.get(mode), state.told_totals.get(mode), state.totals.get(mode)):
        if told is not None and told.note:
            yield told.note


def _failed_probes(state: EntryState, mode: Mode) -> str | None:
    """Canary and control searches that the backend did not answer."""
    asked = {"canary": state.canaries.get(mode), "control": state.control.get(mode)}
    told = [
        f"{plural(found.failed, f'{word} search')} failed"
        for word, found in asked.items()
        if found and found.failed
    ]
    return "; ".join(told) or None


def _interrupted(prepared: Prepared, state: EntryState, empty: TargetResult) -> TargetResult:
    """Not measured, but a leak that was seen until then is kept."""
    return replace(
        empty,
        failure="interrupted before it was measured",
        failure_kind="failed",
        failure_code="cancelled",
        remedy="run it again",
        leaks=_seen_before(prepared, state, empty),
    )


def _seen_before(prepared: Prepared, state: EntryState, empty: TargetResult) -> LeakCheck | None:
    """The leaks that showed before a mode could be measured to its end; None if none did."""
    if not state.findings.get(empty.target.mode):
        return None
    cut_off = Run(empty.target, empty.depth, (), empty.fidelity or "engine")
    return _leaks(prepared, state, cut_off, None)


def _failed(empty: TargetResult, failure: BackendError) -> TargetResult:
    absent = isinstance(failure, MissingClient | NotConfigured)
    reason, remedy = reason_and_remedy(failure)
    return replace(
        empty,
        failure=reason,
        failure_kind="absent" if absent else "failed",
        failure_code=failure.code.word,
        remedy=remedy,
    )


def _leaks(prepared: Prepared, state: EntryState, run: Run, timed: TimedResult | None) -> LeakCheck:
    mode = run.target.mode
    total = state.totals.get(mode)
    told = [each for each in (state.told_totals.get(mode), total) if each is not None]
    found = [
        *state.findings.get(mode, ()),
        *_timed_findings(run.target.label, prepared.cases, timed),
    ]
    return leak_columns(
        run,
        found,
        timed=timed_counts(timed.timings if timed else None, timed.rows if timed else 0),
        canaries=state.canaries.get(mode),
        control=state.control.get(mode),
        totals=total.findings if total else (),
        side_channel=next((each.side_channel for each in told if each.side_channel), ""),
        tenants=len(prepared.chunks_per_tenant),
        distinct=distinct_questions(prepared.cases, run.results),
        stopped=state.probes_stopped,
        read_only=state.loaded is not None and not is_loaded(state.entry, state.loaded),
    )


def distinct_questions(cases: Sequence[GoldenCase], results: Sequence[CaseResult]) -> int:
    """How many different questions, each with its tenant, were answered."""
    return len(
        {
            (case.query, case.tenant)
            for case, result in zip(cases, results, strict=False)
            if result.status == "ok"
        }
    )


def timed_counts(timings: Timings | None, rows: int = 0) -> TimedCounts:
    """What the ledger could judge of the timed pass; at least so many answers."""
    if timings is None:
        return TimedCounts()
    errors = timings.errors
    judged = {Code.WRONG_COUNT.word, Code.TENANT_VIOLATION.word}
    answers = timings.requests - sum(n for word, n in errors.items() if word not in judged)
    return TimedCounts(answers, rows, errors.get(Code.TENANT_VIOLATION.word, 0))


def _timed_findings(
    label: str, cases: Sequence[GoldenCase], timed: TimedResult | None
) -> list[LeakFinding]:
    return [
        LeakFinding(
            target=label,
            case_id=cases[violation.query].id,
            tenant=cases[violation.query].tenant.value,
            uid=violation.uid,
            rank=violation.rank,
            owner=violation.owner,
            seen_in="timed",
        )
        for violation in (timed.violations if timed else ())
    ]


def _backend_record(place: Place, mode: Mode, after: Description | None) -> BackendRecord:
    before = place.description
    return BackendRecord(
        distribution=place.loaded.distribution,
        distribution_version=place.loaded.version,
        server=before.server,
        server_version=before.server_version,
        client=before.client,
        client_version=before.client_version,
        settings=before.settings,
        properties=tuple(sorted(before.properties)),
        unchecked=before.unchecked,
        engine=place.connection.engine,
        settings_changed=_changes(_state_of(before), _state_of(after)) if after else None,
        weaknesses=before.weaknesses,
        chunks=before.chunks,
        differs=place.differs,
        slow=before.slow.get(mode, ()),
    )


def _state_of(description: Description) -> dict[str, object]:
    """What must be the same before and after: settings, version, and the chunks per tenant."""
    return {
        **description.settings,
        "server version": description.server_version,
        **{f"chunks of {tenant!r}": count for tenant, count in description.chunks.items() if count},
    }


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(
        f"{key}: {json.dumps(before.get(key))} before, {json.dumps(after.get(key))} after"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    )
