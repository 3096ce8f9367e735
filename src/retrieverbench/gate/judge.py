"""From findings to one word and one exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from retrieverbench.errors import Code
from retrieverbench.gate.evaluate import DEFAULT_COUNTERS, evaluate
from retrieverbench.gate.failures import unmeasured
from retrieverbench.gate.leaking import leak_of, leak_reasons
from retrieverbench.gate.rules import applies_to
from retrieverbench.gate.vanished import vanished
from retrieverbench.model import (
    Artifact,
    Baseline,
    Noise,
    Rule,
    RuleResult,
    Target,
    TargetResult,
    Verdict,
    Word,
)

PASSED, FAILED, REFUSED, BACKEND, LEAK, NOTHING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
_ORDER = (LEAK, INTERRUPTED, REFUSED, BACKEND, FAILED, NOTHING, PASSED)
TOLD_ONLY = 'the suite says [leaks] inconclusive = "warn"'
Reason = tuple[int, Word, str]
"""Exit code, word, text."""


def judge(
    artifact: Artifact,
    rules: Sequence[Rule],
    baselines: Mapping[str, Baseline],
    *,
    inconclusive_leaks: Literal["stop", "warn"] = "stop",
    refusals: Sequence[str] = (),
    folder: str = "baselines",
) -> Verdict:
    """Evaluate every rule on every target and choose the exit code.

    The first that holds wins: a leak (4); a run cut off by the user (130); rules or
    baselines that cannot be used (2); a backend that failed or a required target that is
    absent (3); a rule that fails, or a side channel that is not declared (1); nothing valid
    measured, or a clean result that is not proven (5); passed (0). The reasons name every kind
    that occurred. `baselines` are by target label, those of targets that the suite has no more
    among them, and lie in the `folder`; `refusals` say which of them could not be read.
    """
    results = evaluate_all(artifact, rules, baselines, folder)
    return conclude(artifact, results, inconclusive_leaks=inconclusive_leaks, refusals=refusals)


def conclude(
    artifact: Artifact,
    results: Sequence[RuleResult],
    *,
    inconclusive_leaks: Literal["stop", "warn"] = "stop",
    refusals: Sequence[str] = (),
) -> Verdict:
    """The verdict of rules that have been evaluated, as `judge` gives it."""
    found: list[Reason] = [
        *((LEAK, "leak", text) for result in artifact.targets for text in leak_reasons(result)),
        *((REFUSED, "refused", text) for text in refusals),
        *_of_rules(results),
        *_side_channels(artifact),
        *_backend_failures(artifact),
        *_nothing_valid(artifact),
        *_unproven(artifact, inconclusive_leaks),
    ]
    excused = {"leaks": TOLD_ONLY} if inconclusive_leaks == "warn" else {}
    return replace(settled(found, results), excused=excused)


def crashed(artifact: Artifact, why: str) -> Verdict:
    """The verdict of a run that the harness itself could not end or judge.

    Leaks that were seen count (4). Nothing else does (5): no rule is evaluated.
    """
    found: list[Reason] = [
        *((LEAK, "leak", text) for result in artifact.targets for text in leak_reasons(result)),
        (NOTHING, "not measured", why),
    ]
    return settled(found, ())


def settled(found: list[Reason], results: Sequence[RuleResult]) -> Verdict:
    """The verdict of all reasons: the gravest gives word and exit code."""
    found.sort(key=lambda reason: _ORDER.index(reason[0]))
    exit_code, word = (found[0][0], found[0][1]) if found else (PASSED, "pass")
    if exit_code == PASSED:
        word = "inconclusive" if any(w == "inconclusive" for _, w, _ in found) else "pass"
    return Verdict(
        word,
        exit_code,
        tuple(f"{word}: {text}" for _code, word, text in found),
        tuple(results),
        tuple(dict.fromkeys(word for _code, word, _text in found)),
    )


def evaluate_all(
    artifact: Artifact,
    rules: Sequence[Rule],
    baselines: Mapping[str, Baseline],
    folder: str = "baselines",
) -> list[RuleResult]:
    """Every rule on every target that it applies to, the implied ones included."""
    of_rules = [
        replace(evaluate(rule, result, artifact, baselines), implied=implied)
        for result in artifact.targets
        for part, implied in (
            (rules, False),
            (_always_on(artifact, rules, result.target), True),
        )
        for rule in part
        if applies_to(rule, result.target)
    ]
    return [*of_rules, *vanished(artifact, rules, baselines, folder)]


def _always_on(artifact: Artifact, rules: Sequence[Rule], target: Target) -> Iterator[Rule]:
    """Counters at 0 and must_pass, unless a rule for this target as a whole says otherwise."""
    own = [rule for rule in rules if applies_to(rule, target) and not rule.slice]
    named = {rule.counter for rule in own if rule.kind == "counter"}
    for name, limit in DEFAULT_COUNTERS.items():
        if name not in named:
            yield Rule(kind="counter", name=f"counter {name}", counter=name, value=limit)
    if artifact.golden.must_pass and not any(rule.kind == "must_pass" for rule in own):
        yield Rule(kind="must_pass", name="must_pass")


def _of_rules(results: Sequence[RuleResult]) -> Iterator[Reason]:
    """Rules that say no or make no sense; unanswered cases are the backend's failure."""
    for result in results:
        text = f"{result.rule} on {result.target}: {result.text}"
        if result.word == "refused":
            yield REFUSED, "refused", text
        elif result.word == "fail":
            of_backend = (result.counter or "").partition(":")[0] in {"errors", "missing"}
            yield BACKEND if of_backend else FAILED, "fail", text


def _side_channels(artifact: Artifact) -> Iterator[Reason]:
    """As in an audit, where a probe of severity medium fails by it: no chunk was shown."""
    for result in artifact.targets:
        if result.leaks is not None and result.leaks.side_channel:
            text = f"{result.target.label}: side channel: {result.leaks.side_channel}"
            yield FAILED, "fail", text


def _backend_failures(artifact: Artifact) -> Iterator[Reason]:
    # Where nothing else was measured, that something is absent is why.
    without = PASSED if any(result.scores for result in artifact.targets) else NOTHING
    for label, result in unmeasured(artifact):
        is_absent = result.failure_kind == "absent"
        code = without if is_absent and not result.required else BACKEND
        if result.results:  # answered, but not scored: no fault of the backend's
            code = NOTHING
        need = "required and " if result.required else ""
        why = f"{need}{'not measured' if is_absent else 'failed'}"
        yield code, "not measured", f"{label}: {why}: {result.failure or 'no reason given'}"
    for result in artifact.targets:
        yield from (
            (BACKEND, "not measured", text) for text in _failed_requests(result, artifact.noise)
        )


def _failed_requests(result: TargetResult, noise: Noise | None) -> Iterator[str]:
    """Timed requests that a measured target did not answer so, and settings that moved."""
    label = result.target.label
    again = noise.errors if noise and noise.target == label else {}
    passes = {"timed": result.timings.errors if result.timings else {}, "again timed": again}
    for word, found in passes.items():
        errors = {code: n for code, n in found.items() if code not in _judged_elsewhere(result)}
        if errors:
            counts = ", ".join(f"{count} {code}" for code, count in errors.items())
            yield f"{label}: {word} requests failed: {counts}"
    agreement = result.timings.agreement if result.timings else None
    if result.timings and agreement and not agreement.holds:
        yield f"{label}: times are void: {result.timings.void}"
    if result.late_failure:
        yield f"{label}: failed after it was measured: {result.late_failure}"
    if result.backend is not None and result.backend.settings_changed:
        changes = "; ".join(result.backend.settings_changed)
        yield f"{label}: settings changed during the run: {changes}"


def _judged_elsewhere(result: TargetResult) -> set[str]:
    """Codes of timed requests that another rule judges: leaks, and underfill by its rate.

    A target that filled its answers in the quality pass has no excuse for a wrong count.
    """
    codes = {Code.TENANT_VIOLATION.word}
    counters = result.scores.counters if result.scores else {}
    if result.target.mode != "lexical" and counters.get(f"underfill_rate@{result.depth}"):
        codes.add(Code.WRONG_COUNT.word)
    return codes


def _nothing_valid(artifact: Artifact) -> Iterator[Reason]:
    """No target, or one without a valid answer to an answerable case; a run that was cut off."""
    measured = [result for result in artifact.targets if result.scores is not None]
    if not measured:
        # Answers that came before an interrupt are not scored: whether any came is not told.
        none = "nothing valid was measured: no target gave an answer"
        yield NOTHING, "not measured", none if artifact.complete else "no target was scored"
    for result in measured:
        if not _has_valid_answer(result):
            text = "nothing valid was measured: no answerable case was answered"
            yield NOTHING, "not measured", f"{result.target.label}: {text}"
    if not artifact.complete:
        yield INTERRUPTED, "interrupted", "not everything was measured; run it again"


def _has_valid_answer(result: TargetResult) -> bool:
    assert result.scores is not None
    return any(
        value.value is not None
        for values in result.scores.cases.values()
        for value in values.values()
    )


def _unproven(artifact: Artifact, policy: Literal["stop", "warn"]) -> Iterator[Reason]:
    hint = '; [leaks] inconclusive = "warn" lets it pass'
    remedy = hint if policy == "stop" and artifact.complete else ""
    for result in artifact.targets:
        if result.scores is None or leak_of(result):
            continue
        reason = "not checked" if result.leaks is None else result.leaks.reason
        if result.leaks is None or result.leaks.proof == "inconclusive":
            code = NOTHING if policy == "stop" else PASSED
            text = f"{result.target.label}: a clean result is not proven: {reason}{remedy}"
            yield code, "inconclusive", text
