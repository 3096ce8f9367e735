"""Counters over rows: lists, forbidden chunks, underfill, abstention."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from retrieverbench.metrics.counters import Counters, count, over_tenants
from retrieverbench.metrics.rows import join
from retrieverbench.model import CaseResult, GoldenCase, GoldenSet, Run, Target, TenantId

ACME = TenantId("acme")


def hits(text: str) -> tuple[tuple[str, float], ...]:
    """`a3 b2` is chunk a with score 3, then b with score 2."""
    return tuple((f"acme/{word[0]}", float(word[1:])) for word in text.split())


def counted(
    cases: Sequence[GoldenCase],
    lists: Sequence[str],
    *,
    visible: dict[str, int] | None = None,
    floor: float | None = None,
    k: int = 2,
    superseded: Sequence[str] = (),
) -> Counters:
    results = [CaseResult(c.id, "ok", hits(text)) for c, text in zip(cases, lists, strict=True)]
    run = Run(Target("m", "memory", "dense"), 5, tuple(results), "engine")
    rows = join(run, GoldenSet("s", 1, "", tuple(cases)), superseded)
    return count(rows, [k], visible=visible, floor=floor)


def asked(name: str, relevant: str = "a", forbidden: str = "") -> GoldenCase:
    return GoldenCase(name, "?", ACME, relevant=tuple(relevant), forbidden=tuple(forbidden))


def silent(name: str) -> GoldenCase:
    return GoldenCase(name, "?", ACME, relevant=(), unanswerable=True)


def test_lists_that_are_unusual_are_counted() -> None:
    counters = counted(
        [asked("1"), asked("2"), asked("3"), asked("4")],
        ["a3 b2 a1 a0", "a1 b2", "a2 b2 c2", ""],
    )
    assert (counters["duplicates"], counters["duplicate_cases"]) == (2, 1)
    assert counters["out_of_order"] == 1
    assert (counters["ties"], counters["ties_at_cut@2"]) == (1, 1)
    depths = [counters[f"depth_{word}"] for word in ("min", "median", "max")]
    assert depths == [0, 2.5, 4]


def test_underfill_is_judged_by_what_the_tenant_may_see() -> None:
    cases = [asked("1"), asked("2")]
    lists = ["a3 b2", "a3 a2"]
    assert counted(cases, lists)["underfill_rate@2"] == 0.5
    assert counted(cases, lists, visible={"acme": 1})["underfill_rate@2"] == 0.0


def test_judged_share_shortens_to_the_list() -> None:
    counters = counted([asked("1", "ab", "f"), asked("2"), silent("3")], ["x3 f2 a1", "a1", "x1"])
    assert counters["judged@2"] == 0.75


def test_forbidden_chunks_are_counted() -> None:
    cases = [asked("1", "a", "f"), asked("2", "a", "f"), asked("3", "a", "f")]
    counters = counted(cases, ["f3 a2", "a3 f2", "x2 y1"])
    assert (counters["forbidden@2"], counters["forbidden_rate@2"]) == (2, 2 / 3)
    assert counters["forbidden_first"] == 1


def test_superseded_chunks_are_forbidden_unless_relevant() -> None:
    counters = counted([asked("1")], ["a3 s2"], superseded=["acme/a", "acme/s"])
    assert counters["forbidden@2"] == 1


def test_foreign_chunks_forbidden_by_name() -> None:
    case = GoldenCase("1", "?", ACME, relevant=("a",), forbidden_foreign=("acme/z",))
    assert counted([case], ["z3 a2"])["forbidden@2"] == 1


def test_a_forbidden_chunk_earns_nothing() -> None:
    case = GoldenCase("1", "?", ACME, grades={"a": 1, "f": 0}, forbidden=("f",))
    run = Run(Target("m", "m", "dense"), 5, (), "engine")
    assert join(run, GoldenSet("s", 1, "", (case,)), ())[0].grades == {"acme/a": 1}


def test_abstention() -> None:
    cases = [silent("1"), silent("2"), asked("3"), asked("4")]
    counters = counted(cases, ["", "x1", "a1", ""])
    assert counters["abstention_rate"] == 0.5
    assert counters["false_answer_rate"] == 0.5
    assert counters["false_abstention_rate"] == 0.5
    assert counters["abstention_accuracy"] == 0.5
    assert counters["abstention_auc"] is None


def test_a_floor_makes_weak_results_an_abstention() -> None:
    counters = counted([silent("1"), asked("2")], ["x1", "a2"], floor=1.5)
    assert (counters["abstention_rate"], counters["false_abstention_rate"]) == (1.0, 0.0)


def test_the_area_under_the_curve_counts_ties_a_half() -> None:
    """Five of each: 3 beats all, 2 beats four and ties one, and an empty list loses."""
    cases = [*(silent(f"u{n}") for n in range(5)), *(asked(f"a{n}") for n in range(5))]
    lists = ["x2", "x1", "x1", "x1", "x1", "a3", "a2", "", "", ""]
    assert counted(cases, lists)["abstention_auc"] == pytest.approx((5 + 4.5) / 25)


def test_a_share_of_nothing_is_undefined() -> None:
    counters = count([], [2], visible=None, floor=None)
    undefined = {name for name, value in counters.items() if value is None}
    assert {"abstention_rate", "underfill_rate@2", "judged@2", "depth_min"} <= undefined
    assert counters["cases"] == counters["errors"] == 0


def test_tenants_without_a_mean_are_not_zero() -> None:
    counters = over_tenants({"a": {"mrr": 0.5}, "b": {"mrr": None}})
    assert counters == {"tenant_macro:mrr": 0.5, "worst_tenant:mrr": 0.5}
