"""Corpora: what is read, what is refused, and with which words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import load_corpus
from retrieverbench.model import Chunk, TenantId

Messages = Callable[[str | bytes], list[str]]

OWNERLESS = "a chunk without owner would be visible to everyone or to no one [G40]"
FIRST = '{"id": "a", "tenant": "acme", "text": "t"}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " no chunk found; an empty corpus cannot answer anything [G06]"),
        ('{"text": "t"}', "1: id: missing; give every chunk a stable string id [G08]"),
        ('{"id": 12, "text": "t"}', '1: id: 12 is a number; write "12" [G09]'),
        (
            '{"id": "a", "_id": "a", "text": "t"}',
            "1: id, _id: both given; keep 'id' [G12]",
        ),
        (
            '{"id": "a", "txt": "t", "text": "t"}',
            "1: txt: unknown field; did you mean 'text'? Extra data belongs in 'metadata' [G13]",
        ),
        ('{"id": " a", "text": "t"}', "1: id: ' a' starts with a blank [G30]"),
        (
            '{"id": "a\\u0000b", "text": "t"}',
            r"1: id: 'a\x00b' holds the control character U+0000; an id is plain text [G30]",
        ),
        (
            '{"id": "a", "doc_id": "d\\n", "text": "t"}',
            r"1: doc_id: 'd\n' holds the control character U+000A; an id is plain text [G30]",
        ),
        (
            '{"id": "caf\u00e9:1", "text": "t"}\n{"id": "cafe\u0301:1", "text": "t"}',
            (
                r"2: 'caf\u00e9:1' and 'cafe\u0301:1' differ only in Unicode normalisation; "
                "they are two ids [G31]"
            ),
        ),
        (
            FIRST + '{"id": "b", "tenant": "Acme", "text": "t"}',
            "2: 'acme' and 'Acme' differ only in case; they are two ids [G31]",
        ),
        (
            '{"id": "hr:12", "tenant": "acme", "text": "t"}\n' * 2,
            (
                "2: id: 'hr:12' of tenant 'acme' is already in line 1; "
                "ids are unique within a tenant [G38]"
            ),
        ),
        (
            '{"id": "a", "text": " ", "title": ""}',
            "1: text: blank; a chunk without text cannot be found [G39]",
        ),
        (FIRST + '{"id": "b", "text": "t"}', f"2: tenant: missing; {OWNERLESS}"),
        (FIRST + '{"id": "b", "tenant": null, "text": "t"}', f"2: tenant: null; {OWNERLESS}"),
        (FIRST + '{"id": "b", "tenant": "", "text": "t"}', f"2: tenant: empty; {OWNERLESS}"),
        (
            FIRST + '{"id": "b", "tenant": ["acme"], "text": "t"}',
            f'2: tenant: ["acme"] is a list; {OWNERLESS}',
        ),
        (
            FIRST + '{"id": "b", "tenant": "a b", "text": "t"}',
            (
                "2: tenant: 'a b' does not match '[A-Za-z0-9][A-Za-z0-9._-]*'; "
                "rename it or widen tenant_pattern in the suite [G40]"
            ),
        ),
        (
            '{"id": "a", "text": ["t"], "title": "x"}',
            '1: text: ["t"] is a list; write it as text in quotes [G46]',
        ),
        (
            '{"id": "a", "text": "t", "section": 0}',
            "1: section: 0 is not a whole number from 1 on; correct it [G46]",
        ),
        (
            '{"id": "a", "text": "t", "span": [5, 2]}',
            "1: span: [5, 2] is not [start, end) in characters; write two whole numbers [G46]",
        ),
        (
            '{"id": "a", "text": "t", "status": "old"}',
            "1: status: 'old' is not a known value; write one of current, superseded [G46]",
        ),
        (
            '{"id": "a", "text": "t", "metadata": {"tags": ["x"], "year": 2024}}',
            (
                " metadata.tags: left out of 1 chunk; "
                "a filter needs text, a number, or true or false [G50]"
            ),
        ),
    ],
)
def test_message(corpus_messages: Messages, text: str, message: str) -> None:
    assert corpus_messages(text) == [message]


def test_every_fault_of_the_file_is_told_at_once(corpus_messages: Messages) -> None:
    text = FIRST + '{"id": "a", "tenant": "acme", "text": ""}\n{broken\n' + FIRST
    codes = [m[-5:] for m in corpus_messages(text)]
    assert codes == ["[G39]", "[G38]", "[G03]", "[G38]"]


def test_chunks_of_refused_tenants_repeat_no_ids(corpus_messages: Messages) -> None:
    text = "".join(FIRST.replace('"acme"', f'"{name}"') for name in ("a*", "b*", "c"))
    assert [message[-5:] for message in corpus_messages(text)] == ["[G40]", "[G40]"]


def test_one_id_in_two_tenants_is_fine(corpus_messages: Messages) -> None:
    assert corpus_messages(FIRST + '{"id": "a", "tenant": "globex", "text": "t"}') == []


def test_all_fields(tmp_path: Path) -> None:
    path = tmp_path / "support-corpus.jsonl"
    line = {
        "id": "refund/deadlines#1",
        "tenant": "acme",
        "text": "30 days",
        "title": "Deadlines",
        "doc_id": "refund",
        "heading_path": ["Refunds", "Deadlines"],
        "section": 1,
        "span": [0, 7],
        "status": "superseded",
        "metadata": {"year": 2024, "public": True, "tenant": "kept where a tenant is given"},
    }
    path.write_text(json.dumps(line))
    corpus = load_corpus(path)
    assert corpus.name == "support-corpus"
    assert corpus.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert tuple(corpus.chunks) == (
        Chunk(
            id="refund/deadlines#1",
            tenant=TenantId("acme"),
            text="30 days",
            title="Deadlines",
            doc_id="refund",
            heading_path=("Refunds", "Deadlines"),
            section=1,
            span=(0, 7),
            status="superseded",
            metadata={
                "year": 2024,
                "public": True,
                "tenant": "kept where a tenant is given",
            },
        ),
    )


def test_beir_lines_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    line = {
        "_id": "d1",
        "title": "T",
        "text": "",
        "metadata": {"tenant": "acme", "doc_id": "d", "lang": "de"},
    }
    path.write_text(json.dumps(line))
    [chunk] = load_corpus(path).chunks
    assert chunk == Chunk("d1", TenantId("acme"), "", "T", doc_id="d", metadata={"lang": "de"})


def test_without_any_tenant_everything_belongs_to_one(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "t"}\n')
    assert [c.tenant for c in load_corpus(path).chunks] == [TenantId("all")]


def test_a_wider_pattern_lets_other_names_in(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "tenant": "für alle", "text": "t"}\n')
    with pytest.raises(InputError, match="G40"):
        load_corpus(path)
    assert load_corpus(path, tenant_pattern=".+").chunks[0].tenant == TenantId("für alle")
