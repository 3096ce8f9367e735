"""The leak columns of one target: what was checked, what was found, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieverbench.errors import plural
from retrieverbench.leaks.bound import upper_bound
from retrieverbench.leaks.canary import CanaryResult
from retrieverbench.leaks.control import ControlResult
from retrieverbench.model import LeakCheck, LeakFinding, Proof, Run

MAX_KEPT_FINDINGS = 200
"""Findings kept in the artifact per target; the counts are always complete."""


@dataclass(frozen=True, slots=True)
class TimedCounts:
    """Answers of the timed pass that were judged, rows in them, and answers that leaked."""

    answers: int = 0
    rows: int = 0
    leaking: int = 0


def leak_columns(
    run: Run,
    found: Sequence[LeakFinding],
    *,
    timed: TimedCounts,
    canaries: CanaryResult | None,
    control: ControlResult | None,
    tenants: int,
    distinct: int,
    totals: Sequence[LeakFinding] = (),
    side_channel: str = "",
    stopped: str | None = None,
    read_only: bool = False,
) -> LeakCheck:
    """Put together what the passes saw.

    `found` holds the quality and timed findings, `totals` those beside totals, `side_channel`
    what a total itself told of others.
    `distinct` counts the different questions, each with its tenant, that were answered.
    `stopped` says why the probes did not run to their end; `read_only` targets are asked
    none, for nothing can be written to them.

    The upper bound is on the share of leaking answers at 95 % after n answers without one:
    1 - 0.05^(1/n), the exact form of the rule of three; n counts distinct trials, so
    repeated timed answers add nothing to it. A result that proves nothing has no bound.
    """
    judged = [result for result in run.results if result.status == "ok" or result.refused]
    of_target = [*found, *(canaries.findings if canaries else ()), *totals]
    of_control = control.findings if control else []
    findings = [*of_target, *of_control]
    reason = None if findings else stopped or _unproven(run, canaries, control, read_only=read_only)
    if tenants < 2 and not findings:
        reason = "the corpus has one tenant: there is nobody to leak to"
    trials = distinct + (canaries.answered if canaries else 0)
    unknown = sum(finding.owner is None for finding in of_target)
    of_answers = (*found, *(canaries.findings if canaries else ()))
    answers = [each for each in of_answers if each.seen_in not in {"timed", "get"}]
    # A question asked once more for its texts is the same question.
    asked = {(f.seen_in.replace("text", "quality"), f.case_id, f.tenant) for f in answers}
    is_clean = not findings and reason is None
    return LeakCheck(
        answers=len(judged) + timed.answers + (canaries.answers if canaries else 0),
        hits=sum(len(result.hits) + len(result.refused) for result in run.results)
        + timed.rows
        + (canaries.hits if canaries else 0),
        foreign=len(of_target) - unknown,
        unknown=unknown,
        canaries_asked=canaries.asked if canaries else None,
        canaries_owned=canaries.owned if canaries else None,
        canaries_found_by_owner=canaries.found_by_owner if canaries else None,
        control_foreign=control.foreign if control else None,
        proof=_proof(findings, reason, tenants),
        reason=reason,
        findings=tuple(findings[:MAX_KEPT_FINDINGS]),
        upper_bound=upper_bound(trials) if is_clean else None,
        trials=trials,
        leaking_answers=len(asked) + timed.leaking,
        control_findings=len(of_control),
        side_channel=side_channel,
    )


def _proof(findings: Sequence[LeakFinding], reason: str | None, tenants: int) -> Proof:
    if findings:
        return "leak"
    if tenants < 2:
        return "not applicable"
    return "inconclusive" if reason else "clean"


def _unproven(
    run: Run,
    canaries: CanaryResult | None,
    control: ControlResult | None,
    *,
    read_only: bool,
) -> str | None:
    """Why a result without findings would prove nothing; None if it does prove something."""
    if not any(result.hits for result in run.results):
        return "no answer held a chunk: an empty answer cannot leak"
    if canaries is None and read_only:
        return (
            "no canaries were put: nothing can be written to this target; `retrieverbench leaks` "
            "with this suite proves it by the chunks that are there"
        )
    return _canaries_unproven(canaries) or _control_unproven(control)


def _canaries_unproven(canaries: CanaryResult | None) -> str | None:
    if canaries is None:
        return "no canaries were put: the suite says [leaks] canaries = false"
    if canaries.failed:
        return f"{plural(canaries.failed, 'canary search')} failed"
    if canaries.owned < canaries.planned or not canaries.answered:
        return f"only {canaries.owned} of {canaries.planned} canaries were asked for"
    if canaries.found_by_owner < canaries.owned:
        return (
            f"only {canaries.found_by_owner} of {canaries.owned} owners found their own canary: "
            "the search that should find one does not"
        )
    return None


def _control_unproven(control: ControlResult | None) -> str | None:
    if control is None:
        return "the unfiltered control arm did not run: the suite says [leaks] control = false"
    if control.foreign:
        return None
    if control.failed:
        asked = plural(control.asked, "search")
        return f"{control.failed} of {asked} of the unfiltered control arm failed"
    return "the unfiltered control arm showed no foreign chunk: nothing could be stolen"
