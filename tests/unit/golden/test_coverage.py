"""What a set does not ask is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from retrieverbench.golden import coverage_warnings, load_beir
from retrieverbench.golden.coverage import lexical_overlap, origin
from retrieverbench.model import CaseKind, Chunk, Corpus, GoldenCase, GoldenSet, TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
CORPUS = Corpus(
    "c",
    (
        Chunk("new", ACME, "a refund within thirty days"),
        Chunk("old", ACME, "a refund within fourteen days", status="superseded"),
        Chunk("new", GLOBEX, "no refund"),
    ),
    "0",
)
KINDS: tuple[CaseKind, ...] = ("fact", "identifier", "multi_chunk")
VARIANTS = ("typo", "paraphrase", "shorthand", "mixed_script")


def case(number: int, **fields: object) -> GoldenCase:
    right = GoldenCase(
        id=f"c{number}",
        query=f"refund question {number}",
        tenant=ACME,
        relevant=("new",),
        kind=KINDS[number % 3],
        source="ticket-1",
        variant=VARIANTS[number] if number < 4 else None,
        category="refund",
    )
    return replace(right, **fields)  # type: ignore[arg-type]


def complete() -> list[GoldenCase]:
    """A set that leaves nothing to say."""
    cases = [case(i) for i in range(60)]
    cases += [case(i, unanswerable=True, relevant=(), kind="unanswerable") for i in range(60, 66)]
    cases.append(case(66, tenant=GLOBEX, query="refund question 0"))
    cases.append(case(67, forbidden=("old",)))
    return cases


def told(cases: list[GoldenCase], corpus: Corpus = CORPUS) -> tuple[str, ...]:
    return coverage_warnings(GoldenSet("s", 1, "0", tuple(cases)), corpus)


def test_nothing_to_say() -> None:
    assert told(complete()) == ()


def test_no_cases() -> None:
    assert told([])[0] == (
        "s: 0 active, answerable cases, fewer than 50: there is no mean; "
        "add questions from tickets and search logs"
    )


def test_few_cases() -> None:
    assert told(complete()[20:])[0] == (
        "s: 42 active, answerable cases, fewer than 50: one case is 2.4 points; "
        "add questions from tickets and search logs"
    )


def test_cases_that_need_review_are_left_out() -> None:
    cases = [replace(c, needs_review=True) for c in complete()[:60]]
    assert told(cases + complete()[60:])[0].startswith("s: 2 active, answerable cases")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kind": "fact"},
            ("s: kind identifier: 0 cases, fewer than 5; add some or do not read this slice"),
        ),
        (
            {"source": None},
            (
                "s: 68 cases without a known source; write one of ticket, log, expert, incident, "
                "synthetic, adversarial, imported, with a reference after '-' or ':'"
            ),
        ),
        (
            {"source": "synthetic"},
            (
                "s: 100% of the cases are synthetic, more than 40%; "
                "synthetic questions copy the words of the document"
            ),
        ),
        (
            {"unanswerable": False},
            ("s: no unanswerable case; about one in ten shows whether the retriever can abstain"),
        ),
        (
            {"variant": "typo"},
            (
                "s: no question is a paraphrase, shorthand, mixed_script of another; derive some, "
                "each with `variant` (one of these words) and `parent` (the id of the question it "
                "is made of)"
            ),
        ),
        (
            {"forbidden": ()},
            (
                "s: the corpus has 1 superseded chunk, but no case grades one 0 "
                "or forbids it; staleness is not tested"
            ),
        ),
    ],
)
def test_gap_in_all_cases(change: dict[str, object], message: str) -> None:
    assert message in told([replace(c, **change) for c in complete()])  # type: ignore[arg-type]


def test_small_categories() -> None:
    cases = [*complete(), case(70, category="leave")]
    assert told(cases) == ("s: categories with fewer than 5 cases: 'leave' (1); n too small",)


def test_no_question_of_two_tenants() -> None:
    cases = [replace(c, query="other") if c.tenant == GLOBEX else c for c in complete()]
    assert told(cases) == (
        (
            "s: no question is asked by two tenants; one that is "
            "catches a dropped filter and a cache keyed by text"
        ),
    )


def test_one_tenant_need_not_share_questions() -> None:
    assert told([c for c in complete() if c.tenant == ACME]) == ()


def test_synthetic_questions_in_the_words_of_the_document() -> None:
    copied = case(70, source="synthetic", query="refund within thirty days")
    [message] = told([*complete(), copied])
    assert message.startswith("s: lexical overlap with the relevant chunk is 1.00 in synthetic")


def test_a_superseded_chunk_graded_zero_is_a_test_of_staleness() -> None:
    cases = [replace(c, forbidden=()) for c in complete()]
    graded = case(70, relevant=None, grades={"new": 2, "old": 0})
    assert told([*cases, graded]) == ()


def test_twins() -> None:
    twin = Chunk("newer", ACME, CORPUS.chunks[0].text)
    corpus = replace(CORPUS, chunks=(*CORPUS.chunks, twin))
    assert told(complete(), corpus) == (
        (
            "s: 1 group of identical texts within a tenant ('new' and 'newer'); "
            "judge all twins alike or collapse them"
        ),
    )


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("ticket-88213", "ticket"),
        ("incident:7", "incident"),
        ("log", "log"),
        ("tickets", "unknown"),
        (None, "unknown"),
    ],
)
def test_origin(source: str | None, word: str) -> None:
    assert origin(case(1, source=source)) == word


def test_lexical_overlap() -> None:
    assert lexical_overlap("How long, how?", "As LONG as it takes") == 0.5
    assert lexical_overlap("?!", "text") is None


def test_known_twins_of_public_sets(shared: Path) -> None:
    corpus, golden = load_beir(shared / "data" / "chunk-eval")
    twins = [w for w in coverage_warnings(golden, corpus) if "identical texts" in w]
    assert twins[0].startswith("chunk-eval: 59 groups of identical texts")
    corpus, golden = load_beir(shared / "data" / "chorus-ecommerce", ignore_tenants=True)
    twins = [w for w in coverage_warnings(golden, corpus) if "identical texts" in w]
    assert twins[0].startswith("chorus-ecommerce: 292 groups of identical texts")
