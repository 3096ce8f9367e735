"""From the outcomes of probes to one word and one exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from retrieverbench.gate.judge import (
    BACKEND,
    FAILED,
    INTERRUPTED,
    LEAK,
    NOTHING,
    PASSED,
    TOLD_ONLY,
    Reason,
    settled,
)
from retrieverbench.gate.leaking import NO_ID_IS_KNOWN, is_none_known
from retrieverbench.model import SEVERITIES, Artifact, ProbeResult, Severity, TargetResult, Verdict


def judge_audit(
    artifact: Artifact,
    *,
    fail_on: Severity = "medium",
    inconclusive: Literal["stop", "warn"] = "stop",
    accepted: Mapping[str, str] | None = None,
) -> Verdict:
    """Any finding and any failure of a critical probe is exit 4, whatever else is set.

    A failure of a severity down to `fail_on` is exit 1, any other is only told. A target that
    failed or is absent though required is exit 3. A probe without a conclusion is exit 5, or
    only told when `inconclusive` is `warn` or `accepted` gives a reason under the probe's id.
    """
    stop = NOTHING if inconclusive == "stop" else PASSED
    verdict = settled(
        [
            *(
                reason
                for result in artifact.targets
                for reason in (*_unmapped(result), *_unprobed(result, complete=artifact.complete))
            ),
            *(
                reason
                for result in artifact.targets
                for probes in alike(result.probes, accepted or {})
                if (reason := _of_probes(result, probes, fail_on, stop, accepted or {}))
            ),
            *_cut_short(artifact),
        ],
        (),
    )
    every = dict.fromkeys(
        (probe.probe for result in artifact.targets for probe in result.probes), TOLD_ONLY
    )
    tolerated = every if inconclusive == "warn" else {}
    return replace(verdict, excused={**tolerated, **(accepted or {})}, fail_on=fail_on)


def fails_audit(probe: ProbeResult, fail_on: Severity | None) -> bool:
    """Whether a failed probe is grave enough to fail its audit; all are where nothing is judged."""
    least = SEVERITIES.index(fail_on or SEVERITIES[-1])
    return probe.outcome == "fail" and SEVERITIES.index(probe.severity) <= least


def alike(
    probes: Sequence[ProbeResult], accepted: Mapping[str, str] = MappingProxyType({})
) -> list[list[ProbeResult]]:
    """Probes of one target, those that had no conclusion in one arm for one reason together.

    What is `accepted`, each probe with a reason of its own, stands apart.
    """
    groups: dict[tuple[object, ...], list[ProbeResult]] = {}
    for number, probe in enumerate(probes):
        is_alike = probe.outcome == "inconclusive"
        key = (probe.arm, probe.reason, accepted.get(probe.probe)) if is_alike else (number,)
        groups.setdefault(key, []).append(probe)
    return list(groups.values())


def names_of(probes: Sequence[ProbeResult]) -> str:
    """One by its number and title, several by their count and numbers."""
    first = probes[0]
    if len(probes) == 1:
        return f"{first.probe} {first.title}"
    return f"{len(probes)} probes, {', '.join(probe.probe for probe in probes)}"


def _unmapped(result: TargetResult) -> Iterator[Reason]:
    """A mapping by which the corpus knows no id of an attached index, before what that shows."""
    uids = [finding.uid for probe in result.probes for finding in probe.findings]
    controls = [probe for probe in result.probes if probe.outcome == "pass"]
    if is_none_known(uids) and not controls:
        yield LEAK, "leak", f"{result.target.label}: {NO_ID_IS_KNOWN}"


def _unprobed(result: TargetResult, *, complete: bool) -> Iterator[Reason]:
    """A target that failed, or of which nothing could be asked; one not begun is no such target."""
    label = result.target.label
    if result.failure is not None:
        is_absent = result.failure_kind == "absent" and not result.required
        remedy = f"; {result.remedy}" if result.remedy else ""
        text = f"{label}: not audited: {result.failure}{remedy}"
        yield PASSED if is_absent else BACKEND, "not measured", text
    elif not result.probes:
        if complete:
            text = f"{label}: nothing was probed: no chosen probe is asked in this mode"
            yield NOTHING, "not measured", text
    elif all(probe.outcome in {"not applicable", "not probed"} for probe in result.probes):
        reason = result.probes[0].reason
        yield NOTHING, "not measured", f"{label}: nothing was probed: {reason}"


def _of_probes(
    result: TargetResult,
    probes: Sequence[ProbeResult],
    fail_on: Severity,
    stop: int,
    accepted: Mapping[str, str],
) -> Reason | None:
    """What one probe, or several of one reason, do to the exit code."""
    label, probe = result.target.label, probes[0]
    seen = f"{names_of(probes)} ({probe.arm}): {probe.reason}"
    text = f"{label}: {seen}"
    if probe.outcome == "fail":
        if probe.severity == "critical":
            return LEAK, "leak", text
        told = f"{label}: {probe.leak_class}: {seen}"
        return (FAILED, "fail", told) if fails_audit(probe, fail_on) else None
    if probe.outcome != "inconclusive":
        return None
    if probe.probe in accepted:
        return PASSED, "inconclusive", f"{text}; accepted: {accepted[probe.probe]}"
    return stop, "inconclusive", text


def _cut_short(artifact: Artifact) -> Iterator[Reason]:
    some = any(result.probes for result in artifact.targets)
    if not artifact.complete:
        what = "not everything" if some else "nothing"
        yield INTERRUPTED, "interrupted", f"{what} was probed until then; run it again"
    elif not some:
        yield NOTHING, "not measured", "nothing was probed"
