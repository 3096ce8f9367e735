"""From the outcomes of probes to one word and one exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from retrieverbench.model import SEVERITIES, Artifact, ProbeResult, Severity, TargetResult, Verdict


def judge_audit(
    artifact: Artifact,
    *,
    fail_on: Severity = "high",
    inconclusive: Literal["stop", "warn"] = "stop",
    accepted: Mapping[str, str] | None = None,
) -> Verdict:
    """Any finding and any failure of a critical probe is exit 4, whatever else is set.

    A failure of a severity down to `fail_on` is exit 1. A target that failed or is absent
    though required is exit 3. A probe without a conclusion is exit 5, or only told when
    `inconclusive` is `warn` or `accepted` gives a reason under the probe's id.
    """
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    stop = NOTHING if inconclusive == "stop" else PASSED
    verdict = settled(
        [
            *(reason for result in artifact.targets for reason in _unprobed(result)),
            *(
                reason
                for result in artifact.targets
                for probe in result.probes
                if (reason := _of_probe(result, probe, failing, stop, accepted or {}))
            ),
            *_cut_short(artifact),
        ],
        (),
    )
    every = dict.fromkeys(
        (probe.probe for result in artifact.targets for probe in result.probes), TOLD_ONLY
    )
    tolerated = every if inconclusive == "warn" else {}
    return replace(verdict, excused={**tolerated, **(accepted or {})})


def _unprobed(result: TargetResult) -> Iterator[Reason]:
    """A target that failed, or of which nothing could be asked."""
    label = result.target.label
    if result.failure is not None:
        is_absent = result.failure_kind == "absent" and not result.required
        remedy = f"; {result.remedy}" if result.remedy else ""
        text = f"{label}: not audited: {result.failure}{remedy}"
        yield PASSED if is_absent else BACKEND, "not measured", text
    elif all(probe.outcome == "not applicable" for probe in result.probes):
        reason = next((probe.reason for probe in result.probes), "no probe makes sense here")
        yield NOTHING, "not measured", f"{label}: nothing was probed: {reason}"


def _of_probe(
    result: TargetResult,
    probe: ProbeResult,
    failing: Sequence[Severity],
    stop: int,
    accepted: Mapping[str, str],
) -> Reason | None:
    label = result.target.label
    text = f"{label}: {probe.probe} {probe.title} ({probe.arm}): {probe.reason}"
    if probe.outcome == "fail":
        if probe.severity == "critical":
            return LEAK, "leak", text
        return (FAILED, "fail", text) if probe.severity in failing else None
    if probe.outcome != "inconclusive":
        return None
    if probe.probe in accepted:
        return PASSED, "inconclusive", f"{text}; accepted: {accepted[probe.probe]}"
    return stop, "inconclusive", text


def _cut_short(artifact: Artifact) -> Iterator[Reason]:
    if not any(result.probes for result in artifact.targets):
        yield NOTHING, "not measured", "nothing was probed"
    if not artifact.complete:
        yield INTERRUPTED, "interrupted", "not everything was probed; run it again"
