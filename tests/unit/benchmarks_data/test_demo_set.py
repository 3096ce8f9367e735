"""The demo golden set: free of faults, and as varied and as hard as it claims to be."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from retrieverbench.golden import load_set
from retrieverbench.model import Chunk, Corpus, GoldenCase, GoldenSet

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
TENANTS = {"fernhill", "fernhill-labs", "kestrelpay", "mosaic", "brightwater", "tamarind"}
TOPICS = {"leave", "refunds", "api", "incidents", "security", "contracts"}
Loaded = tuple[Corpus, GoldenSet]


@pytest.fixture(scope="module")
def demo() -> Loaded:
    return load_set(BENCHMARKS / "golden" / "demo.v1.jsonl", BENCHMARKS / "corpora" / "demo.jsonl")


def by_identity(corpus: Corpus) -> dict[tuple[str, str], Chunk]:
    return {(chunk.tenant.value, chunk.id): chunk for chunk in corpus.chunks}


def owners_by_text(corpus: Corpus) -> dict[str, list[Chunk]]:
    groups: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in corpus.chunks:
        groups[chunk.text].append(chunk)
    return {text: chunks for text, chunks in groups.items() if len(chunks) > 1}


def answerable(golden: GoldenSet) -> list[GoldenCase]:
    return [case for case in golden.cases if not case.unanswerable]


def test_loads_with_its_manifest_and_without_warnings(demo: Loaded) -> None:
    _, golden = demo
    assert (golden.name, golden.version) == ("demo", 1)
    assert golden.warnings == ()
    assert not any(case.needs_review for case in golden.cases)


def test_each_tenant_has_a_corpus_of_comparable_size(demo: Loaded) -> None:
    corpus, _ = demo
    sizes = Counter(chunk.tenant.value for chunk in corpus.chunks)
    assert set(sizes) == TENANTS
    assert all(40 <= size <= 60 for size in sizes.values()), sizes


def test_each_tenant_writes_about_every_topic(demo: Loaded) -> None:
    corpus, _ = demo
    pairs = {(chunk.tenant.value, chunk.metadata["topic"]) for chunk in corpus.chunks}
    assert pairs == {(tenant, topic) for tenant in TENANTS for topic in TOPICS}


def test_chunks_are_paragraphs_with_document_and_headings_as_title(demo: Loaded) -> None:
    corpus, _ = demo
    for chunk in corpus.chunks:
        assert 40 <= len(chunk.text.split()) <= 120, chunk.uid
        assert chunk.title.endswith(" > ".join(chunk.heading_path)), chunk.uid
        assert chunk.id.startswith(f"{chunk.doc_id}/"), chunk.uid
        assert chunk.id.endswith(f"#{chunk.section}"), chunk.uid
        assert set(chunk.metadata) == {"topic", "year", "language"}, chunk.uid


def test_identical_texts_lie_in_different_tenants_in_part_under_one_id(demo: Loaded) -> None:
    corpus, _ = demo
    groups = owners_by_text(corpus)
    assert len(groups) >= 6
    for text, chunks in groups.items():
        assert len({chunk.tenant for chunk in chunks}) == len(chunks), text
    same_id = [chunks for chunks in groups.values() if len({chunk.id for chunk in chunks}) == 1]
    assert len(same_id) >= 3


def test_each_tenant_has_superseded_documents_that_no_case_demands(demo: Loaded) -> None:
    corpus, golden = demo
    chunks = by_identity(corpus)
    superseded = {key for key, chunk in chunks.items() if chunk.status == "superseded"}
    assert {tenant for tenant, _ in superseded} == TENANTS
    for case in golden.cases:
        for chunk_id, grade in (case.grades or {}).items():
            if (case.tenant.value, chunk_id) in superseded:
                assert grade == 0, f"{case.id}: {chunk_id}"


def test_listed_chunks_are_those_of_the_manifests_relevance_level(demo: Loaded) -> None:
    _, golden = demo
    for case in answerable(golden):
        assert case.grades is not None, case.id
        graded = {i for i, grade in case.grades.items() if grade >= golden.relevance_level}
        assert set(case.relevant or ()) == graded, case.id
    grades = {grade for case in answerable(golden) for grade in (case.grades or {}).values()}
    assert grades == {0, 1, 2, 3}


def test_request_kinds_are_present_and_mean_what_they_say(demo: Loaded) -> None:
    corpus, golden = demo
    chunks = by_identity(corpus)
    kinds = Counter(case.kind for case in golden.cases)
    assert all(kinds[k] >= 10 for k in ("fact", "identifier", "multi_chunk", "unanswerable"))
    assert len(answerable(golden)) >= 90
    for case in answerable(golden):
        documents = {chunks[case.tenant.value, i].doc_id for i in case.relevant or ()}
        assert (case.kind == "multi_chunk") == (len(documents) > 1), case.id
        if case.kind == "identifier":
            assert any(character.isdigit() for character in case.query), case.id


def test_every_category_and_tenant_has_enough_cases(demo: Loaded) -> None:
    _, golden = demo
    categories = Counter(case.category for case in golden.cases)
    assert set(categories) == TOPICS
    assert min(categories.values()) >= 5
    assert min(Counter(case.tenant.value for case in golden.cases).values()) >= 10


def test_one_question_of_several_tenants_has_an_answer_in_each(demo: Loaded) -> None:
    _, golden = demo
    askers: dict[str, list[GoldenCase]] = defaultdict(list)
    for case in golden.cases:
        askers[case.query].append(case)
    groups = [cases for cases in askers.values() if len(cases) > 1]
    assert len(groups) >= 5
    assert max(map(len, groups)) == len(TENANTS)
    for cases in groups:
        assert len({case.tenant for case in cases}) == len(cases)
        assert all(case.relevant for case in cases)


def test_variants_forbidden_chunks_must_pass_and_sources(demo: Loaded) -> None:
    _, golden = demo
    variants = {case.variant for case in golden.cases if case.parent is not None}
    assert {"typo", "paraphrase", "shorthand", "mixed_script", "translation"} <= variants
    assert sum(bool(case.forbidden) for case in golden.cases) >= 20
    assert 3 <= sum(case.must_pass for case in golden.cases) <= 15
    origins = Counter((case.source or "").partition("-")[0] for case in golden.cases)
    assert set(origins) == {"ticket", "log", "expert", "incident", "synthetic", "adversarial"}
    assert origins["synthetic"] < 0.4 * len(golden.cases)
