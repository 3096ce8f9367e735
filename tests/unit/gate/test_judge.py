"""The exit code is the first of the table that holds, and hides none of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from retrieverbench.gate import judge
from retrieverbench.gate.judge import conclude
from retrieverbench.model import (
    Agreement,
    Artifact,
    CaseResult,
    LeakFinding,
    Mode,
    Noise,
    Rule,
    TargetResult,
    Timings,
    Verdict,
)

MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]
FINDING = LeakFinding("t", "c1", "acme", "globex/1", 1, "globex", "quality")
IMPOSSIBLE = Rule("minimum", "impossible", metric="Recall@3", value=1.0)
NO_BASELINE = Rule("baseline", "compared", metric="Recall@3")


def timings(**errors: int) -> Timings:
    return Timings("closed", 4, 100, 12, 8, 2, 1.0, 90.0, {}, errors, ("ok",))


class Ways:
    """One way to earn each exit code; several may be asked for at once."""

    def __init__(self, make_result: MakeResult, make_artifact: MakeArtifact) -> None:
        self.make_result, self.make_artifact = make_result, make_artifact

    def judge(self, *codes: int, complete: bool = True) -> Verdict:
        result = self.make_result({"c1": ["x1"]}) if 1 in codes else self.make_result()
        leaks = result.leaks
        assert leaks is not None
        if 5 in codes:
            leaks = replace(leaks, proof="inconclusive", reason="no canaries")
        targets = [replace(result, leaks=leaks)]
        if 4 in codes:
            leak = replace(leaks, proof="leak", findings=(FINDING,), foreign=1)
            targets.append(self.make_result(name="leaky", leaks=leak))
        if 3 in codes:
            targets.append(
                self.make_result(
                    name="down", scores=None, results=(), leaks=None,
                    failure="connection refused", failure_kind="failed",
                )
            )  # fmt: skip
        rules = [IMPOSSIBLE] if 1 in codes else []
        rules += [replace(NO_BASELINE, targets=("fake",))] if 2 in codes else []
        return judge(self.make_artifact(*targets, complete=complete), rules, {})


@pytest.fixture
def ways(make_result: MakeResult, make_artifact: MakeArtifact) -> Ways:
    return Ways(make_result, make_artifact)


WORDS = {4: "leak", 2: "refused", 3: "not measured", 1: "fail", 5: "inconclusive"}
ORDER = [4, 2, 3, 1, 5]
MIXES = [mix for size in range(1, 6) for mix in combinations(ORDER, size)]


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_first_of_the_table_wins_and_every_kind_is_named(ways: Ways, mix: tuple[int, ...]) -> None:
    verdict = ways.judge(*mix)
    assert verdict.exit_code == mix[0]
    assert verdict.word == WORDS[mix[0]]
    assert verdict.kinds == tuple(WORDS[code] for code in mix)
    for word in verdict.kinds:
        assert any(reason.startswith(f"{word}: ") for reason in verdict.reasons)
    assert verdict.reasons[0].startswith(f"{verdict.word}: ")


def test_passing(ways: Ways) -> None:
    verdict = ways.judge()
    assert (verdict.word, verdict.exit_code, verdict.reasons, verdict.kinds) == ("pass", 0, (), ())
    assert {result.word for result in verdict.rules} == {"pass"}
    assert {result.counter for result in verdict.rules} == {
        "errors",
        "missing",
        "out_of_order",
        "duplicates",
    }


def broken(*case_ids: str) -> dict[str, CaseResult]:
    return {key: CaseResult(key, "error", (), "timeout", "late") for key in case_ids}


ALL = tuple(f"c{n}" for n in range(12))


@pytest.mark.parametrize(
    ("lists", "failing", "code", "word"),
    [
        ({}, ("c3",), 3, "fail"),
        ({}, ALL, 3, "fail"),
        ({"c1": ["d1", "d1"]}, (), 1, "fail"),
    ],
)
def test_always_on_counters(
    make_result: MakeResult,
    make_artifact: MakeArtifact,
    lists: dict[str, list[str]],
    failing: tuple[str, ...],
    code: int,
    word: str,
) -> None:
    verdict = judge(make_artifact(make_result(lists, broken(*failing))), [], {})
    assert (verdict.exit_code, verdict.word) == (code, word)


def test_rule_for_one_target_leaves_the_counter_on_for_the_others(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    targets = [make_result(broken=broken("c1"), name=name) for name in ("a", "b")]
    allowed = Rule("counter", "some", counter="errors", value=5, targets=("a",))
    verdict = judge(make_artifact(*targets), [allowed], {})
    assert verdict.exit_code == 3
    assert [reason.split(" on ")[1][0] for reason in verdict.reasons] == ["b"]
    everywhere = replace(allowed, targets=())
    assert judge(make_artifact(*targets), [everywhere], {}).exit_code == 0


def test_rule_is_asked_of_its_targets_only(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    artifact = make_artifact(make_result(name="a"), make_result({"c1": ["x1"]}, name="b"))
    for_a = replace(IMPOSSIBLE, targets=("a",))
    verdict = judge(artifact, [for_a], {})
    assert verdict.exit_code == 0
    asked = [result.target for result in verdict.rules if result.rule == "impossible"]
    assert asked == ["a/lexical/filter"]
    assert judge(artifact, [replace(for_a, targets=("b/lexical",))], {}).exit_code == 1


def test_rule_for_one_slice_leaves_the_counter_on_for_the_whole(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    rule = Rule("counter", "some", counter="errors", value=5, slice={"tenant": "acme"})
    verdict = judge(make_artifact(make_result(broken=broken("c1"))), [rule], {})
    assert verdict.exit_code == 3


def test_only_an_unanswerable_case_answered_is_nothing_valid(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    allowed = Rule("counter", "most", counter="errors", value=11)
    verdict = judge(make_artifact(make_result(broken=broken(*ALL[:11]))), [allowed], {})
    assert (verdict.exit_code, verdict.word) == (5, "not measured")


def test_one_target_without_a_valid_answer_is_not_hidden_by_another(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    allowed = Rule("counter", "all", counter="errors", value=11)
    bad = make_result(broken=broken(*ALL[:11]), name="bad")
    assert judge(make_artifact(make_result(), bad), [allowed], {}).exit_code == 5


def absent(make_result: MakeResult, **fields: Any) -> TargetResult:
    return make_result(
        name="absent", scores=None, results=(), leaks=None, backend=None,
        failure="no engine here", failure_kind="absent", remedy="pip install it", **fields,
    )  # fmt: skip


def test_absent_target_is_named_and_only_required_ones_decide(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    verdict = judge(make_artifact(make_result(), absent(make_result)), [], {})
    assert (verdict.exit_code, verdict.word) == (0, "pass")
    assert verdict.reasons == ("not measured: absent/lexical/filter: not measured: no engine here",)
    assert verdict.kinds == ("not measured",)
    required = judge(make_artifact(make_result(), absent(make_result, required=True)), [], {})
    assert (required.exit_code, required.word) == (3, "not measured")
    assert "required and not measured: no engine here" in required.reasons[0]


def test_nothing_but_absent_targets_is_5(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    verdict = judge(make_artifact(absent(make_result)), [], {})
    assert (verdict.exit_code, verdict.word) == (5, "not measured")
    assert verdict.reasons[0].endswith("no engine here"), "the cause stands first"


def test_target_without_scores_and_without_a_reason_is_a_failure(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    lost = make_result(name="lost", scores=None, results=(), leaks=None)
    assert judge(make_artifact(make_result(), lost), [], {}).exit_code == 3


@pytest.mark.parametrize("mix", [mix for mix in MIXES if 4 not in mix], ids=str)
def test_an_interrupt_wins_over_all_but_a_leak(ways: Ways, mix: tuple[int, ...]) -> None:
    verdict = ways.judge(*mix, complete=False)
    assert (verdict.exit_code, verdict.word) == (130, "interrupted")
    assert verdict.kinds == ("interrupted", *(WORDS[code] for code in mix))
    assert verdict.reasons[0] == "interrupted: not everything was measured; run it again"


def test_interrupted_run_never_passes_and_its_leaks_stay_leaks(ways: Ways) -> None:
    assert ways.judge(complete=False).exit_code == 130
    verdict = ways.judge(4, complete=False)
    assert (verdict.exit_code, verdict.kinds) == (4, ("leak", "interrupted"))
    assert not any("lets it pass" in reason for reason in ways.judge(5, complete=False).reasons)


def test_an_interrupted_run_does_not_say_that_no_answer_came(make_artifact: MakeArtifact) -> None:
    for complete, told in ((True, "no target gave an answer"), (False, "no target was scored")):
        artifact = replace(make_artifact(), targets=(), complete=complete)
        assert any(told in reason for reason in conclude(artifact, ()).reasons)


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ({}, 0),
        ({"wrong_count": 3}, 3),
        ({"timeout": 1}, 3),
        ({"bad_answer": 1, "wrong_count": 1}, 3),
        ({"tenant_violation": 1}, 4),
        ({"tenant_violation": 1, "timeout": 9}, 4),
    ],
)
def test_failed_requests_of_the_timed_pass(
    make_result: MakeResult, make_artifact: MakeArtifact, errors: dict[str, int], code: int
) -> None:
    verdict = judge(make_artifact(make_result(timings=timings(**errors))), [], {})
    assert verdict.exit_code == code
    if "timeout" in errors:
        assert any("timeout" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("errors", "code"), [({}, 0), ({"timeout": 1}, 3), ({"tenant_violation": 1}, 0)]
)
def test_failed_requests_of_the_second_timing_count_too(
    make_result: MakeResult, make_artifact: MakeArtifact, errors: dict[str, int], code: int
) -> None:
    """A leak of it is among the findings, and judged there."""
    result = make_result(timings=timings())
    noise = Noise(result.target.label, 4, {}, errors)
    assert judge(make_artifact(result, noise=noise), [], {}).exit_code == code


@pytest.mark.parametrize(("overlap", "code"), [(0.95, 0), (0.94, 3)])
def test_timed_answers_that_are_others_are_a_failure(
    make_result: MakeResult, make_artifact: MakeArtifact, overlap: float, code: int
) -> None:
    agreement = Agreement(100, 100, 50, overlap, 0.95)
    found = replace(timings(), agreement=agreement, void="other answers")
    verdict = judge(make_artifact(make_result(timings=found)), [], {})
    assert verdict.exit_code == code
    assert any("times are void: other answers" in r for r in verdict.reasons) is (code == 3)


def test_underfill_that_the_quality_pass_showed_is_judged_by_its_rate(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    result = make_result(timings=timings(wrong_count=3))
    assert result.scores is not None
    counters = {**result.scores.counters, f"underfill_rate@{result.depth}": 0.5}
    short = replace(result, scores=replace(result.scores, counters=counters))
    outcomes: list[tuple[Mode, int]] = [("dense", 0), ("lexical", 3)]
    for mode, code in outcomes:
        asked = replace(short, target=replace(short.target, mode=mode))
        assert judge(make_artifact(asked), [], {}).exit_code == code


def test_a_backend_that_fails_after_it_was_measured_is_a_failure(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    late = make_result(late_failure="30 canary searches failed")
    verdict = judge(make_artifact(late), [], {}, inconclusive_leaks="warn")
    assert verdict.exit_code == 3
    assert "30 canary searches failed" in verdict.reasons[0]


def test_settings_that_moved_void_the_run(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    result = make_result()
    assert result.backend is not None
    moved = replace(result.backend, settings_changed=("ef: 100 before, 40 after",))
    verdict = judge(make_artifact(replace(result, backend=moved)), [], {})
    assert verdict.exit_code == 3
    assert "ef: 100 before, 40 after" in verdict.reasons[0]


@pytest.mark.parametrize("policy", ["stop", "warn"])
@pytest.mark.parametrize("checked", [True, False])
def test_unproven_clean_result(
    make_result: MakeResult, make_artifact: MakeArtifact, policy: Any, checked: bool
) -> None:
    result = make_result()
    assert result.leaks is not None
    leaks = replace(result.leaks, proof="inconclusive", reason="no canaries") if checked else None
    artifact = make_artifact(replace(result, leaks=leaks))
    verdict = judge(artifact, [], {}, inconclusive_leaks=policy)
    assert verdict.word == "inconclusive"
    assert verdict.exit_code == (5 if policy == "stop" else 0)
    assert ("no canaries" if checked else "not checked") in verdict.reasons[0]


def test_a_leak_wins_over_rules_that_cannot_be_used(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    result = make_result()
    assert result.leaks is not None
    leaks = replace(result.leaks, proof="leak", findings=(FINDING,))
    bad = [Rule("minimum", "a", metric="nonsense"), Rule("counter", "b")]
    verdict = judge(make_artifact(replace(result, leaks=leaks)), bad, {})
    assert (verdict.exit_code, verdict.kinds) == (4, ("leak", "refused"))


def test_leak_of_an_optional_target_counts(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    result = make_result(name="extra")
    assert result.leaks is not None
    leaky = replace(result, required=False, leaks=replace(result.leaks, proof="leak"))
    assert judge(make_artifact(make_result(required=True), leaky), [], {}).exit_code == 4


def test_marked_cases_are_judged_without_a_rule(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    verdict = judge(make_artifact(make_result({"c1": ["x1"]}), must_pass=["c1"]), [], {})
    assert verdict.exit_code == 1
    assert "must_pass" in verdict.reasons[0]
    assert judge(make_artifact(make_result(), must_pass=["c1"]), [], {}).exit_code == 0


def test_equal_input_gives_an_equal_verdict(ways: Ways) -> None:
    assert ways.judge(4, 1, 5) == ways.judge(4, 1, 5)


def test_implied_rules_are_told_from_those_of_the_suite(make_artifact: MakeArtifact) -> None:
    rules = [Rule("counter", "mine", counter="errors", value=0)]
    found = judge(make_artifact(must_pass=["c1"]), rules, {}).rules
    assert {rule.rule: rule.implied for rule in found} == {
        "mine": False,
        "counter missing": True,
        "counter out_of_order": True,
        "counter duplicates": True,
        "must_pass": True,
    }


def test_a_baseline_that_cannot_be_read_is_refused(make_artifact: MakeArtifact) -> None:
    verdict = judge(make_artifact(), [], {}, refusals=["b.json: not valid JSON"])
    assert (verdict.word, verdict.exit_code) == ("refused", 2)
    assert verdict.reasons[0] == "refused: b.json: not valid JSON"
