"""The cases named are those that a rule failed for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from retrieverbench.gate.evaluate import evaluate
from retrieverbench.gate.worst import CASES, fallen, worst
from retrieverbench.model import Artifact, Baseline, CaseValue, Rule, Scores

MakeArtifact = Callable[..., Artifact]
BaselineOf = Callable[..., Baseline]
METRIC = "recall@3"


def with_values(artifact: Artifact, **values: float | None) -> Artifact:
    """The artifact, its first cases with these values; None is a failed one."""
    scores = scores_of(artifact)
    cases = {
        case: CaseValue(value, None if value is not None else "error:timeout")
        for case, value in values.items()
    }
    changed = replace(scores, cases={**scores.cases, METRIC: cases})
    return replace(artifact, targets=(replace(artifact.targets[0], scores=changed),))


def scores_of(artifact: Artifact) -> Scores:
    scores = artifact.targets[0].scores
    assert scores is not None
    return scores


def test_the_worst_come_first_and_failed_ones_count_as_zero(make_artifact: MakeArtifact) -> None:
    artifact = with_values(make_artifact(), a=1.0, b=0.5, c=None, d=0.25)
    assert worst(METRIC, scores_of(artifact), None) == ("worst: 'c' 0, 'd' 0.25, 'b' 0.5, 'a' 1",)
    assert worst(METRIC, scores_of(artifact), {"a", "b"}) == ("worst: 'b' 0.5, 'a' 1",)
    assert worst("errors", scores_of(artifact), None) == ()


def test_no_more_are_named_than_a_reader_looks_at(make_artifact: MakeArtifact) -> None:
    artifact = with_values(make_artifact(), **{f"c{n}": 0.0 for n in range(CASES + 2)})
    (line,) = worst(METRIC, scores_of(artifact), None)
    assert line.endswith("'c4' 0 and 2 more")


def test_a_failed_rule_names_what_it_lost(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    before = make_artifact()
    baseline = baseline_of(before)
    held = {c: v for c, v in scores_of(before).cases[METRIC].items() if v.value is not None}
    lost = next(case for case, value in held.items() if value.value == 1.0)
    values: dict[str, Any] = {case: value.value for case, value in held.items()} | {lost: 0.0}
    after = with_values(before, **values)
    assert fallen(METRIC, scores_of(after), baseline, None) == (f"lost most: {lost!r} 0 (was 1)",)
    assert fallen(METRIC, scores_of(before), baseline, None) == ()
    assert fallen(METRIC, scores_of(after), baseline, set(values) - {lost}) == ()


def test_a_minimum_that_fails_names_the_worst_and_one_that_holds_none(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    artifact = make_artifact(make_result({"c5": ["x1"]}))
    result = artifact.targets[0]
    mean = scores_of(artifact).means[METRIC].value
    assert mean is not None
    fails = Rule("minimum", "m", metric="Recall@3", value=mean + 0.01)
    holds = Rule("minimum", "m", metric="Recall@3", value=mean - 0.01)
    judged = evaluate(fails, result, artifact, {})
    assert judged.word == "fail"
    assert judged.details[0].startswith("worst: 'c5' 0, ")
    assert judged.details[0] in judged.text
    assert evaluate(holds, result, artifact, {}).details == ()
