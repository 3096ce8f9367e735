"""The verdict, made again of the artifact by the suite's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.gate import VANISHED, WITH_BASELINE, against_mean, conclude, evaluate_all
from retrieverbench.job.verification.differences import Fault, by_name, compare, fields_of
from retrieverbench.model import Artifact, Baseline, Rule, RuleResult, Verdict
from retrieverbench.run import Suite

_REFUSED = "refused: "


def verdict_faults(
    artifact: Artifact, printed: Verdict, suite: Suite, baselines: Mapping[str, Baseline]
) -> Iterator[Fault]:
    """The first way in which the verdict is not what rules and numbers give.

    Which baselines the run found is taken from it, for they may have been replaced since: the
    mean of each, and which of them could not be read. What follows from them is made again.
    """
    rules = suite.gate_rules()
    then = {(result.rule, result.target): result for result in printed.rules}
    by_name = {rule.name: rule for rule in rules}
    results = [
        _as_then(now, then.get((now.rule, now.target)), by_name)
        for now in evaluate_all(artifact, rules, baselines)
        if now.kind != VANISHED
    ]
    results += [_as_a_failure(row) for row in printed.rules if row.kind == VANISHED]
    again = conclude(
        artifact,
        results,
        inconclusive_leaks=suite.leaks.inconclusive,
        refusals=_unreadable(printed, results),
    )
    yield from compare("verdict", _by_rule(printed), _by_rule(again), "judged again")


def _as_then(now: RuleResult, then: RuleResult | None, rules: Mapping[str, Rule]) -> RuleResult:
    """A rule's result with the baseline that it was compared with in the run."""
    if then is None or now.kind not in WITH_BASELINE or now.observed is None:
        return now
    if then.baseline is not None:
        again = against_mean(now, rules[now.rule], then.baseline)
        return replace(again, details=then.details)  # of the baseline's cases and settings
    refused = replace(now, word="refused", limit=None, baseline=None)
    return replace(refused, reason=then.reason or now.reason or "a reason")


def _as_a_failure(row: RuleResult) -> RuleResult:
    """A row of what the baselines of then held and the run lacks, which can only fail."""
    return RuleResult(
        row.rule, VANISHED, row.target, "fail", row.reason, implied=True, line=row.line
    )


def _unreadable(printed: Verdict, results: Sequence[RuleResult]) -> list[str]:
    """Refusals of baselines that could not be read: the reasons that are of no rule."""
    of_rules = {f"{result.rule} on {result.target}: {result.text}" for result in results}
    told = [text.removeprefix(_REFUSED) for text in printed.reasons if text.startswith(_REFUSED)]
    return [text for text in told if text not in of_rules]


def _by_rule(verdict: Verdict) -> dict[str, object]:
    """A verdict as JSON holds it, its rules by what they are on."""
    told = fields_of(verdict)
    told["rules"] = by_name([fields_of(rule) for rule in verdict.rules], ["rule", "target"])
    return told
