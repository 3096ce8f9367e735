"""Outcomes of probes as exit codes: what fails, from which severity on, and what is only told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.gate import judge_audit
from retrieverbench.model import (
    Artifact,
    LeakClass,
    LeakFinding,
    Outcome,
    ProbeResult,
    Risk,
    Severity,
    TargetResult,
)

MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]
MakeAudit = Callable[..., Artifact]


@pytest.fixture
def audited(make_result: MakeResult, make_artifact: MakeArtifact) -> MakeAudit:
    """An artifact of one target with one probe of this outcome and severity."""

    def make(outcome: Outcome, severity: Severity = "high", **fields: Any) -> Artifact:
        kind: LeakClass = "starvation"
        probe = ProbeResult(
            "P09", "small", "fake", "lexical", "guarded", outcome, kind, severity, "seen", **fields
        )
        passed = ProbeResult(
            "P01", "twin", "fake", "lexical", "guarded", "pass", "leak", "critical"
        )
        return make_artifact(make_result(probes=(passed, probe)))

    return make


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        ("critical", "high", 4),
        ("high", "high", 1),
        ("medium", "high", 0),
        ("medium", "medium", 1),
        ("low", "medium", 0),
        ("low", "low", 1),
        ("info", "low", 0),
    ],
)
def test_failure_counts_from_the_severity_that_the_suite_names(
    audited: MakeAudit, severity: Severity, fail_on: Severity, code: int
) -> None:
    assert judge_audit(audited("fail", severity), fail_on=fail_on).exit_code == code


def test_by_default_a_side_channel_fails_and_a_trace_is_only_told(audited: MakeAudit) -> None:
    (reason,) = judge_audit(audited("fail", "medium")).reasons
    assert reason == "fail: fake/lexical/filter: starvation: P09 small (guarded): seen"
    verdict = judge_audit(audited("fail", "low"))
    assert (verdict.exit_code, verdict.reasons, verdict.fail_on) == (0, (), "medium")


def test_probe_without_conclusion_is_exit_5_unless_a_reason_is_given(audited: MakeAudit) -> None:
    artifact = audited("inconclusive", "critical")
    assert judge_audit(artifact).exit_code == 5
    assert judge_audit(artifact, accepted={"P34": "other"}).exit_code == 5
    verdict = judge_audit(artifact, accepted={"P09": "one connection only"})
    assert (verdict.exit_code, verdict.word) == (0, "inconclusive")
    assert verdict.reasons[0].endswith("seen; accepted: one connection only")


def test_reason_for_no_conclusion_excuses_no_failure(audited: MakeAudit) -> None:
    verdict = judge_audit(audited("fail", "critical"), accepted={"P09": "known"})
    assert verdict.exit_code == 4


def test_accepted_risk_passes(audited: MakeAudit) -> None:
    risk = Risk("approximate", "suite.toml:9", "recall 0.95")
    assert judge_audit(audited("pass", risks=(risk,))).exit_code == 0


@pytest.mark.parametrize(
    ("probed", "told"),
    [(False, "nothing was probed until then"), (True, "not everything was probed until then")],
)
def test_an_interrupted_audit_says_only_that(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    audited: MakeAudit,
    probed: bool,
    told: str,
) -> None:
    results = audited("pass").targets if probed else (make_result(probes=()),)
    verdict = judge_audit(replace(make_artifact(*results), complete=False))
    assert verdict.exit_code == 130
    assert verdict.reasons == (f"interrupted: {told}; run it again",)


def test_the_mapping_stands_first_where_no_id_of_the_index_is_known(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    finding = LeakFinding("fake", "P01", "acme", "not in the corpus: 7", 1, None, "audit")
    shown = ProbeResult(
        "P01", "twin", "fake", "lexical", "guarded", "fail", "leak", "critical", findings=(finding,)
    )
    passed = ProbeResult("P22", "nobody", "fake", "lexical", "guarded", "pass", "leak", "critical")
    verdict = judge_audit(make_artifact(make_result(probes=(shown,))))
    assert verdict.exit_code == 4
    assert "no id of the index is in the corpus: check attach.id" in verdict.reasons[0]
    verdict = judge_audit(make_artifact(make_result(probes=(shown, passed))))
    assert "attach" not in verdict.reasons[0], "the index is read, and one row of it is unknown"


def test_probes_without_a_conclusion_for_one_reason_are_one_line(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    one = ProbeResult(
        "P09", "small", "fake", "lexical", "guarded", "inconclusive", "starvation", "high", "no"
    )
    probes = (
        *(replace(one, probe=number) for number in ("P07", "P08", "P16")),
        replace(one, arm="below the guard"),
        replace(one, probe="P10", reason="another"),
        replace(one, probe="P11", outcome="fail"),
        replace(one, probe="P12", outcome="fail"),
    )
    artifact = make_artifact(make_result(probes=probes))
    accepted = judge_audit(artifact, accepted={"P16": "known"})
    assert list(accepted.reasons) == [
        "fail: fake/lexical/filter: starvation: P11 small (guarded): no",
        "fail: fake/lexical/filter: starvation: P12 small (guarded): no",
        "inconclusive: fake/lexical/filter: 2 probes, P07, P08 (guarded): no",
        "inconclusive: fake/lexical/filter: P09 small (below the guard): no",
        "inconclusive: fake/lexical/filter: P10 small (guarded): another",
        "inconclusive: fake/lexical/filter: P16 small (guarded): no; accepted: known",
    ]
