"""One rule on one target: pass, fail, refused or not measured, with the numbers it compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from retrieverbench.gate.compare import differences
from retrieverbench.gate.rules import canonical
from retrieverbench.metrics import lower_is_better
from retrieverbench.model import Artifact, Baseline, Rule, RuleResult, Scores, TargetResult, Word

GUARD = 1e-9
"""Comparisons of points favour passing by this much, and round nothing."""

MIN_SLICE = 5
DEFAULT_COUNTERS: Mapping[str, float] = {
    "errors": 0,
    "missing": 0,
    "out_of_order": 0,
    "duplicates": 0,
}


@dataclass(frozen=True, slots=True)
class _Observed:
    value: float | None
    n: int
    reason: str = ""


def evaluate(
    rule: Rule, result: TargetResult, artifact: Artifact, baselines: Mapping[str, Baseline]
) -> RuleResult:
    """Evaluate `rule` on a target that was measured."""
    scores = result.scores
    if scores is None:
        return _result(rule, result, "not measured", result.failure or "nothing was measured")
    if rule.kind == "counter":
        return _counter(rule, result, scores)
    if rule.kind == "must_pass":
        return _must_pass(rule, result, scores, artifact)
    observed = _observe(rule, scores)
    if observed.value is None:
        return _result(rule, result, "fail", observed.reason, observed=observed)
    if rule.kind in {"minimum", "maximum"}:
        return _bound(rule, result, observed)
    return _against_baseline(rule, result, observed, artifact, baselines)


def _observe(rule: Rule, scores: Scores) -> _Observed:
    name = canonical(rule)
    means = scores.means
    if rule.slice:
        field, value = next(iter(rule.slice.items()))
        found = [s for s in scores.slices if s.field == field and s.value == value]
        if not found or found[0].n < MIN_SLICE:
            size = found[0].n if found else 0
            return _Observed(
                None, size, f"slice {field}={value} has {size} cases; needs {MIN_SLICE}"
            )
        means = found[0].means
    mean = means.get(name)
    if mean is None:
        return _Observed(None, 0, f"{name} is not among the scores")
    if mean.value is None:
        return _Observed(None, mean.n, f"{name} has no mean: no case gave a value")
    return _Observed(mean.value, mean.n)


def _bound(rule: Rule, result: TargetResult, observed: _Observed) -> RuleResult:
    limit = rule.value
    value = observed.value
    assert limit is not None
    assert value is not None
    holds = value >= limit - GUARD if rule.kind == "minimum" else value <= limit + GUARD
    sign = "<" if rule.kind == "minimum" else ">"
    reason = "" if holds else f"{value:.4f} {sign} {limit:g}"
    return _result(
        rule, result, "pass" if holds else "fail", reason, observed=observed, limit=limit
    )


def _against_baseline(
    rule: Rule,
    result: TargetResult,
    observed: _Observed,
    artifact: Artifact,
    baselines: Mapping[str, Baseline],
) -> RuleResult:
    label = result.target.label
    baseline = baselines.get(label)
    if baseline is None:
        reason = (
            f"no baseline for {artifact.suite}/{label}; review the report, "
            "then: retrieverbench baseline accept <this run's .json>"
        )
        return _result(rule, result, "refused", reason, observed=observed)
    differing = differences(result, artifact, baseline)
    if differing:
        reason = f"not comparable with the baseline: {'; '.join(differing)}"
        return _result(rule, result, "refused", reason, observed=observed)
    then = _baseline_mean(baseline, canonical(rule))
    if then is None:
        reason = f"the baseline holds no {canonical(rule)}; accept a run that does"
        return _result(rule, result, "refused", reason, observed=observed)
    tolerance = rule.tolerance or 0.0
    value = observed.value
    assert value is not None
    sign = -1.0 if lower_is_better(canonical(rule)) else 1.0
    holds = sign * (value - then) >= -tolerance - GUARD
    reason = "" if holds else f"{value:.4f} against baseline {then:.4f}, tolerance {tolerance:g}"
    return _result(
        rule,
        result,
        "pass" if holds else "fail",
        reason,
        observed=observed,
        limit=then - sign * tolerance,
        baseline=then,
    )


def _baseline_mean(baseline: Baseline, metric: str) -> float | None:
    """Recomputed from the per-case values with a correctly rounded sum, failures as 0."""
    values = []
    for case in baseline.cases.values():
        value = case.values.get(metric)
        if value is not None:
            values.append(value)
    return math.fsum(values) / len(values) if values else None


def _counter(rule: Rule, result: TargetResult, scores: Scores) -> RuleResult:
    name = rule.counter or ""
    value = scores.counters.get(name)
    limit = rule.value if rule.value is not None else 0.0
    if name not in scores.counters:
        return _result(rule, result, "fail", f"{name} is not among the counters")
    if value is None:
        return _result(rule, result, "not measured", f"{name} is undefined here", limit=limit)
    holds = value <= limit + GUARD
    reason = "" if holds else f"{name} {value:g} > {limit:g}{_first_failure(name, result)}"
    observed = _Observed(value, len(result.results))
    return _result(
        rule, result, "pass" if holds else "fail", reason, observed=observed, limit=limit
    )


def _first_failure(counter: str, result: TargetResult) -> str:
    """The first unanswered case in the backend's own words, for the counters of failures."""
    failed = [case for case in result.results if case.status != "ok"]
    if counter not in {"errors", "missing"} or not failed:
        return ""
    return f"; first: case {failed[0].case_id!r}: {failed[0].code}: {failed[0].message}"


def _must_pass(rule: Rule, result: TargetResult, scores: Scores, artifact: Artifact) -> RuleResult:
    name = f"hit@{result.depth}"
    values = scores.cases.get(name, {})
    missed = [case for case in artifact.golden.must_pass if not _hit(values.get(case))]
    reason = f"missed at {result.depth}: {', '.join(missed[:10])}" if missed else ""
    return _result(
        rule,
        result,
        "fail" if missed else "pass",
        reason,
        observed=_Observed(float(len(missed)), len(artifact.golden.must_pass)),
        limit=0.0,
    )


def _hit(value: object) -> bool:
    return getattr(value, "value", None) == 1.0


def _result(
    rule: Rule,
    result: TargetResult,
    word: Word,
    reason: str,
    *,
    observed: _Observed | None = None,
    limit: float | None = None,
    baseline: float | None = None,
) -> RuleResult:
    return RuleResult(
        rule=rule.name,
        kind=rule.kind,
        target=result.target.label,
        word=word,
        reason=reason,
        metric=rule.metric and canonical(rule),
        counter=rule.counter,
        observed=observed.value if observed else None,
        limit=limit,
        baseline=baseline,
        n=observed.n if observed else None,
    )
