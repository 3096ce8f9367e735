"""Ownership is decided by our own record, never by what an answer says of itself."""

from __future__ import annotations

import pytest

from retrieverbench.leaks import check_result, foreign_hits, foreign_texts, make_ledger
from retrieverbench.leaks.ledger import wrong_labels
from retrieverbench.model import CaseResult, Chunk, Hit, Target, TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
LEDGER = make_ledger([Chunk("1", ACME, "same text"), Chunk("1", GLOBEX, "same text")])
TARGET = Target("fake", "fake", "dense")


def test_same_id_and_text_in_two_tenants_are_two_chunks() -> None:
    assert LEDGER == {"acme/1": ACME, "globex/1": GLOBEX}


def test_foreign_and_unknown_are_findings_with_rank_and_owner() -> None:
    found = foreign_hits(
        ["acme/1", "globex/1", "acme/2", "globex/1"],
        ACME,
        LEDGER,
        target="t",
        case_id="c",
        seen_in="quality",
    )
    assert [(f.uid, f.rank, f.owner) for f in found] == [
        ("globex/1", 2, "globex"),
        ("acme/2", 3, None),
        ("globex/1", 4, "globex"),
    ]
    assert {(f.target, f.case_id, f.tenant, f.seen_in) for f in found} == {
        ("t", "c", "acme", "quality")
    }


def test_a_name_that_begins_like_the_tenant_proves_nothing() -> None:
    ledger = {"acme/1": GLOBEX}
    assert len(foreign_hits(["acme/1"], ACME, ledger, target="t", case_id="c", seen_in="x")) == 1


@pytest.mark.parametrize(
    ("result", "tenant", "expected"),
    [
        (CaseResult("a", "ok", (("acme/1", 1.0),)), ACME, []),
        (
            CaseResult("g", "ok", (("globex/1", 1.0), ("acme/1", 0.5))),
            GLOBEX,
            [("g", "acme/1", 2, "acme")],
        ),
        (
            CaseResult("e", "error", (), "bad_answer", "4 hits", ("acme/1", "globex/1", "ghost")),
            ACME,
            [("e", "globex/1", 2, "globex"), ("e", "ghost", 3, None)],
        ),
    ],
    ids=["own", "foreign", "refused"],
)
def test_every_answer_is_judged_refused_ones_too(
    result: CaseResult, tenant: TenantId, expected: list[tuple[str, str, int, str | None]]
) -> None:
    found = check_result(result, tenant, LEDGER, "fake/dense/filter")
    assert [(f.case_id, f.uid, f.rank, f.owner) for f in found] == expected
    assert {f.target for f in found} <= {"fake/dense/filter"}


def test_an_id_without_its_tenant_is_foreign_and_explained() -> None:
    (found,) = foreign_hits(["1"], ACME, LEDGER, target="t", case_id="c", seen_in="quality")
    assert found.owner is None
    assert "'acme/1' is a chunk" in (found.hint or "")
    (other,) = foreign_hits(["zzz"], ACME, LEDGER, target="t", case_id="c", seen_in="quality")
    assert other.hint is None


def test_a_label_of_any_type_that_is_not_the_owner_is_told_as_text() -> None:
    hits = [Hit("acme/1", 1.0, label) for label in ("acme", None, "globex", ["acme"])]  # type: ignore[arg-type]
    found = list(wrong_labels(hits, ["acme/1"] * len(hits), LEDGER))
    assert [each.label for each in found] == ["globex", "['acme']"]
    assert len(set(found)) == 2


def test_an_own_id_with_a_text_that_only_others_own_is_a_leak() -> None:
    texts = {"the words of globex alone": {GLOBEX}, "the words that both have": {ACME, GLOBEX}}
    rows = [(text, "acme/1") for text in (*texts, "the words of nobody at all", "short", None)]
    rows.append(("the words of globex alone", "globex/1"))  # found by its uid
    found = foreign_texts(
        [Hit(uid, 1.0, text=text) for text, uid in rows],
        [uid for _, uid in rows],
        ACME,
        LEDGER,
        lambda text: frozenset(texts.get(text, ())),
        target="t",
        case_id="c",
    )
    assert [(each.rank, each.uid, each.owner, each.seen_in) for each in found] == [
        (1, "acme/1", "globex", "text")
    ]
