"""What a rule may speak about, and under which name the scores hold it."""

from __future__ import annotations

import pytest

from retrieverbench.gate.subjects import (
    canonical,
    counter_fault,
    counter_value,
    full_name,
    is_lower_better,
    subject_fault,
)
from retrieverbench.model import Scores

SCORES = Scores(
    convention="house",
    depth=10,
    view="level 2",
    means={},
    cases={},
    counters={"errors": 1, "errors:timeout": 1, "abstention_rate": None},
    asked={"recall@5": "recall@5-l2"},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nDCG@10", "ndcg@10"),
        (" Recall_at_5 ", "recall@5"),
        ("false_answer_rate", "false_answer_rate"),
        ("worst_tenant:nDCG@10", "worst_tenant:ndcg@10"),
        ("errors:timeout", "errors:timeout"),
    ],
)
def test_canonical(name: str, expected: str) -> None:
    assert canonical(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@5", "recall@5-l2"),
        ("ndcg@5", "ndcg@5"),
        ("worst_tenant:recall@5", "worst_tenant:recall@5-l2"),
    ],
)
def test_level_of_the_set_is_part_of_the_name(name: str, expected: str) -> None:
    assert full_name(name, SCORES) == expected


@pytest.mark.parametrize("name", ["p95", "P99 ms", "latency_p95", "throughput", "ok/s"])
def test_times_cannot_be_judged_yet(name: str) -> None:
    for fault in (subject_fault(name), counter_fault(name)):
        assert "is a time, and no rule can judge times yet" in (fault or "")


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("ndcg@10", False),
        ("mrr", False),
        ("abstention_rate", False),
        ("worst_tenant:ndcg@10", False),
        ("false_answer_rate", True),
        ("forbidden_rate@5", True),
        ("underfill_rate@10", True),
    ],
)
def test_direction(name: str, lower: bool) -> None:
    assert is_lower_better(name) is lower


def test_counter_values() -> None:
    def value(name: str) -> float | None:
        return counter_value(name, SCORES, SCORES.counters)

    assert value("errors:timeout") == 1
    assert value("errors:auth") == 0
    assert value("abstention_rate") is None
    with pytest.raises(KeyError):
        value("ties")
