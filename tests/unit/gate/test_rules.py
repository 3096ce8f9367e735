"""Rules that make no sense are refused before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.gate import reach_faults, rule_faults
from retrieverbench.gate.rules import applies_to
from retrieverbench.model import GoldenRecord, Rule, Target

TARGETS = [Target("pg", "pgvector", "dense"), Target("mem", "memory", "lexical")]
GOOD: dict[str, dict[str, Any]] = {
    "minimum": {"metric": "Recall@10", "value": 0.5},
    "maximum": {"metric": "false_answer_rate", "value": 0.5},
    "baseline": {"metric": "nDCG@10"},
    "tolerance": {"metric": "MRR", "tolerance": 0.03},
    "counter": {"counter": "errors", "value": 0},
    "must_pass": {},
}


def faults(*rules: Rule) -> list[str]:
    return rule_faults(rules, TARGETS, "s.toml")


def rule(kind: Any = "minimum", **changes: Any) -> Rule:
    fields = {**GOOD.get(kind, {}), **changes}
    return Rule(kind=kind, name=str(fields.pop("name", kind)), line=7, **fields)


@pytest.mark.parametrize("kind", GOOD)
def test_good_rules_have_no_fault(kind: str) -> None:
    assert faults(rule(kind)) == []


@pytest.mark.parametrize("name", ["pg", "pg/dense", "pg/dense/filter"])
def test_targets_by_name_mode_or_label(name: str) -> None:
    named = rule(targets=(name,))
    assert faults(named) == []
    assert [applies_to(named, target) for target in TARGETS] == [True, False]
    assert all(applies_to(rule(), target) for target in TARGETS)


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (rule(value=None), "value: missing; a 'minimum' rule needs it"),
        (rule("tolerance", tolerance=None), "tolerance: missing; a 'tolerance' rule needs it"),
        (rule("baseline", tolerance=0.1), "tolerance: a 'baseline' rule has no such key; remove"),
        (rule("must_pass", value=1), "value: a 'must_pass' rule has no such key"),
        (rule("counter", metric="MRR"), "metric: a 'counter' rule has no such key"),
        (rule("minimun"), "kind: 'minimun' is not known; did you mean 'minimum'?"),
        (rule(metric="Recal@10"), "metric: 'Recal@10' is not known; did you mean 'recall@10'?"),
        (rule(metric="Recall"), "metric: 'Recall' has no cut; write recall@10"),
        (rule(metric="forbidden_rate"), "metric: 'forbidden_rate' has no cut; write forb"),
        (rule(metric="abstention_rate@5"), "metric: 'abstention_rate@5' takes no cut"),
        (rule(metric="worst_tenant"), "metric: 'worst_tenant' names no metric; write worst_"),
        (rule(metric="worst_tenant:recal@3"), "metric: 'recal@3' is not known"),
        (rule("counter", counter="erors"), "counter: 'erors' is not known; did you mean 'errors'"),
        (
            rule("counter", counter="forbidden@x"),
            "counter: 'forbidden@x' is not known; did you mean 'forbidden@10'?",
        ),
        (
            rule("counter", counter="underfil_rate"),
            "counter: 'underfil_rate' is not known; did you mean 'underfill_rate@10'?",
        ),
        (
            rule("counter", counter="underfil_rate@5"),
            "counter: 'underfil_rate@5' is not known; did you mean 'underfill_rate@5'?",
        ),
        (
            rule("counter", counter="worst_tenan"),
            "counter: 'worst_tenan' is not known; did you mean 'worst_tenant:ndcg@10'?",
        ),
        (
            rule("counter", counter="zzz"),
            "counter: 'zzz' is not known; known: abstention_accuracy, ",
        ),
        (rule("counter", counter="underfill_rate"), "counter: 'underfill_rate' has no cut"),
        (rule("counter", counter="errors@5"), "counter: 'errors@5' takes no cut"),
        (rule("counter", counter="ties:x"), "counter: 'ties:x' takes no ':'"),
        (rule("counter", counter="abstention_rate"), "counter: 'abstention_rate' is better when"),
        (rule(value=85), "value: 85 is above 1; metrics are shares, write 0.85 for 85 %"),
        (
            rule(value=-0.1),
            "value: -0.1 cannot fail: Recall@10 is never below 0 here; write a limit",
        ),
        (rule(value=0.0), "value: 0 cannot fail: Recall@10 is never below 0 here; write a limit"),
        (rule(metric="cases", value=0), "value: 0 cannot fail: cases is never below 0 here; write"),
        (rule(metric="robustness:mrr", value=-1), "value: -1 cannot fail: robustness:mrr is "),
        (rule("maximum", value=1), "value: 1 cannot fail: false_answer_rate is never above 1"),
        (rule("maximum", value=-0.1), "value: -0.1 cannot be met: false_answer_rate is never"),
        (rule("counter", counter="forbidden_rate@5", value=1.0), "value: 1 cannot fail: forb"),
        (rule("counter", counter="underfill_rate@5", value=5), "value: 5 is above 1; metrics are"),
        (rule(value=float("nan")), "value: nan is not a finite number"),
        (rule("counter", value=float("inf")), "value: inf is not a finite number"),
        (rule("tolerance", tolerance=1.0), "tolerance: 1 is not in 0..1"),
        (rule(slice={"tenat": "a"}), "slice.tenat: unknown field; did you mean 'tenant'?"),
        (rule(slice={"tenant": "a", "lang": "en"}), "slice: name one field"),
        (rule("must_pass", slice={"tenant": "a"}), "slice: a 'must_pass' rule has no such key"),
        (rule(targets=("pgg",)), "targets: no target 'pgg'; did you mean 'pg'?"),
    ],
)
def test_fault(bad: Rule, fault: str) -> None:
    (found,) = faults(bad)
    assert found.startswith(f"s.toml:7: rules.0.{fault}")


def record(ceilings: dict[str, float]) -> GoldenRecord:
    return GoldenRecord("g", 1, "", "c", "", 12, 20, 2, 1, 0, 2, ceilings=ceilings)


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (rule("counter", value=1e18), "value: 1e+18 cannot fail: errors is never above 12 here"),
        (rule("counter", value=12), "value: 12 cannot fail"),
        (rule("counter", value=11), ""),
        (rule("counter", counter="errors:timeout", value=12), "value: 12 cannot fail"),
        (rule("counter", counter="duplicates", value=119), ""),
        (rule("counter", counter="duplicates", value=120), "value: 120 cannot fail"),
        (rule("counter", counter="forbidden@3", value=36), "value: 36 cannot fail"),
        (rule("counter", counter="unknown_cases", value=1e18), ""),
        (rule(metric="cases", value=100), "value: 100 judges no answer: cases is always 12 here"),
        (rule("counter", counter="unanswerable", value=1), "value: 1 judges no answer"),
        (rule("counter", counter="needs_review", value=0), "value: 0 judges no answer"),
        (rule("counter", counter="forbidden@5", value=0), ""),
        (
            rule(metric="worst_tenant:P@5", value=0.3),
            "value: 0.3 cannot be met: worst_tenant:P@5 is never above 0.25 here",
        ),
        (
            rule(metric="depth_min", value=11),
            "value: 11 cannot be met: depth_min is never above 10",
        ),
        (rule(metric="P@5", value=0.3), "value: 0.3 cannot be met: P@5 is never above 0.25 here"),
        (rule(metric="P@5", value=0.25), ""),
        (rule("maximum", metric="Precision@3-l2", value=0.3), "value: 0.3 cannot fail"),
        (rule("maximum", metric="P@3", value=0.3), "value: 0.3 cannot fail"),
        (rule(metric="P@5", value=0.3, slice={"tenant": "a"}), ""),
        (rule(metric="P@5", value=0.5, slice={"tenant": "a"}), "value: 0.5 cannot be met"),
        (rule("counter", counter="no_relevant", value=0), "value: 0 judges no answer"),
        (rule("counter", counter="forbidden@5", value=10), "value: 10 cannot fail"),
        (rule("maximum", metric="forbidden_rate@5", value=0.2), "value: 0.2 cannot fail"),
        (rule("counter", counter="forbidden_first", value=2), "value: 2 cannot fail"),
        (rule("counter", counter="forbidden_first", value=1), ""),
        (
            rule(metric="abstention_rate", value=0.5, slice={"tenant": "a"}),
            "metric: abstention_rate has no value here: no case is unanswerable",
        ),
        (rule(metric="Recall@5", value=0.5, slice={"kind": "k"}), "metric: Recall@5 has no value"),
        (rule("must_pass"), "kind: no case of the golden set is marked must_pass"),
        (rule(slice={"tenant": "b"}), "slice: slice tenant=b has no cases; known: a"),
        (rule(slice={"lang": "en"}), "slice: slice lang=en has 4 cases; a rule needs 5"),
        (rule("counter", value=6, slice={"tenant": "a"}), "value: 6 cannot fail"),
        (
            rule("counter", counter="forbidden@5", value=0, slice={"tenant": "a"}),
            "value: 0 judges no answer: forbidden@5 is always 0 here",
        ),
    ],
)
def test_limits_that_no_answer_to_the_set_breaks_or_keeps(made: Rule, fault: str) -> None:
    golden = record({"precision@5": 0.25, "precision@3-l2": 0.3})
    golden = replace(golden, forbidding=2, no_relevant=0)
    plain = replace(golden, unanswerable=0, forbidding=0)
    slices = {
        ("tenant", "a"): replace(plain, cases=6, ceilings={"precision@5": 0.4}),
        ("lang", "en"): replace(plain, cases=4),
        ("kind", "k"): replace(plain, cases=5, unanswerable=3, no_relevant=2),
    }
    keys = ("value", "metric", "kind", "slice")
    lines: dict[tuple[str | int, ...], int] = {("rules", 0, key): 9 for key in keys}
    found = reach_faults([made], golden, 10, "s.toml", lines, slices)
    assert [line.startswith(f"s.toml:9: rules.0.{fault}") for line in found] == [True] * bool(fault)


@pytest.mark.parametrize(
    "made",
    [
        rule("counter", counter="forbidden@5", value=0),
        rule("counter", counter="forbidden_first", value=0),
        rule("maximum", metric="forbidden_rate@5", value=0.05),
    ],
)
def test_a_set_that_forbids_nothing_cannot_judge_what_is_forbidden(made: Rule) -> None:
    def found(**fields: Any) -> list[str]:
        return reach_faults([made], replace(record({}), **fields), 10, "s.toml")

    (fault,) = found(forbidding=0)
    assert "is always 0 here, by the golden set and its corpus alone" in fault
    assert found(forbidding=1) == found(forbidding=0, superseded=1) == found() == []


@pytest.mark.parametrize(
    "counter", ["errors:timeout", "underfill_rate@10", "forbidden@3", "duplicates", "ties_at_cut@5"]
)
def test_counters_with_their_parts(counter: str) -> None:
    assert faults(rule("counter", counter=counter)) == []


def test_the_line_is_that_of_the_key_where_it_is_known() -> None:
    bad = [
        rule(metric="Recal@10", value=85, targets=("pgg",)),
        rule(name="b", value=None, slice={"tenat": "a"}),
    ]
    lines = {
        ("rules", 0): 7,
        ("rules", 0, "metric"): 9,
        ("rules", 0, "targets"): 11,
        ("rules", 1, "metric"): 21,
        ("rules", 1, "slice"): 23,
    }
    found = rule_faults(bad, TARGETS, "s.toml", lines)
    assert [fault.split(": ")[0:2] for fault in found] == [
        ["s.toml:9", "rules.0.metric"],
        ["s.toml:11", "rules.0.targets"],
        ["s.toml:7", "rules.1.value"],
        ["s.toml:23", "rules.1.slice.tenat"],
    ]


def test_one_name_twice() -> None:
    assert faults(rule(name="a"), rule(name="b"), rule(name="a")) == [
        "s.toml:7: rules.2.name: 'a' also names rules.0; give each rule a name of its own"
    ]
