"""SARIF: valid by its own schema, alerts for findings alone, identities that stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from report_support import HOSTILE, every_outcome, probe
from retrieverbench.leaks import CATALOG
from retrieverbench.model import Artifact, LeakBound, LeakFinding, TargetResult
from retrieverbench.report import render_sarif
from sarif_support import sarif_schema

Make = Callable[..., Artifact]
MakeResult = Callable[..., TargetResult]


def run_of(artifact: Artifact, suite_file: str = "bench/suite.toml") -> dict[str, Any]:
    document = json.loads(render_sarif(artifact, suite_file))
    (run,) = document["runs"]
    found: dict[str, Any] = run
    return found


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(sarif_schema())


def test_it_is_valid_by_the_schema(
    make_audit: Make, make_result: MakeResult, validator: jsonschema.Draft7Validator
) -> None:
    gone = replace(make_result(name="gone"), failure="no server", failure_kind="failed")
    audit = make_audit(every_outcome(), gone)
    bound = LeakBound("guarded", 100, 0.03)
    audit = replace(audit, targets=(replace(audit.targets[0], bounds=(bound,)), gone))
    document = json.loads(render_sarif(audit, "a b/süite.toml"))
    assert [error.message for error in validator.iter_errors(document)] == []
    document["runs"][0]["results"][0]["level"] = "grave"
    assert list(validator.iter_errors(document)), "the schema refuses nothing"


def test_every_probe_of_the_catalog_is_a_valid_rule_with_help(
    make_audit: Make, validator: jsonschema.Draft7Validator
) -> None:
    audit = make_audit(tuple(probe(each.id, title=each.title) for each in CATALOG))
    run = run_of(audit)
    assert validator.is_valid({"version": "2.1.0", "runs": [run]})
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [each.id for each in CATALOG]
    for rule, each in zip(rules, CATALOG, strict=True):
        assert rule["shortDescription"]["text"] == each.title
        assert rule["fullDescription"]["text"] == each.help
        assert each.help in rule["help"]["text"]
        assert each.limit in rule["help"]["text"]
        weight = float(rule["properties"]["security-severity"])
        assert {"critical": 9.0, "high": 7.0, "medium": 4.0}.get(each.severity, 0.0) < weight
        assert weight <= {"high": 8.9, "medium": 6.9, "low": 3.9}.get(each.severity, 10.0)


def test_findings_alone_are_results(make_audit: Make) -> None:
    run = run_of(make_audit(every_outcome()))
    told = [(each["ruleId"], each["kind"], each["level"]) for each in run["results"]]
    assert told == [
        ("P01", "fail", "error"),
        ("P01", "fail", "error"),
        ("P08", "fail", "error"),
        ("P40", "fail", "warning"),
        ("P41", "fail", "note"),
        ("P21", "open", "none"),
    ]
    for each in run["results"]:
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
    kept = run["properties"]
    assert kept["passed"] == [
        "P36 fake/filter (lexical, guarded)",
        "P43 fake/filter (every mode, guarded)",
    ]
    assert kept["notApplicable"] == [
        "P33 fake/filter (lexical, guarded): the adapter does not declare move"
    ]
    assert kept["excused"] == [
        "P22 fake/filter (lexical, guarded): no recorder; accepted: the server has no log"
    ]
    assert [risk["property"] for risk in kept["acceptedRisks"]] == ["shared_idf"]


def test_results_point_to_the_targets_line(make_audit: Make) -> None:
    result = run_of(make_audit(every_outcome()), "a b/suite.toml")["results"][0]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/suite.toml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }


def test_an_alert_keeps_its_identity_and_shares_it_with_none(make_audit: Make) -> None:
    first = run_of(make_audit(every_outcome()))["results"]
    prints = [json.dumps(each["partialFingerprints"]) for each in first]
    assert len(set(prints)) == len(prints)
    finding = LeakFinding("fake", "P01", "umbrella", "initech/own9", 4, "initech", "audit")
    drawn_anew = tuple(
        replace(each, reason=f"{each.reason} 99", seconds=3.0, trials=77, findings=(finding,))
        for each in every_outcome()
    )
    again = run_of(make_audit(drawn_anew, run_id="feedbeef", seeds={"suite": 5}))["results"]
    assert [json.dumps(each["partialFingerprints"]) for each in again] == prints


def test_what_was_not_audited_is_said(make_audit: Make, make_result: MakeResult) -> None:
    gone = replace(make_result(name="gone"), failure="no server", failure_kind="failed")
    (invocation,) = run_of(make_audit((probe("P01"),), gone))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 3
    (told,) = invocation["toolExecutionNotifications"]
    assert told["message"]["text"] == "gone/lexical/filter: not audited: no server"


def test_foreign_text_is_one_line_of_visible_characters(make_audit: Make) -> None:
    audit = make_audit((probe("P08", outcome="fail", reason=HOSTILE),))
    text = run_of(audit)["results"][0]["message"]["text"]
    assert text.replace("\u200b", "").isprintable()
