"""From findings to one word and one exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from retrieverbench.gate.evaluate import DEFAULT_COUNTERS, evaluate
from retrieverbench.gate.rules import applies_to
from retrieverbench.model import (
    Artifact,
    Baseline,
    LeakCheck,
    Rule,
    RuleResult,
    TargetResult,
    Verdict,
    Word,
)

PASSED, FAILED, REFUSED, BACKEND, LEAK, NOTHING = 0, 1, 2, 3, 4, 5
_HARMLESS = frozenset({"wrong_count", "tenant_violation"})
"""Codes of timed requests that are judged elsewhere: underfill by its rate, leaks as leaks."""


def judge(
    artifact: Artifact,
    rules: Sequence[Rule],
    baselines: Mapping[str, Baseline],
    *,
    inconclusive_leaks: Literal["stop", "warn"] = "stop",
) -> Verdict:
    """Evaluate every rule on every target and choose the exit code.

    The first that holds wins: a leak (4); rules or baselines that cannot be used (2); a
    backend that failed or a required target that is absent (3); a rule that fails (1);
    nothing valid measured, or a clean result that is not proven (5); passed (0). The
    reasons name every kind that occurred. `baselines` are by target label.
    """
    results = _evaluate_all(artifact, rules, baselines)
    found: list[tuple[int, Word, str]] = [
        *_leaks(artifact),
        *_refusals(results),
        *_backend_failures(artifact),
        *_failures(results),
        *_nothing_valid(artifact),
        *_unproven(artifact, inconclusive_leaks),
    ]
    order = {LEAK: 0, REFUSED: 1, BACKEND: 2, FAILED: 3, NOTHING: 4, PASSED: 5}
    found.sort(key=lambda entry: order[entry[0]])
    exit_code, word = (found[0][0], found[0][1]) if found else (PASSED, "pass")
    return Verdict(word, exit_code, tuple(text for _code, _word, text in found), tuple(results))


def _evaluate_all(
    artifact: Artifact, rules: Sequence[Rule], baselines: Mapping[str, Baseline]
) -> list[RuleResult]:
    given = [*rules, *_always_on(artifact, rules)]
    return [
        evaluate(rule, result, artifact, baselines)
        for result in artifact.targets
        for rule in given
        if applies_to(rule, result.target)
    ]


def _always_on(artifact: Artifact, rules: Sequence[Rule]) -> list[Rule]:
    """Counters at 0 unless a rule of the suite says otherwise; must_pass if a case is marked."""
    named = {rule.counter for rule in rules if rule.kind == "counter"}
    extra = [
        Rule(kind="counter", name=f"counter {name}", counter=name, value=limit)
        for name, limit in DEFAULT_COUNTERS.items()
        if name not in named
    ]
    if artifact.golden.must_pass and not any(rule.kind == "must_pass" for rule in rules):
        extra.append(Rule(kind="must_pass", name="must_pass"))
    return extra


def _leaks(artifact: Artifact) -> list[tuple[int, Word, str]]:
    return [
        (LEAK, "leak", _leak_text(result.target.label, result.leaks))
        for result in artifact.targets
        if result.leaks is not None and result.leaks.proof == "leak"
    ]


def _leak_text(label: str, leaks: LeakCheck) -> str:
    first = leaks.findings[0]
    owner = f"belongs to {first.owner!r}" if first.owner else "is in no ledger"
    return (
        f"{label}: {leaks.foreign} foreign and {leaks.unknown} unknown chunks; first: case "
        f"{first.case_id!r} of {first.tenant!r} got {first.uid!r} at rank {first.rank}, "
        f"which {owner}"
    )


def _refusals(results: Sequence[RuleResult]) -> list[tuple[int, Word, str]]:
    texts = dict.fromkeys(
        f"{result.rule} on {result.target}: {result.reason}"
        for result in results
        if result.word == "refused"
    )
    return [(REFUSED, "refused", text) for text in texts]


def _backend_failures(artifact: Artifact) -> list[tuple[int, Word, str]]:
    reasons: list[tuple[int, Word, str]] = []
    for result in artifact.targets:
        if result.failure_kind == "failed" or (result.failure_kind and result.required):
            why = "required and not measured" if result.failure_kind == "absent" else "failed"
            reasons.append(
                (BACKEND, "not measured", f"{result.target.label}: {why}: {result.failure}")
            )
        reasons += [(BACKEND, "not measured", text) for text in _failed_requests(result)]
    return reasons


def _failed_requests(result: TargetResult) -> list[str]:
    """Timed requests that a measured target did not answer, and settings that moved."""
    texts = []
    errors = {
        code: count
        for code, count in (result.timings.errors if result.timings else {}).items()
        if code not in _HARMLESS
    }
    if errors:
        words = ", ".join(f"{count} {code}" for code, count in errors.items())
        texts.append(f"{result.target.label}: timed requests failed: {words}")
    if result.backend is not None and result.backend.settings_changed:
        changes = "; ".join(result.backend.settings_changed)
        texts.append(f"{result.target.label}: settings changed during the run: {changes}")
    return texts


def _failures(results: Sequence[RuleResult]) -> list[tuple[int, Word, str]]:
    """Rules that say no; unanswered cases are the backend's failure, not the quality's."""
    return [
        (
            BACKEND if result.counter in {"errors", "missing"} else FAILED,
            "fail",
            f"{result.rule} on {result.target}: {result.reason}",
        )
        for result in results
        if result.word == "fail"
    ]


def _nothing_valid(artifact: Artifact) -> list[tuple[int, Word, str]]:
    answered = any(case.status == "ok" for result in artifact.targets for case in result.results)
    if answered:
        return []
    return [(NOTHING, "not measured", "nothing valid was measured: no case was answered")]


def _unproven(artifact: Artifact, policy: Literal["stop", "warn"]) -> list[tuple[int, Word, str]]:
    return [
        (
            NOTHING if policy == "stop" else PASSED,
            "inconclusive",
            f"{result.target.label}: a clean result is not proven: {result.leaks.reason}",
        )
        for result in artifact.targets
        if result.leaks is not None and result.leaks.proof == "inconclusive"
    ]
