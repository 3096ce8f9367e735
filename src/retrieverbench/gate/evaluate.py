"""One rule on one target: pass, fail, refused or not measured, with the numbers it compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from retrieverbench.gate.against import baseline_mean
from retrieverbench.gate.compare import declared, differences, refusal
from retrieverbench.gate.reach import GUARD, limit_fault, loss_fault, reach, slice_fault
from retrieverbench.gate.rules import own_faults
from retrieverbench.gate.subjects import (
    canonical,
    counter_value,
    full_name,
    is_counter,
    is_lower_better,
)
from retrieverbench.gate.worst import fallen, worst
from retrieverbench.model import (
    Artifact,
    Baseline,
    CaseResult,
    CaseValue,
    Mean,
    Rule,
    RuleResult,
    Scores,
    TargetResult,
    Word,
)

DEFAULT_COUNTERS: Mapping[str, float] = {
    "errors": 0,
    "missing": 0,
    "out_of_order": 0,
    "duplicates": 0,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """The whole set or one slice of it; `cases` is None for the whole."""

    n: int
    means: Mapping[str, Mean]
    counters: Mapping[str, float | None]
    cases: Collection[str] | None


@dataclass(frozen=True, slots=True)
class _Observed:
    value: float | None
    n: int
    reason: str = ""


def evaluate(
    rule: Rule, result: TargetResult, artifact: Artifact, baselines: Mapping[str, Baseline]
) -> RuleResult:
    """Evaluate `rule` on one target; a rule that makes no sense is refused."""
    faults = list(own_faults(rule))
    if faults:
        return _result(rule, result, "refused", "; ".join(faults))
    scores = result.scores
    if scores is None:
        return _result(rule, result, "not measured", result.failure or "nothing was measured")
    if rule.kind == "must_pass":
        return _must_pass(rule, result, scores, artifact)
    part = _part(rule, scores)
    if isinstance(part, str):
        return _result(rule, result, "refused", part)
    observed = _observe(rule, scores, part)
    if observed.value is None:
        return _result(rule, result, "fail", observed.reason, observed=observed)
    if rule.kind in {"minimum", "maximum", "counter"}:
        name = full_name(canonical(rule.metric or rule.counter or ""), scores)
        golden = artifact.golden if part.cases is None else None
        fault = limit_fault(rule, *reach(name, golden, part.n, result.depth))
        if fault is not None:
            return _result(rule, result, "refused", fault, observed=observed)
        bound = _bound(rule, result, observed)
        if bound.word == "pass":
            return bound
        return replace(bound, details=worst(name, scores, part.cases))
    return _against_baseline(rule, result, observed, part, artifact, baselines)


def _part(rule: Rule, scores: Scores) -> _Part | str:
    """What the rule looks at, or why that cannot carry a rule."""
    if not rule.slice:
        n = int(scores.counters.get("cases") or 0)
        return _Part(n, scores.means, scores.counters, None)
    field, value = next(iter(rule.slice.items()))
    of_field = {part.value: part for part in scores.slices if part.field == field}
    found = of_field.get(value)
    if fault := slice_fault(field, value, found.n if found else 0, of_field):
        return fault
    assert found is not None
    return _Part(found.n, found.means, found.counters, found.cases)


def _observe(rule: Rule, scores: Scores, part: _Part) -> _Observed:
    name = canonical(rule.metric or rule.counter or "")
    if is_counter(name):
        try:
            value = counter_value(name, scores, part.counters)
        except KeyError:
            return _Observed(None, part.n, f"{name} is not among the counters")
        reason = f"{name} is undefined: no case could show it" if value is None else ""
        return _Observed(value, part.n, reason)
    mean = part.means.get(full_name(name, scores))
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
    below = rule.kind == "minimum"
    holds = value >= limit - GUARD if below else value <= limit + GUARD
    subject = rule.metric or rule.counter or ""
    reason = f"{subject} {value:.6g} {'<' if below else '>'} {limit:g}"
    if rule.kind == "counter":
        reason += _first_failure(subject, result)
    word: Word = "pass" if holds else "fail"
    return _result(rule, result, word, "" if holds else reason, observed=observed, limit=limit)


def _against_baseline(
    rule: Rule,
    result: TargetResult,
    observed: _Observed,
    part: _Part,
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
    why_not = refusal(differing)
    if why_not is not None:
        return _result(rule, result, "refused", why_not, observed=observed)
    name = canonical(rule.metric or "")
    then = baseline_mean(name, baseline, result, part.cases)
    if isinstance(then, str):
        return _result(rule, result, "refused", then, observed=observed)
    compared = against_mean(_result(rule, result, "pass", "", observed=observed), rule, then)
    details = declared(differing)
    if compared.word == "fail" and result.scores is not None:
        details += fallen(name, result.scores, baseline, part.cases)
    return replace(compared, details=details)


def against_mean(result: RuleResult, rule: Rule, then: float) -> RuleResult:
    """The rule's result once what it observed is compared with a baseline's mean.

    A rule is refused where nothing worse than it tolerates is possible.
    """
    tolerance = rule.tolerance or 0.0
    value = result.observed
    assert value is not None
    name = canonical(rule.metric or "")
    lower = is_lower_better(name)
    sign = -1.0 if lower else 1.0
    limit = then - sign * tolerance
    fault = loss_fault(rule, then, *reach(name), lower=lower)
    if fault is not None:
        return replace(result, word="refused", reason=fault, limit=limit, baseline=then)
    holds = sign * (value - then) >= -tolerance - GUARD
    reason = f"{rule.metric} {value:.6g}, baseline {then:.6g}, tolerance {tolerance:g}"
    return replace(
        result,
        word="pass" if holds else "fail",
        reason="" if holds else reason,
        limit=limit,
        baseline=then,
    )


def _first_failure(counter: str, result: TargetResult) -> str:
    """The first unanswered case in the backend's own words, for the counters of failures."""
    failed = [case for case in result.results if case.status != "ok"]
    if counter.partition(":")[0] not in {"errors", "missing"} or not failed:
        return ""
    first = failed[0]
    return f"; first: case {first.case_id!r}: {first.code or first.status}: {first.message or ''}"


def _must_pass(rule: Rule, result: TargetResult, scores: Scores, artifact: Artifact) -> RuleResult:
    marked = artifact.golden.must_pass
    if not marked:
        return _result(rule, result, "refused", "no case of the golden set is marked must_pass")
    values = scores.cases.get(full_name(f"hit@{result.depth}", scores))
    if values is None:
        return _result(rule, result, "fail", f"hit@{result.depth} is not among the scores")
    results = {case.case_id: case for case in result.results}
    broken = [
        f"{case} ({why})"
        for case in marked
        if (why := _why_not(results.get(case), values.get(case))) is not None
    ]
    more = f" and {len(broken) - 10} more" if len(broken) > 10 else ""
    return _result(
        rule,
        result,
        "fail" if broken else "pass",
        f"at {result.depth}: {', '.join(broken[:10])}{more}" if broken else "",
        observed=_Observed(float(len(broken)), len(marked)),
        limit=0.0,
    )


def _why_not(result: CaseResult | None, value: CaseValue | None) -> str | None:
    """Why a case that must pass did not; None if it did."""
    if result is None or value is None:
        return "missing"
    if result.status != "ok":
        return f"{result.status}:{result.code}" if result.code else result.status
    if value.reason == "unanswerable":
        return "answered although unanswerable" if result.hits else None
    return None if value.value == 1.0 else value.reason or "missed"


def _result(
    rule: Rule,
    result: TargetResult,
    word: Word,
    reason: str,
    *,
    observed: _Observed | None = None,
    limit: float | None = None,
) -> RuleResult:
    return RuleResult(
        rule=rule.name,
        kind=rule.kind,
        target=result.target.label,
        word=word,
        reason=reason,
        metric=rule.metric,
        counter=rule.counter,
        observed=observed.value if observed else None,
        limit=limit,
        n=observed.n if observed else None,
        line=rule.line,
    )
