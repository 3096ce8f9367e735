"""JUnit XML: one case per probe, mode and arm, or per rule; nothing ends green by gaps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import pytest

from report_support import HOSTILE, every_outcome, probe
from retrieverbench.gate import judge
from retrieverbench.model import Artifact, FailureKind, LeakCheck, LeakFinding, Rule, TargetResult
from retrieverbench.report import render_junit
from retrieverbench.report.tables import headline

Make = Callable[..., Artifact]
MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]
LABEL = "fake/lexical/filter"


def cases(data: bytes) -> dict[tuple[str, str], ET.Element]:
    root = ET.fromstring(data)
    found = {(c.attrib["classname"], c.attrib["name"]): c for c in root.iter("testcase")}
    assert len(found) == int(root.attrib["tests"]), "two cases of one name"
    return found


def words(data: bytes) -> dict[str, str]:
    """Case → what it ended with."""
    return {
        name: next((child.tag for child in case), "passed")
        for (_group, name), case in cases(data).items()
    }


def test_every_outcome_of_a_probe_has_its_element(make_audit: Make) -> None:
    assert words(render_junit(make_audit(every_outcome()))) == {
        "P01 title of P01 (lexical, guarded)": "failure",
        "P01 title of P01 (lexical, below the guard)": "failure",
        "P08 title of P08 (lexical, guarded)": "failure",
        "P40 title of P40 (lexical, guarded)": "failure",
        "P41 title of P41 (lexical, guarded)": "system-out",
        "P21 title of P21 (lexical, guarded)": "error",
        "P22 title of P22 (lexical, guarded)": "skipped",
        "P33 title of P33 (lexical, guarded)": "skipped",
        "P36 title of P36 (lexical, guarded)": "passed",
        "P43 title of P43 (every mode, guarded)": "passed",
        "exit code": "failure",
    }


def test_what_does_not_fail_the_audit_is_no_failure_and_still_told(make_audit: Make) -> None:
    audit = make_audit((probe("P41", outcome="fail", severity="low", reason="told apart"),))
    root = ET.fromstring(render_junit(audit))
    assert (root.attrib["failures"], root.attrib["errors"]) == ("0", "0"), "as exit 0 says"
    (told,) = root.iter("system-out")
    assert told.text == ("failed, and is too slight to fail the audit: starvation, low: told apart")
    assert headline(audit) == "PASS (exit 0); 1 probe of low severity failed: P41"


def test_a_side_channel_of_a_run_is_a_failure(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    result = make_result()
    assert result.leaks is not None
    told = replace(result.leaks, side_channel="told 4, owns 1")
    artifact = make_artifact(replace(result, leaks=told))
    verdict = judge(artifact, [], {})
    assert verdict.exit_code == 1, "no chunk was shown: it is no leak"
    assert verdict.reasons == (f"fail: {LABEL}: side channel: told 4, owns 1",)
    found = cases(render_junit(replace(artifact, verdict=verdict)))
    assert found[f"small.{LABEL}", "leaks"].find("failure") is None
    assert found[f"small.{LABEL}", "totals"].find("failure") is not None


def test_counts_are_those_of_the_cases(make_audit: Make) -> None:
    root = ET.fromstring(render_junit(make_audit(every_outcome())))
    suites = [root, *root.iter("testsuite")]
    assert [suite.attrib["tests"] for suite in suites] == ["11", "10", "1"]
    for suite in suites:
        for word in ("failure", "error"):
            assert int(suite.attrib[f"{word}s"]) == len(list(suite.iter(word)))
        assert int(suite.attrib["skipped"]) == len(list(suite.iter("skipped")))


def test_a_skipped_case_says_why(make_audit: Make) -> None:
    found = cases(render_junit(make_audit(every_outcome())))
    group = f"small.{LABEL}"
    told = found[group, "P22 title of P22 (lexical, guarded)"].find("skipped")
    assert told is not None
    assert told.attrib["message"] == "inconclusive: no recorder; accepted: the server has no log"
    told = found[group, "P33 title of P33 (lexical, guarded)"].find("skipped")
    assert told is not None
    assert told.attrib["message"] == "not applicable: the adapter does not declare move"


def test_a_policy_of_the_suite_turns_errors_into_skipped_cases(make_audit: Make) -> None:
    audit = make_audit((probe("P21", outcome="inconclusive", reason="x"),), policy="warn")
    assert set(words(render_junit(audit)).values()) == {"skipped", "passed"}


def test_cases_point_to_the_targets_line_in_the_suite(make_audit: Make) -> None:
    for (group, _name), case in cases(
        render_junit(make_audit(every_outcome()), "a/s.toml")
    ).items():
        place = (case.get("file"), case.get("line"))
        assert place == ((None, None) if group == "small.verdict" else ("a/s.toml", "7"))


def test_foreign_text_breaks_no_xml_and_commands_nobody(make_audit: Make) -> None:
    data = render_junit(make_audit((probe("P08", outcome="fail", reason=HOSTILE, title=HOSTILE),)))
    text = "".join(ET.fromstring(data).itertext()) + data.decode()
    for word in ("\x1b", "\x00", "\ufffe", "::", "##vso"):
        assert word not in text
    assert r"\x1b" in text


@pytest.mark.parametrize(
    ("kind", "required", "word"),
    [("absent", False, "skipped"), ("absent", True, "error"), ("failed", False, "error")],
)
def test_a_target_without_answers_is_never_green(
    make_audit: Make, make_result: MakeResult, kind: FailureKind, required: bool, word: str
) -> None:
    other = replace(
        make_result(name="gone", required=required, scores=None),
        failure="no server",
        failure_kind=kind,
        remedy="start it",
    )
    data = render_junit(make_audit((probe("P01"),), other))
    case = cases(data)["small.gone/lexical/filter", "audit"]
    assert [child.tag for child in case] == [word]
    assert case[0].attrib["message"] == "not measured: no server; start it"


def test_an_interrupted_audit_is_red_though_all_that_was_asked_passed(make_audit: Make) -> None:
    found = words(render_junit(make_audit((probe("P01"),), complete=False)))
    assert found == {"P01 title of P01 (lexical, guarded)": "passed", "exit code": "error"}


def judged(artifact: Artifact, *rules: Rule, policy: str = "stop") -> Artifact:
    verdict = judge(artifact, rules, {}, inconclusive_leaks=policy)  # type: ignore[arg-type]
    return replace(artifact, verdict=verdict)


def test_a_run_has_a_case_per_rule_and_one_for_leaks(make_artifact: Make) -> None:
    rules = (
        Rule("minimum", "good", metric="ndcg@3", value=0.5, line=20),
        Rule("maximum", "bad", metric="recall@3", value=0.1, line=21),
    )
    data = render_junit(judged(make_artifact(), *rules), "s.toml")
    found = words(data)
    assert found["good"] == "passed"
    assert found["bad"] == "failure"
    assert found["leaks"] == "passed"
    assert found["counter errors"] == "passed"
    assert found["exit code"] == "failure"
    assert cases(data)[f"small.{LABEL}", "bad"].attrib["line"] == "21"


def test_only_what_took_time_of_its_own_has_one(
    make_audit: Make, make_artifact: MakeArtifact
) -> None:
    audit = ET.fromstring(render_junit(make_audit((replace(probe("P36"), seconds=0.25),))))
    assert [case.get("time") for case in audit.iter("testcase")] == ["0.250", None]
    assert audit.attrib["time"] == "0.250"
    run = ET.fromstring(render_junit(make_artifact()))
    assert [element for element in run.iter() if "time" in element.attrib] == []


def test_a_leak_of_a_run_fails(make_artifact: Make, make_result: MakeResult) -> None:
    finding = LeakFinding("fake", "c1", "acme", "globex/d7", 1, "globex", "quality")
    leaks = LeakCheck(30, 60, 1, 0, 2, 2, 2, 9, "leak", None, (finding,), None)
    data = render_junit(judged(make_artifact(make_result(leaks=leaks))))
    case = cases(data)[f"small.{LABEL}", "leaks"]
    assert case[0].tag == "failure"
    assert "got 'globex/d7' at rank 1" in case[0].attrib["message"]


@pytest.mark.parametrize(("policy", "word"), [("stop", "error"), ("warn", "skipped")])
def test_an_unproven_run_is_what_the_suite_says(
    make_artifact: Make, make_result: MakeResult, policy: str, word: str
) -> None:
    leaks = LeakCheck(30, 60, 0, 0, 2, 2, 1, 9, "inconclusive", "no canary", (), None)
    artifact = judged(make_artifact(make_result(leaks=leaks)), policy=policy)
    assert words(render_junit(artifact))["leaks"] == word
