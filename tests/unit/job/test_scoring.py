"""What the artifact tells of a golden set, beside its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from retrieverbench.job.scoring import golden_record, slice_records
from retrieverbench.model import Chunk, Corpus, GoldenCase, GoldenSet, TenantId

ACME = TenantId("acme")
CASES = (
    GoldenCase("a", "one", ACME, ("1",), forbidden=("2",)),
    GoldenCase("b", "three", ACME, None, {"1": 1, "2": 3, "3": 2, "4": 0}),
    GoldenCase("c", "none", ACME, (), unanswerable=True),
)
CHUNKS = tuple(
    Chunk(str(n), ACME, "text", status="superseded" if n > 4 else "current") for n in range(1, 7)
)


@pytest.mark.parametrize(
    ("metrics", "ceilings"),
    [
        (["Precision@2"], {"precision@2": (1 / 2 + 2 / 2) / 2}),
        (["precision@5", "precision@5-l3"], {"precision@5": 0.4, "precision@5-l3": 0.2}),
        (["precision@1", "ndcg@10", "recall@5"], {}),
    ],
)
def test_the_highest_precision_is_that_of_answers_with_every_relevant_chunk(
    metrics: Sequence[str], ceilings: dict[str, float]
) -> None:
    golden, corpus = GoldenSet("s", 1, "a" * 64, CASES), Corpus("c", CHUNKS, "b" * 64)
    record = golden_record(golden, corpus, metrics)
    assert record.ceilings == pytest.approx(ceilings)
    assert record.superseded == 2
    assert record.forbidding == 1
    assert record.no_relevant == 0
    assert golden_record(replace(golden, relevance_level=4), corpus, metrics).no_relevant == 1


def test_a_slice_has_its_own_cases_and_the_superseded_chunks_of_its_tenants() -> None:
    other = GoldenCase("d", "two", TenantId("birch"), ("1",))
    golden = GoldenSet("s", 1, "a" * 64, (*CASES, other))
    corpus = Corpus("c", (*CHUNKS, Chunk("1", TenantId("birch"), "text")), "b" * 64)
    found = {(f, v): part for f, v, part in slice_records(golden, corpus, ["precision@2"])}
    acme, birch = found["tenant", "acme"], found["tenant", "birch"]
    assert (acme.cases, acme.forbidding, acme.superseded, acme.unanswerable) == (3, 1, 2, 1)
    assert (birch.cases, birch.forbidding, birch.superseded, birch.unanswerable) == (1, 0, 0, 0)
    assert birch.ceilings == {"precision@2": 0.5}
