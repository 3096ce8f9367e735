"""Scoring a run of a golden set: who is in which mean, and what stands beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from retrieverbench.errors import InputError
from retrieverbench.metrics import score_run
from retrieverbench.model import (
    CaseResult,
    CaseValue,
    GoldenCase,
    GoldenSet,
    Run,
    Scores,
    Target,
    TenantId,
    make_uid,
)

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
DENSE = Target("memory", "memory", "dense")


def case(name: str, *relevant: str, tenant: TenantId = ACME, **more: object) -> GoldenCase:
    base = GoldenCase(id=name, query="?", tenant=tenant, relevant=relevant or None)
    return replace(base, **more)  # type: ignore[arg-type]


def answer(name: str, chunks: Iterable[str], tenant: TenantId = ACME) -> CaseResult:
    """An answer of the tenant's own chunks with falling scores."""
    hits = tuple((make_uid(tenant, c), 10.0 - rank) for rank, c in enumerate(chunks))
    return CaseResult(name, "ok", hits)


def scored(
    cases: Sequence[GoldenCase],
    results: Sequence[CaseResult],
    *metrics: str,
    level: int = 1,
    depth: int = 5,
    **options: object,
) -> Scores:
    golden = GoldenSet("set", 1, "", tuple(cases), relevance_level=level)
    run = Run(DENSE, depth, tuple(results), "engine")
    return score_run(run, golden, metrics or ("recall@5",), **options)  # type: ignore[arg-type]


def test_a_mean_is_over_cases_and_not_over_chunks() -> None:
    """1 of 1 and 1 of 4 found: 0.625, not 0.4."""
    scores = scored(
        [case("a", "1"), case("b", "1", "2", "3", "4")], [answer("a", "1"), answer("b", "1x")]
    )
    mean = scores.means["recall@5"]
    assert (mean.value, mean.n, mean.counted_as_zero) == (0.625, 2, 0)
    assert scores.cases["recall@5"]["b"] == CaseValue(0.25)


def test_a_failure_has_no_value_and_counts_as_zero() -> None:
    error = CaseResult("b", "error", code="timeout", message="no answer")
    scores = scored([case("a", "1"), case("b", "1"), case("c", "1")], [answer("a", "1"), error])
    mean = scores.means["recall@5"]
    assert (mean.value, mean.n, mean.counted_as_zero, mean.answered) == (1 / 3, 3, 2, 1.0)
    assert scores.cases["recall@5"]["b"] == CaseValue(None, "error:timeout")
    assert scores.cases["recall@5"]["c"] == CaseValue(None, "missing")
    assert (scores.counters["errors"], scores.counters["missing"]) == (1, 1)
    assert scores.counters["errors:timeout"] == 1


def test_without_any_answer_there_is_no_mean() -> None:
    scores = scored([case("a", "1")], [CaseResult("a", "error", code="timeout")])
    assert scores.means["recall@5"].value is None
    assert scores.means["recall@5"].n == 1


def test_an_empty_answer_is_a_result() -> None:
    scores = scored([case("a", "1")], [answer("a", "")], "recall@5", "mrr", "ndcg@5")
    assert [mean.value for mean in scores.means.values()] == [0.0, 0.0, 0.0]


def test_a_bad_score_makes_the_case_an_error() -> None:
    bad = CaseResult("a", "ok", ((make_uid(ACME, "1"), math.nan),))
    scores = scored([case("a", "1")], [bad])
    assert scores.cases["recall@5"]["a"] == CaseValue(None, "error:bad_score")
    assert scores.counters["errors:bad_score"] == 1


def test_unanswerable_and_irrelevant_cases_are_left_out() -> None:
    cases = [
        case("a", "1"),
        case("u", relevant=(), unanswerable=True),
        case("z", grades={"1": 0}),
    ]
    failed = CaseResult("z", "error", code="reset")
    scores = scored(cases, [answer("a", "1"), answer("u", "1"), failed])
    assert scores.means["recall@5"].n == 1
    assert scores.cases["recall@5"]["u"].reason == "unanswerable"
    assert scores.cases["recall@5"]["z"].reason == "no_relevant"
    assert (scores.counters["unanswerable"], scores.counters["no_relevant"]) == (1, 1)


def test_another_tenants_chunk_of_the_same_id_is_not_relevant() -> None:
    scores = scored([case("a", "1")], [answer("a", "1", tenant=GLOBEX)])
    assert scores.means["recall@5"].value == 0.0


def test_list_and_grades_are_two_views() -> None:
    """The lesson's refund case: the list has the grade-3 chunk, the grade-2 one earns nDCG."""
    refund = case("a", "policy", grades={"policy": 3, "faq": 2, "shipping": 0})
    scores = scored(
        [refund], [answer("a", ["faq", "policy"])], "recall@1", "recall@1-l2", "mrr", "ndcg@1"
    )
    values = {name: mean.value for name, mean in scores.means.items()}
    assert values == {"recall@1": 0.0, "recall@1-l2": 0.5, "mrr": 0.5, "ndcg@1": 3 / 7}
    assert scores.view == "list"


def test_the_level_of_the_set_is_part_of_the_name() -> None:
    graded = case("a", grades={"1": 3, "2": 1})
    scores = scored([graded], [answer("a", "21")], "recall@1", "ndcg@1", level=2)
    assert {name: mean.value for name, mean in scores.means.items()} == {
        "recall@1-l2": 0.0,
        "ndcg@1": 1 / 7,
    }
    assert scores.view == "level 2"
    assert scores.asked == {"recall@1": "recall@1-l2"}


def test_a_case_without_a_relevant_chunk_at_the_level_is_left_out_even_if_it_failed() -> None:
    cases = [case("a", grades={"1": 3}), case("b", grades={"1": 1})]
    scores = scored(cases, [answer("a", "1")], "recall@5-l3", "recall@5")
    assert scores.means["recall@5-l3"].n == 1
    assert scores.means["recall@5"].n == 2
    assert scores.view == "level 1"


def test_both_views_are_told_where_cases_differ() -> None:
    cases = [case("a", "1"), case("b", grades={"1": 1})]
    assert scored(cases, []).view == "list, level 1"


def test_a_metric_that_cannot_be_computed_is_refused() -> None:
    with pytest.raises(InputError, match="needs 10 results, the run asked for 5"):
        scored([case("a", "1")], [], "recall@10")
    with pytest.raises(InputError, match="needs grades"):
        scored([case("a", "1")], [], "recall@5-l2")
    with pytest.raises(InputError, match="two results"):
        scored([case("a", "1")], [answer("a", "1"), answer("a", "2")])


def test_only_the_depth_counts() -> None:
    """What a backend returns beyond the depth is not seen."""
    scores = scored([case("a", "1")], [answer("a", "xyz1")], "mrr", depth=3)
    assert scores.means["mrr"].value == 0.0


def test_another_convention_is_part_of_the_name() -> None:
    scores = scored([case("a", "1")], [answer("a", "x")], "ndcg@5", convention="trec_eval")
    assert list(scores.means) == ["ndcg_lin@5/trec_eval"]
    assert scores.asked == {"ndcg@5": "ndcg_lin@5/trec_eval"}


def test_slices_have_their_own_means_and_counters() -> None:
    cases = [
        case("a", "1", category="fact", source="ticket-12"),
        case("b", "1", tenant=GLOBEX, source="log:7", needs_review=True),
        case("c", "1", tenant=GLOBEX, parent="b", variant="typo"),
    ]
    results = [answer("a", "1"), answer("b", "x", tenant=GLOBEX), answer("c", "x1", tenant=GLOBEX)]
    scores = scored(cases, results, "mrr")
    slices = {(s.field, s.value): (s.n, s.means["mrr"].value) for s in scores.slices}
    assert slices[("tenant", "globex")] == (2, 0.25)
    assert slices[("category", "fact")] == (1, 1.0)
    assert slices[("source", "ticket")] == (1, 1.0)
    assert slices[("variant", "typo")] == (1, 0.5)
    assert slices[("derived", "no")] == (2, 0.5)
    assert slices[("needs_review", "no")] == (2, 0.75)
    assert ("category", "None") not in slices
    assert scores.counters["tenant_macro:mrr"] == 0.625
    assert scores.counters["worst_tenant:mrr"] == 0.25
    assert scores.counters["robustness:mrr"] == 0.5
    globex = next(s for s in scores.slices if s.value == "globex")
    assert globex.counters["needs_review"] == 1


def test_the_order_of_the_cases_changes_nothing() -> None:
    cases = [case(str(n), "1", category=str(n % 3)) for n in range(9)]
    results = [answer(str(n), "x" * n + "1", ACME) for n in range(5)]
    forth = scored(cases, results, "mrr", "ndcg@5")
    back = scored(cases[::-1], results[::-1], "mrr", "ndcg@5")
    assert repr(forth) == repr(back)


def test_unknown_cases_are_counted_and_ignored() -> None:
    scores = scored([case("a", "1")], [answer("a", "1"), answer("other", "1")])
    assert scores.counters["unknown_cases"] == 1
    assert scores.means["recall@5"].n == 1


def test_the_range_over_orders_of_equal_scores() -> None:
    hits = tuple((make_uid(ACME, c), s) for c, s in (("x", 2.0), ("1", 2.0), ("y", 1.0)))
    cases = [case("a", "1"), case("b", "1")]
    scores = scored(cases, [CaseResult("a", "ok", hits), answer("b", "1")], "mrr", "ndcg@1")
    assert scores.cases["mrr"]["a"] == CaseValue(0.5, None, (0.5, 1.0))
    assert scores.cases["mrr"]["b"] == CaseValue(1.0)
    assert scores.means["mrr"].tie_range == (0.75, 1.0)
    assert scores.means["ndcg@1"].tie_range == (0.5, 1.0)


def test_notes_say_what_a_number_does_not_mean() -> None:
    cases = [case("u", unanswerable=True)]
    dense = scored(cases, [answer("u", "1")])
    assert "no score floor: a dense search always returns something" in dense.notes
    assert any("unknown" in note for note in dense.notes)
    known = scored(cases, [answer("u", "1")], visible={"acme": 3}, floor=0.5)
    assert known.notes == ()
    lexical = Run(replace(DENSE, mode="lexical"), 5, (), "engine")
    golden = GoldenSet("set", 1, "", tuple(cases))
    assert any("lexical" in note for note in score_run(lexical, golden, ["mrr"]).notes)
