"""What a baseline has and the run lacks fails, is told apart from what was left out, and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from retrieverbench.gate import judge
from retrieverbench.gate.vanished import vanished
from retrieverbench.model import Artifact, Baseline, CommandLine, Rule, RuleResult, Target

MakeArtifact = Callable[..., Artifact]
BaselineOf = Callable[..., Baseline]
COMPARED = Rule("tolerance", "r", metric="Recall@3", tolerance=0.1, line=7)
GONE = Target("pg", "pgvector", "hybrid")


@pytest.fixture
def artifact(make_artifact: MakeArtifact) -> Artifact:
    return make_artifact()


@pytest.fixture
def baselines(artifact: Artifact, baseline_of: BaselineOf) -> dict[str, Baseline]:
    """Of the measured target, and of one that the suite has no more."""
    kept = baseline_of(artifact)
    return {kept.target.label: kept, GONE.label: replace(kept, target=GONE)}


def rows(
    artifact: Artifact, baselines: dict[str, Baseline], *rules: Rule, only: tuple[str, ...] = ()
) -> list[RuleResult]:
    return list(vanished(replace(artifact, command=CommandLine(only=only)), rules, baselines))


def test_a_target_that_is_gone_fails_and_its_file_is_named(
    artifact: Artifact, baselines: dict[str, Baseline]
) -> None:
    verdict = judge(artifact, [COMPARED], baselines)
    assert (verdict.word, verdict.exit_code) == ("fail", 1)
    (reason,) = verdict.reasons
    assert "on pg/hybrid/filter: the suite has no such target any more" in reason
    assert "remove baselines/small/pg-hybrid-filter.json" in reason
    (row,) = rows(artifact, baselines, COMPARED)
    assert (row.line, row.implied) == (7, True)


@pytest.mark.parametrize(
    ("rules", "only"),
    [
        ([], ()),
        ([Rule("minimum", "m", metric="Recall@3", value=0.1)], ()),
        ([replace(COMPARED, targets=("fake",))], ()),
        ([COMPARED], ("fake",)),
    ],
)
def test_it_is_no_failure_where_no_rule_compares_it_or_it_was_left_out(
    artifact: Artifact, baselines: dict[str, Baseline], rules: list[Rule], only: tuple[str, ...]
) -> None:
    assert rows(artifact, baselines, *rules, only=only) == []


@pytest.mark.parametrize(
    ("rule", "only"),
    [(replace(COMPARED, targets=("pg",)), ()), (COMPARED, ("fake", "pg"))],
)
def test_a_mode_that_is_gone_fails_where_its_entry_is_chosen(
    artifact: Artifact, baselines: dict[str, Baseline], rule: Rule, only: tuple[str, ...]
) -> None:
    (row,) = rows(artifact, baselines, rule, only=only)
    assert row.target == GONE.label


def test_metrics_that_are_gone_fail_by_name(
    artifact: Artifact, baselines: dict[str, Baseline], baseline_of: BaselineOf
) -> None:
    kept = baseline_of(artifact)
    cases = {
        key: replace(case, values={**case.values, "mrr": 1.0, "ndcg@10": 0.5})
        for key, case in kept.cases.items()
    }
    more = {kept.target.label: replace(kept, cases=cases)}
    (row,) = rows(artifact, more, COMPARED)
    assert (row.word, row.target) == ("fail", kept.target.label)
    assert "not measured any more: MRR, nDCG@10; add to `metrics`" in row.reason
    assert rows(artifact, more) == []
    refused = {kept.target.label: replace(kept, cases=cases, depth=5)}
    assert rows(artifact, refused, COMPARED) == []
