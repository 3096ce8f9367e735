"""The leak columns of one target: what was checked, what was found, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence

from retrieverbench.leaks.canary import CanaryResult
from retrieverbench.model import LeakCheck, LeakFinding, Run

MAX_KEPT_FINDINGS = 200
"""Findings kept in the artifact per target; the counts are always complete."""


def leak_columns(
    run: Run,
    found: Sequence[LeakFinding],
    *,
    timed_answers: int,
    canaries: CanaryResult | None,
    control_foreign: int | None,
    tenants: int,
    stopped: str | None = None,
) -> LeakCheck:
    """Put together what the passes saw. `found` holds the quality and timed findings.

    `stopped` says why the probes did not run to their end.

    The upper bound is on the share of leaking answers at 95 % after n answers without one:
    1 - 0.05^(1/n), the exact form of the rule of three; n counts distinct trials, so
    repeated timed answers add nothing to it.
    """
    answered = [result for result in run.results if result.status == "ok"]
    asked = canaries.asked - canaries.failed if canaries else 0
    findings = [*found, *(canaries.findings if canaries else ())]
    reason = stopped or _unproven(run, canaries, control_foreign, tenants)
    trials = len(answered) + max(asked, 0)
    unknown = sum(finding.owner is None for finding in findings)
    return LeakCheck(
        answers=len(answered)
        + timed_answers
        + (canaries.owned + canaries.asked if canaries else 0),
        hits=sum(len(result.hits) for result in answered) + (canaries.hits if canaries else 0),
        foreign=len(findings) - unknown,
        unknown=unknown,
        canaries_asked=canaries.asked if canaries else 0,
        canaries_owned=canaries.owned if canaries else 0,
        canaries_found_by_owner=canaries.found_by_owner if canaries else 0,
        control_foreign=control_foreign or 0,
        proof="leak" if findings else "inconclusive" if reason else "clean",
        reason=None if findings else reason,
        findings=tuple(findings[:MAX_KEPT_FINDINGS]),
        upper_bound=None if findings or not trials else 1.0 - 0.05 ** (1.0 / trials),
    )


def _unproven(
    run: Run, canaries: CanaryResult | None, control_foreign: int | None, tenants: int
) -> str | None:
    """Why a result without findings would prove nothing; None if it does prove something."""
    if tenants < 2:
        return "the corpus has one tenant: there is nobody to leak to"
    if not any(result.hits for result in run.results):
        return "no answer held a chunk: an empty answer cannot leak"
    if canaries is None:
        return "no canaries were put (read-only target, or canaries = false)"
    if canaries.failed:
        return f"{canaries.failed} canary searches failed"
    if canaries.found_by_owner < canaries.owned:
        return (
            f"only {canaries.found_by_owner} of {canaries.owned} owners found their own canary: "
            "the search that should find one does not"
        )
    if control_foreign is None:
        return "the unfiltered control arm did not run (read-only target, or control = false)"
    if control_foreign == 0:
        return "the unfiltered control arm showed no foreign chunk: nothing could be stolen"
    return None
