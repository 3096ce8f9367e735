"""From the outcomes of probes to one word and one exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from retrieverbench.gate.judge import BACKEND, FAILED, INTERRUPTED, LEAK, NOTHING, Reason, settled
from retrieverbench.model import SEVERITIES, Artifact, ProbeResult, Severity, Verdict


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
    return settled(list(_reasons(artifact, fail_on, inconclusive, accepted or {})), ())


def _reasons(
    artifact: Artifact,
    fail_on: Severity,
    inconclusive: Literal["stop", "warn"],
    accepted: Mapping[str, str],
) -> Iterator[Reason]:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    for result in artifact.targets:
        if result.failure is not None:
            is_absent = result.failure_kind == "absent" and not result.required
            remedy = f"; {result.remedy}" if result.remedy else ""
            text = f"{result.target.label}: not audited: {result.failure}{remedy}"
            yield 0 if is_absent else BACKEND, "not measured", text
        for probe in result.probes:
            text = _text(result.target.label, probe)
            if probe.outcome == "fail" and probe.severity == "critical":
                yield LEAK, "leak", text
            elif probe.outcome == "fail" and probe.severity in failing:
                yield FAILED, "fail", text
            elif probe.outcome == "inconclusive" and probe.probe in accepted:
                yield 0, "inconclusive", f"{text}; accepted: {accepted[probe.probe]}"
            elif probe.outcome == "inconclusive":
                yield NOTHING if inconclusive == "stop" else 0, "inconclusive", text
        if result.failure is None and not any(p.outcome != "not applicable" for p in result.probes):
            reason = next((p.reason for p in result.probes), "no probe makes sense here")
            yield NOTHING, "not measured", f"{result.target.label}: nothing was probed: {reason}"
    if not any(result.probes for result in artifact.targets):
        yield NOTHING, "not measured", "nothing was probed"
    if not artifact.complete:
        yield INTERRUPTED, "interrupted", "not everything was probed; run it again"


def _text(label: str, probe: ProbeResult) -> str:
    return f"{label}: {probe.probe} {probe.title} ({probe.arm}): {probe.reason}"
