"""Each kind of rule on one target, with the numbers it compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieverbench.gate.evaluate import evaluate
from retrieverbench.model import (
    Artifact,
    Baseline,
    CaseResult,
    Mean,
    Rule,
    RuleResult,
    TargetResult,
)

MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]
BaselineOf = Callable[..., Baseline]
LABEL = "fake/lexical/filter"
MISS = ["x1", "x2"]


def rule(kind: Any, **fields: Any) -> Rule:
    return Rule(kind=kind, name="r", **fields)


def with_mean(result: TargetResult, metric: str, value: float) -> TargetResult:
    """The same target with another mean, as arithmetic on doubles would give it."""
    assert result.scores is not None
    means = {**result.scores.means, metric: Mean(value, 11)}
    return replace(result, scores=replace(result.scores, means=means))


def counter(result: TargetResult, name: str, value: float | None) -> TargetResult:
    assert result.scores is not None
    counters = {**result.scores.counters, name: value}
    return replace(result, scores=replace(result.scores, counters=counters))


def judged(made: Rule, artifact: Artifact, baseline: Baseline | None = None) -> RuleResult:
    return evaluate(made, artifact.targets[0], artifact, {LABEL: baseline} if baseline else {})


@pytest.mark.parametrize(
    ("kind", "value", "limit", "word"),
    [
        ("minimum", 0.5, 0.5, "pass"),
        ("minimum", 0.5 - 1e-10, 0.5, "pass"),
        ("minimum", 0.5 - 1e-8, 0.5, "fail"),
        ("minimum", 0.1 + 0.2, 0.3, "pass"),
        ("maximum", 0.1 + 0.2, 0.3, "pass"),
        ("maximum", 0.3 + 1e-8, 0.3, "fail"),
    ],
)
def test_bounds_have_a_guard_and_no_rounding(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    kind: str,
    value: float,
    limit: float,
    word: str,
) -> None:
    artifact = make_artifact(with_mean(make_result(), "recall@3", value))
    found = judged(rule(kind, metric="Recall@3", value=limit), artifact)
    assert (found.word, found.observed, found.limit) == (word, value, limit)
    assert bool(found.reason) is (word == "fail")


@pytest.mark.parametrize(
    ("then", "now", "tolerance", "word"),
    [
        (0.28, 0.25, 0.03, "pass"),
        (0.04, 0.01, 0.03, "pass"),
        (0.28, 0.25 - 1e-8, 0.03, "fail"),
        (0.5, 0.5 - 1e-10, 0.0, "pass"),
        (0.5, 0.5 - 1e-8, 0.0, "fail"),
        (0.5, 0.9, 0.0, "pass"),
    ],
)
def test_tolerance_vectors(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    baseline_of: BaselineOf,
    then: float,
    now: float,
    tolerance: float,
    word: str,
) -> None:
    """Each of the pairs that doubles alone would judge by the form of the formula."""
    artifact = make_artifact(with_mean(make_result(), "recall@3", now))
    baseline = baseline_of(artifact)
    values = {
        key: replace(case, values={**case.values, "recall@3": then})
        for key, case in baseline.cases.items()
        if case.values["recall@3"] is not None
    }
    baseline = replace(baseline, cases={**baseline.cases, **values})
    found = judged(rule("tolerance", metric="Recall@3", tolerance=tolerance), artifact, baseline)
    assert found.word == word
    assert found.baseline == pytest.approx(then, abs=1e-15)
    assert found.limit == pytest.approx(then - tolerance)


def test_identical_run_passes_zero_tolerance(
    make_result: MakeResult, make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    artifact = make_artifact(
        make_result({"c1": MISS, "c2": ["x1", "d2"], "c3": ["x1", "x2", "d3"]})
    )
    for metric in ("ndcg@3", "recall@3", "hit@3"):
        found = judged(rule("baseline", metric=metric), artifact, baseline_of(artifact))
        assert (found.word, found.observed) == ("pass", found.baseline)


def test_worse_run_fails_the_baseline_and_names_both_numbers(
    make_result: MakeResult, make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    baseline = baseline_of(make_artifact())
    artifact = make_artifact(make_result({"c1": MISS}))
    found = judged(rule("baseline", metric="Recall@3"), artifact, baseline)
    assert found.word == "fail"
    assert found.reason == "Recall@3 0.909091, baseline 1, tolerance 0"
    allowed = rule("tolerance", metric="Recall@3", tolerance=0.1)
    assert judged(allowed, artifact, baseline).word == "pass"


@pytest.mark.parametrize(
    ("then", "now", "tolerance", "word"),
    [(0.1, 0.2, 0.05, "fail"), (0.1, 0.15, 0.05, "pass"), (0.2, 0.1, 0.0, "pass")],
)
def test_lower_is_better(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    baseline_of: BaselineOf,
    then: float,
    now: float,
    tolerance: float,
    word: str,
) -> None:
    baseline = baseline_of(make_artifact(counter(make_result(), "forbidden_rate@3", then)))
    artifact = make_artifact(counter(make_result(), "forbidden_rate@3", now))
    made = rule("tolerance", metric="forbidden_rate@3", tolerance=tolerance)
    found = judged(made, artifact, baseline)
    assert (found.word, found.observed, found.baseline) == (word, now, then)


def test_baseline_of_a_slice_is_taken_over_its_cases(
    make_result: MakeResult, make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    """Globex got worse and acme better: the whole is equal, the slice is not."""
    baseline = baseline_of(make_artifact(make_result({"c1": MISS})))
    artifact = make_artifact(make_result({"c7": MISS}))
    made = rule("baseline", metric="Recall@3")
    assert judged(made, artifact, baseline).word == "pass"
    found = judged(replace(made, slice={"tenant": "globex"}), artifact, baseline)
    assert (found.word, found.observed, found.baseline) == ("fail", 0.8, 1.0)
    found = judged(replace(made, slice={"tenant": "acme"}), artifact, baseline)
    assert (found.word, found.observed) == ("pass", 1.0)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"tenant": "initech"}, "has no cases; known: acme, globex"),
        ({"category": "x"}, "has no cases; known: none"),
        ({"kind": "rare"}, "slice kind=rare has 2 cases; a rule needs 5"),
    ],
)
def test_empty_and_small_slices_are_refused(
    make_result: MakeResult, make_artifact: MakeArtifact, part: dict[str, str], reason: str
) -> None:
    result = make_result()
    assert result.scores is not None
    small = replace(result.scores.slices[0], field="kind", value="rare", n=2)
    result = replace(result, scores=replace(result.scores, slices=(*result.scores.slices, small)))
    found = judged(rule("minimum", metric="MRR", value=0.1, slice=part), make_artifact(result))
    assert found.word == "refused"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("mrr", "mrr is not among the scores"),
        ("forbidden_rate@7", "forbidden_rate@7 is not among the counters"),
    ],
)
def test_metric_that_scores_lack_is_a_fail(
    make_artifact: MakeArtifact, metric: str, reason: str
) -> None:
    found = judged(rule("minimum", metric=metric, value=0.1), make_artifact())
    assert (found.word, found.reason, found.observed) == ("fail", reason, None)


def test_undefined_mean_and_counter_fail(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    down = {f"c{n}": CaseResult(f"c{n}", "error", (), "connect", "down") for n in range(12)}
    artifact = make_artifact(make_result(broken=down))
    found = judged(rule("minimum", metric="Recall@3", value=0.1), artifact)
    assert (found.word, found.observed) == ("fail", None)
    assert "has no mean" in found.reason
    found = judged(rule("maximum", metric="false_answer_rate", value=0.1), artifact)
    assert (found.word, found.observed) == ("fail", None)
    assert "is undefined" in found.reason


def test_level_of_the_set_does_not_hide_a_metric(
    make_result: MakeResult, make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    result = make_result()
    scores = result.scores
    assert scores is not None
    scores = replace(
        scores,
        means={"recall@3-l2": scores.means["recall@3"]},
        cases={"recall@3-l2": scores.cases["recall@3"], "hit@3-l2": scores.cases["hit@3"]},
        asked={"recall@3": "recall@3-l2", "hit@3": "hit@3-l2"},
    )
    artifact = make_artifact(replace(result, scores=scores), must_pass=["c1"])
    assert judged(rule("minimum", metric="Recall@3", value=0.9), artifact).word == "pass"
    assert (
        judged(rule("baseline", metric="Recall@3"), artifact, baseline_of(artifact)).word == "pass"
    )
    assert judged(rule("must_pass"), artifact).word == "pass"


def test_counters(make_result: MakeResult, make_artifact: MakeArtifact) -> None:
    twice = [("acme/d1", 1.0), ("acme/d1", 0.5)]
    result = make_result(
        broken={
            "c2": CaseResult("c2", "error", (), "timeout", "no answer\nin time"),
            "c1": CaseResult("c1", "ok", tuple(twice)),
        }
    )
    artifact = make_artifact(result)
    found = judged(rule("counter", counter="errors", value=0), artifact)
    assert (found.word, found.observed, found.n) == ("fail", 1.0, 12)
    assert "first: case 'c2': timeout: no answer" in found.reason
    assert judged(rule("counter", counter="errors", value=1), artifact).word == "pass"
    found = judged(rule("counter", counter="errors", value=1e18), artifact)
    assert (found.word, found.observed) == ("refused", 1.0)
    assert "cannot fail: errors is never above 12" in found.reason
    assert judged(rule("counter", counter="errors:auth", value=0), artifact).word == "pass"
    assert judged(rule("counter", counter="errors:timeout", value=0), artifact).word == "fail"
    assert judged(rule("counter", counter="duplicates", value=0), artifact).word == "fail"
    found = judged(rule("counter", counter="errors", value=0, slice={"tenant": "globex"}), artifact)
    assert (found.word, found.n) == ("pass", 6)


@pytest.mark.parametrize(
    ("lists", "broken", "word", "reason"),
    [
        ({}, {}, "pass", ""),
        ({"c1": MISS}, {}, "fail", "at 3: c1 (missed)"),
        ({"c11": ["x1"]}, {}, "fail", "at 3: c11 (answered although unanswerable)"),
        ({}, {"c1": CaseResult("c1", "error", (), "reset", "x")}, "fail", "c1 (error:reset)"),
        ({}, {"c11": CaseResult("c11", "error", (), "reset", "x")}, "fail", "c11 (error:reset)"),
    ],
)
def test_must_pass(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    lists: dict[str, list[str]],
    broken: dict[str, CaseResult],
    word: str,
    reason: str,
) -> None:
    artifact = make_artifact(make_result(lists, broken), must_pass=["c1", "c11"])
    found = judged(rule("must_pass"), artifact)
    assert (found.word, found.n) == (word, 2)
    assert reason in found.reason


def test_long_lists_of_broken_cases_are_cut_and_counted(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    ids = [f"c{n}" for n in range(11)]
    artifact = make_artifact(make_result(dict.fromkeys(ids, MISS)), must_pass=ids)
    reason = judged(rule("must_pass"), artifact).reason
    assert reason.endswith("c9 (missed) and 1 more")
    artifact = replace(artifact, golden=replace(artifact.golden, must_pass=tuple(ids[:10])))
    assert judged(rule("must_pass"), artifact).reason.endswith("c9 (missed)")


def test_must_pass_without_a_marked_case_is_refused(make_artifact: MakeArtifact) -> None:
    """It could never fail."""
    assert judged(rule("must_pass"), make_artifact()).word == "refused"


def test_failed_target_is_not_measured_and_has_no_number(make_artifact: MakeArtifact) -> None:
    artifact = make_artifact()
    failed = replace(
        artifact.targets[0],
        scores=None,
        results=(),
        failure="connection refused",
        failure_kind="failed",
    )
    for made in (
        rule("minimum", metric="MRR", value=0.1),
        rule("counter", counter="errors", value=0),
        rule("must_pass"),
    ):
        found = judged(made, make_artifact(failed))
        assert (found.word, found.observed, found.n) == ("not measured", None, None)
        assert found.reason == "connection refused"


def test_rule_that_makes_no_sense_is_refused_and_does_not_crash(
    make_artifact: MakeArtifact,
) -> None:
    for made in (
        rule("minimum", metric="MRR"),
        rule("minimum", metric="nonsense", value=0.1),
        rule("counter", value=1),
        rule("regression", metric="MRR"),
        rule("tolerance", metric="MRR", tolerance=float("nan")),
    ):
        assert judged(made, make_artifact()).word == "refused"


def test_no_baseline_says_what_to_do(make_artifact: MakeArtifact) -> None:
    found = judged(rule("baseline", metric="Recall@3"), make_artifact())
    assert found.word == "refused"
    assert found.reason.startswith("no baseline for small/fake/lexical/filter; review the report")
    assert "baseline accept" in found.reason
    assert found.observed == 1.0


def test_baseline_without_the_metric_or_over_other_cases_is_refused(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    artifact = make_artifact()
    baseline = baseline_of(artifact)

    def drop(case_id: str) -> Baseline:
        without = {
            key: replace(case, values={**case.values, "recall@3": None})
            for key, case in baseline.cases.items()
            if case_id in {key, "all"}
        }
        return replace(baseline, cases={**baseline.cases, **without})

    made = rule("baseline", metric="Recall@3")
    assert "holds no recall@3" in judged(made, artifact, drop("all")).reason
    found = judged(made, artifact, drop("c4"))
    assert found.word == "refused"
    assert "10 cases in the baseline and 11 in this run (first that differs: 'c4')" in found.reason


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    now=st.lists(st.sampled_from([0, 1, 2, 3]), min_size=11, max_size=11),
    then=st.lists(st.sampled_from([0, 1, 2, 3]), min_size=11, max_size=11),
    better=st.integers(0, 10),
    metric=st.sampled_from(["ndcg@3", "recall@3", "hit@3"]),
    number=st.floats(0, 0.99),
)
def test_improving_a_case_never_turns_pass_into_fail(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    baseline_of: BaselineOf,
    now: list[int],
    then: list[int],
    better: int,
    metric: str,
    number: float,
) -> None:
    """A position of 1, 2, 3, or none at all (0), for each of eleven cases."""

    def lists(positions: list[int]) -> dict[str, list[str]]:
        found = {}
        for case, position in enumerate(positions):
            ids = ["x1", "x2", "x3"]
            if position:
                ids[position - 1] = f"d{case}"
            found[f"c{case}"] = ids
        return found

    baseline = baseline_of(make_artifact(make_result(lists(then))))
    improved = [*now]
    improved[better] = 1
    before = make_artifact(make_result(lists(now)))
    after = make_artifact(make_result(lists(improved)))
    for made in (
        rule("minimum", metric=metric, value=number),
        rule("baseline", metric=metric),
        rule("tolerance", metric=metric, tolerance=number),
    ):
        if judged(made, before, baseline).word == "pass":
            assert judged(made, after, baseline).word == "pass"
