"""A leak is seen wherever the artifact holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from retrieverbench.gate import leak_of
from retrieverbench.gate.leaking import leak_reasons
from retrieverbench.model import CaseResult, LeakCheck, LeakFinding, TargetResult, Timings

MakeResult = Callable[..., TargetResult]
FINDING = LeakFinding("t", "c1", "acme", "globex/1", 2, "globex", "quality")


def timings(**errors: int) -> Timings:
    return Timings("closed", 4, 100, 12, 8, 2, 1.0, 90.0, {}, errors, ("ok",))


def leaking(result: TargetResult, *findings: LeakFinding) -> LeakCheck:
    assert result.leaks is not None
    return replace(result.leaks, proof="leak", foreign=len(findings), findings=findings)


def test_clean_target(make_result: MakeResult) -> None:
    assert leak_of(make_result()) is None
    assert leak_of(make_result(timings=timings(wrong_count=3, timeout=1))) is None
    assert leak_of(make_result(leaks=None)) is None


def test_of_an_index_none_of_whose_ids_is_known_the_mapping_is_named(
    make_result: MakeResult,
) -> None:
    finding = replace(FINDING, uid="not in the corpus: 7", owner=None)
    results = (CaseResult("c1", "ok", (("not in the corpus: 7", 1.0),)), CaseResult("c2", "ok"))
    result = make_result(results=results)
    first, leak = leak_reasons(replace(result, leaks=leaking(result, finding)))
    assert first.startswith(f"{result.target.label}: no id of the index is in the corpus: check ")
    known = (*results, CaseResult("c3", "ok", (("acme/1", 1.0),)))
    assert list(leak_reasons(replace(result, results=known, leaks=leaking(result, finding)))) == [
        leak
    ]


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (FINDING, "case 'c1' of 'acme' got 'globex/1' at rank 2 (quality), which belongs to 'glo"),
        (replace(FINDING, owner=None), "which is no chunk of the corpus"),
        (replace(FINDING, owner=None, hint="'acme/1' is a chunk"), "; 'acme/1' is a chunk"),
        (replace(FINDING, rank=0, seen_in="canary"), "outside the hits (canary)"),
        (
            replace(FINDING, uid="acme/2", seen_in="text", shown="text", under="acme/2"),
            "got the text of a chunk of 'globex' at rank 2 (text), under the id 'acme/2'",
        ),
    ],
)
def test_first_finding_is_told(make_result: MakeResult, finding: LeakFinding, text: str) -> None:
    result = make_result()
    found = leak_of(replace(result, leaks=leaking(result, finding)))
    assert text in (found or "")
    assert (found or "").startswith("fake/lexical/filter: 1 foreign and 0 unknown chunks")


def test_findings_of_the_control_arm_are_named_apart(make_result: MakeResult) -> None:
    result = make_result()
    leaks = replace(leaking(result, FINDING), foreign=0, control_findings=1)
    found = leak_of(replace(result, leaks=leaks))
    assert "0 foreign and 0 unknown chunks, 1 in the control arm that were never put" in (
        found or ""
    )


def test_findings_count_whatever_the_proof_says(make_result: MakeResult) -> None:
    result = make_result()
    assert result.leaks is not None
    assert leak_of(replace(result, leaks=replace(result.leaks, findings=(FINDING,))))
    assert leak_of(replace(result, leaks=replace(result.leaks, proof="leak")))


@pytest.mark.parametrize("checked", [True, False])
def test_violation_counted_in_the_timed_pass_is_a_leak(
    make_result: MakeResult, checked: bool
) -> None:
    result = make_result(timings=timings(tenant_violation=2))
    result = result if checked else replace(result, leaks=None)
    assert leak_of(result) == (
        "fake/lexical/filter: 2 timed answers held a chunk of another tenant"
    )
