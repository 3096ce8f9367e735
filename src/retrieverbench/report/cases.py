"""A report as single cases with an outcome each, as test reports and CI annotations want it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from retrieverbench.gate import fails_audit, leak_of
from retrieverbench.model import Artifact, ProbeResult, RuleResult, Severity, TargetResult
from retrieverbench.report.cells import safe
from retrieverbench.report.tables import headline

Status = Literal["passed", "failure", "error", "skipped"]
Level = Literal["error", "warning", "note"]

VERDICT = "verdict"
"""The suite of the one case that says how the whole ended, so that nothing ends green by gaps."""
LEVELS: dict[Severity, Level] = {
    "critical": "error",
    "high": "error",
    "medium": "warning",
    "low": "note",
    "info": "note",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One outcome. `suite` is a target's label.

    `message` says why it did not pass, or what was seen although it does.
    `failure` is a wrong behaviour that was seen, `error` a question without an answer that
    needed one, `skipped` one that needs none. `level` weighs what did not pass. `line` is a
    line of the suite file, 0 where none is known; `seconds` are None where no time is its own.
    """

    suite: str
    name: str
    status: Status
    message: str = ""
    level: Level = "error"
    line: int = 0
    seconds: float | None = None


def artifact_cases(artifact: Artifact) -> list[Case]:
    """Every case, target by target, and the verdict last."""
    of_target = _audit_cases if artifact.kind == "audit" else _run_cases
    cases = [case for result in artifact.targets for case in of_target(result, artifact)]
    return [*cases, *_vanished_cases(artifact), _verdict_case(artifact)]


def visible(text: str) -> str:
    """Foreign text in one line, control characters as escapes, no command of a CI runner."""
    return safe("".join(c if c.isprintable() else _escape(c) for c in text))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def excuse_of(probe: ProbeResult, artifact: Artifact) -> str | None:
    """Why an inconclusive probe needs no conclusion; None if it needs one."""
    verdict = artifact.verdict
    return verdict.excused.get(probe.probe) if verdict else None


def is_only_told(probe: ProbeResult, artifact: Artifact) -> bool:
    """Whether a probe failed that is not grave enough to fail the audit."""
    fail_on = artifact.verdict.fail_on if artifact.verdict else None
    return probe.outcome == "fail" and not fails_audit(probe, fail_on)


def place_of(probe: ProbeResult) -> str:
    """Where in its target a probe asked: `dense, guarded`."""
    return f"{probe.mode or 'every mode'}, {probe.arm}"


def _audit_cases(result: TargetResult, artifact: Artifact) -> Iterator[Case]:
    if result.failure is not None:
        yield _unmeasured(result, "audit")
    for probe in result.probes:
        status, message = _probe_status(probe, artifact)
        yield Case(
            suite=result.target.label,
            name=f"{probe.probe} {probe.title} ({place_of(probe)})",
            status=status,
            message=visible(message),
            level=_level(probe, status),
            line=result.line,
            seconds=probe.seconds,
        )


def _level(probe: ProbeResult, status: Status) -> Level:
    if status == "failure":
        return LEVELS[probe.severity]
    return "note" if status == "passed" else "warning"


def _probe_status(probe: ProbeResult, artifact: Artifact) -> tuple[Status, str]:
    if probe.outcome == "pass":
        return "passed", ""
    if probe.outcome == "fail":
        told = f"{probe.leak_class}, {probe.severity}: {probe.reason}"
        if is_only_told(probe, artifact):
            return "passed", f"failed, and is too slight to fail the audit: {told}"
        return "failure", told
    if probe.outcome == "inconclusive":
        excuse = excuse_of(probe, artifact)
        if excuse is None:
            return "error", f"inconclusive: {probe.reason}"
        return "skipped", f"inconclusive: {probe.reason}; accepted: {excuse}"
    return "skipped", f"{probe.outcome}: {probe.reason}"


def _run_cases(result: TargetResult, artifact: Artifact) -> Iterator[Case]:
    """The leak columns, and each rule that was evaluated on the target."""
    verdict = artifact.verdict
    excuse = verdict.excused.get("leaks") if verdict else None
    if result.scores is None:
        yield _unmeasured(result, "measured")
    if result.scores is not None or leak_of(result):
        yield _leaks_case(result, excuse)
    if result.leaks is not None and result.leaks.side_channel:
        told = visible(f"side channel, medium: {result.leaks.side_channel}")
        yield Case(result.target.label, "totals", "failure", told, "warning", result.line)
    for rule in verdict.rules if verdict else ():
        if rule.target == result.target.label:
            yield _rule_case(rule, result)


def _leaks_case(result: TargetResult, excuse: str | None) -> Case:
    label, leaks = result.target.label, result.leaks
    leak = leak_of(result)
    if leak is not None:
        return Case(label, "leaks", "failure", visible(leak), line=result.line)
    if leaks is not None and leaks.proof == "clean":
        return Case(label, "leaks", "passed", line=result.line)
    reason = "not checked" if leaks is None else f"{leaks.proof}: {leaks.reason}"
    if excuse is not None or (leaks is not None and leaks.proof == "not applicable"):
        reason = f"{reason}; accepted: {excuse}" if excuse else reason
        return Case(label, "leaks", "skipped", visible(reason), line=result.line)
    return Case(label, "leaks", "error", visible(reason), "warning", result.line)


def _rule_case(rule: RuleResult, result: TargetResult) -> Case:
    line = rule.line or result.line
    if rule.word == "pass":
        return Case(rule.target, rule.rule, "passed", line=line)
    status: Status = "failure" if rule.word in {"fail", "leak"} else "error"
    if rule.word == "not measured" and _needs_nothing(result):
        status = "skipped"
    level: Level = "error" if status == "failure" else "warning"
    return Case(rule.target, rule.rule, status, visible(f"{rule.word}: {rule.text}"), level, line)


def _vanished_cases(artifact: Artifact) -> Iterator[Case]:
    """Failed rules on targets that the run has no more."""
    labels = {result.target.label for result in artifact.targets}
    for rule in artifact.verdict.rules if artifact.verdict else ():
        if rule.target not in labels:
            text = visible(f"{rule.word}: {rule.text}")
            yield Case(rule.target, rule.rule, "failure", text, line=rule.line)


def _unmeasured(result: TargetResult, name: str) -> Case:
    status: Status = "skipped" if _needs_nothing(result) else "error"
    remedy = f"; {result.remedy}" if result.remedy else ""
    message = visible(f"not measured: {result.failure or 'no reason given'}{remedy}")
    return Case(result.target.label, name, status, message, line=result.line)


def _needs_nothing(result: TargetResult) -> bool:
    """Whether a target may be missing: nothing here can answer, and nobody required it."""
    return result.failure_kind == "absent" and not result.required


def _verdict_case(artifact: Artifact) -> Case:
    verdict = artifact.verdict
    if verdict is not None and verdict.exit_code == 0:
        return Case(VERDICT, "exit code", "passed")
    status: Status = "failure" if verdict and verdict.exit_code in {1, 4} else "error"
    reasons = verdict.reasons if verdict else ()
    message = "\n".join(visible(line) for line in (headline(artifact), *reasons))
    return Case(VERDICT, "exit code", status, message)
