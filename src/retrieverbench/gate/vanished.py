"""What an accepted baseline holds and the run has no more: nothing leaves the gate in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from shlex import quote

from retrieverbench.gate.compare import differences, refusal
from retrieverbench.gate.rules import applies_to
from retrieverbench.metrics import parse_metric
from retrieverbench.model import (
    Artifact,
    Baseline,
    Rule,
    RuleResult,
    Target,
    TargetResult,
    baseline_file,
)

VANISHED = "vanished"
"""The kind of these rows, which are of no rule of their own."""
WITH_BASELINE = frozenset({"baseline", "tolerance"})
"""The kinds of rules that compare with a baseline."""


def vanished(
    artifact: Artifact,
    rules: Sequence[Rule],
    baselines: Mapping[str, Baseline],
    folder: str = "baselines",
) -> Iterator[RuleResult]:
    """A failed row per target that is gone, and per target whose baseline holds more metrics.

    `baselines` are by target label, and lie in the `folder`, named so that it can be pasted. What
    the command line left out of this run has not gone, and nothing fails where no rule compares
    such a target with its baseline.
    """
    measured = {result.target.label: result for result in artifact.targets}
    for label, baseline in sorted(baselines.items()):
        rule = comparing(rules, baseline.target)
        if rule is None or is_left_out(baseline.target, artifact.command.only):
            continue
        if label not in measured:
            yield _row(rule, label, "target of a baseline", _gone(artifact.suite, label, folder))
        elif lost := _lost_metrics(measured[label], artifact, baseline):
            yield _row(rule, label, "metrics of the baseline", lost)


def comparing(rules: Sequence[Rule], target: Target) -> Rule | None:
    """The first rule that compares this target with its baseline; None if none does."""
    found = (rule for rule in rules if rule.kind in WITH_BASELINE and applies_to(rule, target))
    return next(found, None)


def is_left_out(target: Target, only: Collection[str]) -> bool:
    """Whether a run of `only` these entries leaves the target out; of none means of all."""
    return bool(only) and target.name not in only


def _gone(suite: str, label: str, folder: str) -> str:
    file = quote(f"{folder}/{baseline_file(suite, label)}")
    return (
        f"the suite has no such target any more, but an accepted run of it: bring it back or, if "
        f"it was given up on purpose, remove {file}"
    )


def _lost_metrics(result: TargetResult, artifact: Artifact, baseline: Baseline) -> str | None:
    """Which metrics the baseline has and the run lacks; None if none, or if it is not compared."""
    if result.scores is None or refusal(differences(result, artifact, baseline)) is not None:
        return None
    held = {name for case in baseline.cases.values() for name in case.values}
    lost = sorted(parse_metric(name).label for name in held - result.scores.cases.keys())
    if not lost:
        return None
    return f"not measured any more: {', '.join(lost)}; add to `metrics`, or accept a run without"


def _row(rule: Rule, label: str, name: str, reason: str) -> RuleResult:
    return RuleResult(name, VANISHED, label, "fail", reason, implied=True, line=rule.line)
