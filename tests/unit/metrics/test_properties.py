"""What must hold for every list and every judgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.metrics import score_run, score_trec
from retrieverbench.model import CaseResult, GoldenCase, GoldenSet, Run, Target, TenantId

METRICS = (
    *("precision", "recall", "capped_recall", "hit", "mrr", "ndcg", "ndcg_lin", "ap"),
)  # each at a cut
UNCUT = ("mrr", "ap", "ndcg", "ndcg_lin", "rprec")
K = 4
NAMES = [f"{name}@{K}" for name in METRICS] + list(UNCUT)
RANKED = ["mrr", "ap", "ndcg", "ndcg_lin", f"mrr@{K}", f"ndcg@{K}", f"ndcg_lin@{K}"]

chunks = st.sampled_from("abcdefghij")
grades = st.dictionaries(chunks, st.integers(0, 3), min_size=1).filter(lambda g: any(g.values()))
rankings = st.lists(chunks, unique=True, max_size=10)
with_repeats = st.lists(chunks, max_size=12)


def values(
    ids: Sequence[str], judged: Mapping[str, int], names: Sequence[str] = NAMES
) -> list[float]:
    """Each metric of one list whose scores fall strictly."""
    run = {"q": [(chunk, -float(rank)) for rank, chunk in enumerate(ids)]}
    per_query = score_trec(run, {"q": judged}, names)["per_query"]
    return [value for name in names if (value := per_query[name]["q"]) is not None]


def at_most(left: Sequence[float], right: Sequence[float]) -> bool:
    return all(a <= b + 1e-12 for a, b in zip(left, right, strict=True))


@given(with_repeats, grades)
def test_every_value_lies_between_0_and_1(ids: list[str], judged: dict[str, int]) -> None:
    assert len(values(ids, judged)) == len(NAMES)
    assert all(0.0 <= value <= 1.0 for value in values(ids, judged))


@given(with_repeats, grades)
def test_more_positions_never_lower_recall_hit_and_found(
    ids: list[str], judged: dict[str, int]
) -> None:
    for name in ("recall", "hit", "ap"):
        growing = values(ids, judged, [f"{name}@{k}" for k in range(1, 13)])
        assert growing == sorted(growing)


@given(rankings, grades, st.data())
def test_exchanging_two_unjudged_chunks_changes_nothing(
    ids: list[str], judged: dict[str, int], data: st.DataObject
) -> None:
    ids = [*ids, "x", "y"]
    order = data.draw(st.permutations(ids))
    swapped = [{"x": "y", "y": "x"}.get(chunk, chunk) for chunk in order]
    assert values(order, judged) == values(swapped, judged)


@given(rankings.filter(lambda ids: len(ids) > 1), grades, st.data())
def test_moving_a_better_chunk_up_never_lowers_a_ranked_metric(
    ids: list[str], judged: dict[str, int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(ids) - 1))
    above, below = ids[place - 1], ids[place]
    if judged.get(below, 0) >= judged.get(above, 0):
        moved = [*ids[: place - 1], below, above, *ids[place + 1 :]]
        assert at_most(values(ids, judged, RANKED), values(moved, judged, RANKED))


@given(rankings.filter(bool), grades, st.data())
def test_a_duplicate_never_raises_anything(
    ids: list[str], judged: dict[str, int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(ids)))
    repeated = [*ids[:place], data.draw(st.sampled_from(ids[:place])), *ids[place:]]
    assert at_most(values(repeated, judged), values(ids, judged))


@given(with_repeats, grades)
def test_renaming_ids_changes_nothing(ids: list[str], judged: dict[str, int]) -> None:
    """Also where the new names sort the other way round."""
    names = {chunk: f"{9 - place}-{chunk}" for place, chunk in enumerate("abcdefghij")}
    renamed = {names[chunk]: grade for chunk, grade in judged.items()}
    assert values([names[c] for c in ids], renamed) == values(ids, judged)


@given(grades)
def test_a_perfect_list_is_1_and_its_reverse_is_not(judged: dict[str, int]) -> None:
    perfect = sorted(judged, key=lambda chunk: -judged[chunk])
    names = ["ndcg", "ndcg_lin", "mrr", "hit@10", "ap", "rprec"]
    assert values(perfect, judged, names) == [1.0] * len(names)
    if len(set(judged.values())) > 1:
        assert values(perfect[::-1], judged, ["ndcg"])[0] < 1.0


def golden(cases: Sequence[GoldenCase], results: Sequence[CaseResult]) -> list[float | None]:
    run = Run(Target("m", "memory", "dense"), 12, tuple(results), "engine")
    means = score_run(run, GoldenSet("s", 1, "", tuple(cases)), NAMES).means
    return [means[name].value for name in NAMES]


cases = st.lists(st.tuples(with_repeats, grades), min_size=1, max_size=6)


def built(
    parts: Sequence[tuple[list[str], dict[str, int]]],
) -> tuple[list[GoldenCase], list[CaseResult]]:
    asked = [
        GoldenCase(f"c{n}", "?", TenantId("acme"), grades=judged)
        for n, (_, judged) in enumerate(parts)
    ]
    results = [
        CaseResult(f"c{n}", "ok", tuple((f"acme/{c}", -float(r)) for r, c in enumerate(ids)))
        for n, (ids, _) in enumerate(parts)
    ]
    return asked, results


@given(cases, st.randoms())
def test_the_order_of_cases_changes_no_bit(
    parts: list[tuple[list[str], dict[str, int]]], random: object
) -> None:
    asked, results = built(parts)
    assert golden(asked, results) == golden(asked[::-1], results[::-1])


@given(cases, with_repeats)
def test_an_unanswerable_case_changes_no_ranking_mean(
    parts: list[tuple[list[str], dict[str, int]]], ids: list[str]
) -> None:
    asked, results = built(parts)
    more = GoldenCase("u", "?", TenantId("acme"), relevant=(), unanswerable=True)
    answer = CaseResult("u", "ok", tuple((f"acme/{c}", -float(r)) for r, c in enumerate(ids)))
    assert golden([*asked, more], [*results, answer]) == golden(asked, results)


@given(cases, st.sampled_from(["error", "missing"]))
def test_a_failed_case_never_raises_a_mean(
    parts: list[tuple[list[str], dict[str, int]]], word: str
) -> None:
    asked, results = built(parts)
    more = GoldenCase("f", "?", TenantId("acme"), relevant=("a",))
    failed = [CaseResult("f", "error", code="timeout")] if word == "error" else []
    before = [value or 0.0 for value in golden(asked, results)]
    after = [value or 0.0 for value in golden([*asked, more], [*results, *failed])]
    assert at_most(after, before)
