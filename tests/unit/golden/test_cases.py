"""One line becomes one case, in each of the accepted spellings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import load_corpus, load_golden
from retrieverbench.model import GoldenSet, TenantId

Messages = Callable[[str | bytes], list[str]]
Load = Callable[[str | bytes], GoldenSet]

RIGHT: dict[str, object] = {
    "id": "c",
    "tenant": "acme",
    "query": "How long?",
    "relevant_chunk_ids": ["hr:12"],
}


def case(**fields: object) -> str:
    """A line that is right but for the fields given; None takes a field away."""
    return json.dumps({k: v for k, v in {**RIGHT, **fields}.items() if v is not None})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": None}, "1: id: missing; give every case a stable string id [G08]"),
        ({"id": " "}, "1: id: blank; give every case a stable string id [G08]"),
        ({"id": 12}, '1: id: 12 is a number; write "12" [G09]'),
        ({"id": [1]}, "1: id: [1] is not a string; write a string [G09]"),
        (
            {"id": "c\t"},
            r"1: id: 'c\t' holds the control character U+0009; an id is plain text [G30]",
        ),
        ({"query": None}, "1: query: missing; write the question as it was asked [G11]"),
        ({"query": " "}, "1: query: blank; write the question as it was asked [G11]"),
        (
            {"query": "\u200b\u2060"},
            "1: query: blank; write the question as it was asked [G11]",
        ),
        ({"id": "\u0301"}, "1: id: blank; give every case a stable string id [G08]"),
        ({"query": 5}, "1: query: 5 is a number; write the question as it was asked [G11]"),
        (
            {"question": "How long?"},
            "1: query, question: both given; keep 'query' [G12]",
        ),
        (
            {"relevant_chunk_ids": None, "relevent": ["hr:12"], "relevance": {"hr:12": 1}},
            (
                "1: relevent: unknown field; did you mean 'relevant'? "
                "Extra data belongs in 'meta' [G13]"
            ),
        ),
        ({"zzz 1": 1}, "1: 'zzz 1': unknown field; extra data belongs in 'meta' [G13]"),
        (
            {"tenant": None},
            (
                "1: tenant: missing, the corpus has 2 tenants; "
                "name the asking tenant or set default_tenant in the manifest [G23]"
            ),
        ),
        (
            {"tenant": "Acme"},
            "1: tenant: 'Acme' is not in the corpus; did you mean 'acme'? [G24]",
        ),
        (
            {"tenant": "zz"},
            "1: tenant: 'zz' is not in the corpus; its tenants are 'acme', 'globex' [G24]",
        ),
        ({"tenant": 7}, "1: tenant: 7 is int, not text; name one tenant [G24]"),
        (
            {"tenant": "a b"},
            (
                "1: tenant: 'a b' does not match '[A-Za-z0-9][A-Za-z0-9._-]*'; "
                "rename it or widen tenant_pattern in the suite [G24]"
            ),
        ),
        (
            {"must_pass": "yes"},
            "1: must_pass: 'yes' is a string; write true or false [G46]",
        ),
        ({"answer": 30}, "1: answer: 30 is a number; write it as text in quotes [G46]"),
        ({"meta": []}, "1: meta: [] is a list; write an object [G46]"),
        (
            {"kind": "facts"},
            (
                "1: kind: 'facts' is not a known value; "
                "write one of fact, identifier, multi_chunk, unanswerable [G46]"
            ),
        ),
        (
            {"needs_review": True},
            '1: review.reason: missing; write "review": {"reason": "…"} [G37]',
        ),
        (
            {"needs_review": True, "review": {"reason": "text_changed", "lost": ["hr:12"]}},
            (
                "1: review.lost[0]: 'hr:12' is in the corpus; "
                "the case does not need review for it [G37]"
            ),
        ),
        (
            {"needs_review": True, "review": {"reason": "text_changed", "lost": "gone"}},
            "1: review.lost: 'gone' is a string; write [\"gone\"] [G37]",
        ),
        (
            {"needs_review": True, "review": {"reason": "text_gone", "lost": ["gone"]}},
            (
                "1: review.lost[0]: 'gone' is no label of this case; keep lost labels listed, "
                "so that they stay in the denominators [G37]"
            ),
        ),
    ],
)
def test_message(golden_messages: Messages, fields: dict[str, object], message: str) -> None:
    assert golden_messages(case(**fields)) == [message]


def test_of_many_tenants_five_are_named(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    chunks = [{"id": "a", "tenant": f"t{i}", "text": "t"} for i in range(7)]
    corpus.write_text("\n".join(map(json.dumps, chunks)))
    path = tmp_path / "set.jsonl"
    path.write_text(case(tenant="other", relevant_chunk_ids=["a"]))
    with pytest.raises(InputError, match="its tenants are 't0', 't1', 't2', 't3', 't4', …"):
        load_golden(path, load_corpus(corpus))


def test_a_wrong_review_is_told_once(golden_messages: Messages) -> None:
    messages = golden_messages(case(needs_review=True, review="later", forbidden=7))
    assert [m[-5:] for m in messages] == ["[G37]", "[G16]", "[G46]"]


def test_every_fault_of_a_line_is_told(golden_messages: Messages) -> None:
    line = case(id=None, query="", tenant="nobody", relevant_chunk_ids=["zzz"], kind="x")
    codes = {m[-4:-1] for m in golden_messages(line)}
    assert codes == {"G08", "G11", "G24", "G14", "G46"}


@pytest.mark.parametrize(
    "line",
    [
        {"id": "c", "tenant": "acme", "query": "How long?", "relevant": ["hr:12"]},
        {"id": "c", "tenant_id": "acme", "question": "How long?", "expectedChunkIds": ["hr:12"]},
        {**RIGHT, "answer": None, "relevance": None},
    ],
)
def test_spellings_of_the_sources_and_nulls(golden: Load, line: dict[str, object]) -> None:
    [found] = golden(json.dumps(line)).cases
    [right] = golden(json.dumps(RIGHT)).cases
    assert found == right


def test_all_fields(golden: Load) -> None:
    parent = case()
    line = case(
        id="c-typo",
        query="how lng?",
        answer="30 days",
        category="hr",
        kind="identifier",
        source="adversarial",
        parent="c",
        variant="typo",
        must_pass=True,
        needs_review=True,
        review={"reason": "text_changed"},
        lang="en",
        notes="n",
        meta={"ticket": 5},
        anchors={"hr:12": {"quote": "A refund within"}},
    )
    found = golden(f"{parent}\n{line}").cases[1]
    assert (found.id, found.query, found.tenant) == ("c-typo", "how lng?", TenantId("acme"))
    assert (found.answer, found.category, found.kind) == ("30 days", "hr", "identifier")
    assert (found.source, found.parent, found.variant) == ("adversarial", "c", "typo")
    assert (found.must_pass, found.needs_review) == (True, True)
    assert found.review == {"reason": "text_changed"}
    assert (found.lang, found.notes, found.meta) == ("en", "n", {"ticket": 5})
    assert found.anchors == {"hr:12": {"quote": "A refund within"}}
    assert found.line == 2


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "fact"),
        ({"relevant_chunk_ids": ["hr:12", "hr:13"]}, "fact"),
        ({"relevant_chunk_ids": ["hr:12", "it/vpn#1"]}, "multi_chunk"),
        ({"relevant_chunk_ids": [], "unanswerable": True}, "unanswerable"),
        ({"relevant_chunk_ids": ["hr:13"], "query": "What is A-17?"}, "identifier"),
        ({"relevant_chunk_ids": None, "relevance": {"hr:13": 1, "it/vpn#1": 0}}, "fact"),
        ({"kind": "identifier"}, "identifier"),
    ],
)
def test_kind(golden: Load, fields: dict[str, object], kind: str) -> None:
    assert golden(case(**fields)).cases[0].kind == kind
