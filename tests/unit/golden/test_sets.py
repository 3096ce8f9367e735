"""Set and corpus together, and selections."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieverbench.errors import InputError
from retrieverbench.golden import load_corpus, load_golden, load_set, select_cases
from retrieverbench.model import GoldenSet, TenantId

WriteLines = Callable[[Path, list[dict[str, object]]], Path]
Load = Callable[[str | bytes], GoldenSet]

CASE: dict[str, object] = {"id": "c", "tenant": "acme", "query": "q", "relevant": ["hr:12"]}


def test_all_faults_of_both_files_are_told_at_once(tmp_path: Path, write_lines: WriteLines) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"id": "hr:12", "tenant": "acme", "text": ""}\n'
        '{"id": "hr:13", "tenant": "a b", "text": "t"}\n'
        '{"id": "hr:14", "text": "t"}\n'
    )
    cases = [{**CASE, "relevant": ["hr:12", "hr:13", "hr:14", "hr:99"], "query": ""}]
    path = write_lines(tmp_path / "set.jsonl", cases)
    with pytest.raises(InputError) as caught:
        load_set(path, corpus)
    faults = [fault.removeprefix("warning: ") for fault in caught.value.faults]
    told = [(f.split(":")[0].rpartition("/")[2], f[-4:-1]) for f in faults]
    assert told == [
        ("corpus.jsonl", "G39"),
        ("corpus.jsonl", "G40"),
        ("corpus.jsonl", "G40"),
        ("set.jsonl", "G11"),
        ("set.jsonl", "G14"),
        ("set.jsonl", "G48"),
    ]


@pytest.mark.parametrize(
    ("line", "code"), [(b'{"id": "hr:12", "tenant": "acme", "text": "\xff"}', "G01"), (b"{", "G03")]
)
def test_a_line_that_cannot_be_read_is_not_blamed_on_the_labels(
    tmp_path: Path, write_lines: WriteLines, line: bytes, code: str
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(line + b'\n{"id": "hr:12", "tenant": "globex", "text": "t"}\n')
    path = write_lines(tmp_path / "set.jsonl", [{**CASE, "forbidden": ["hr:13"]}])
    with pytest.raises(InputError) as caught:
        load_set(path, corpus)
    errors = [fault for fault in caught.value.faults if not fault.startswith("warning")]
    assert [error[-4:-1] for error in errors] == [code]


def test_an_empty_corpus_is_not_blamed_on_the_labels(
    tmp_path: Path, write_lines: WriteLines
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("")
    path = write_lines(tmp_path / "set.jsonl", [CASE])
    with path.open("a") as file:
        file.write("{broken")
    with pytest.raises(InputError) as caught:
        load_set(path, corpus)
    assert [f[-4:-1] for f in caught.value.faults] == ["G06", "G03"]


def test_both_files_missing_are_both_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_set(tmp_path / "set.jsonl", tmp_path / "corpus.jsonl")
    assert len(caught.value.faults) == 2


def test_warnings_go_to_their_owner(tmp_path: Path, write_lines: WriteLines) -> None:
    corpus_path = tmp_path / "corpus.jsonl"
    corpus_path.write_text('{"id": " hr:12", "tenant": "acme", "text": "t"}\n')
    path = write_lines(tmp_path / "set.jsonl", [{**CASE, "relevant": [" hr:12"]}])
    corpus, golden = load_set(path, corpus_path)
    assert corpus.warnings == (f"{corpus_path}:1: id: ' hr:12' starts with a blank [G30]",)
    assert [w[-4:-1] for w in golden.warnings] == ["G48", "G30"]


def test_the_callers_tenant_asks_where_none_is_named(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    case = {k: v for k, v in CASE.items() if k != "tenant"}
    path = write_lines(tmp_path / "set.jsonl", [case])
    golden = load_golden(path, load_corpus(corpus_path), default_tenant="acme")
    assert golden.cases[0].tenant == TenantId("acme")


def test_a_corpus_without_tenants_needs_none_in_the_cases(
    tmp_path: Path, write_lines: WriteLines
) -> None:
    corpus = write_lines(tmp_path / "corpus.jsonl", [{"id": "a", "text": "t"}])
    path = write_lines(tmp_path / "set.jsonl", [{"id": "c", "query": "q", "relevant": ["a"]}])
    _, golden = load_set(path, corpus)
    assert golden.cases[0].tenant == TenantId("all")


def test_selection(golden: Load) -> None:
    cases = [
        {**CASE, "category": "contract"},
        {**CASE, "id": "d", "query": "r", "category": "fact"},
        {**CASE, "id": "e", "query": "s", "category": "fact", "tenant": "globex"},
    ]
    whole = golden("\n".join(map(json.dumps, cases)))
    selected = select_cases(whole, {"category": "fact", "tenant": "globex"})
    assert [c.id for c in selected.cases] == ["e"]
    assert selected.sha256 == whole.sha256
    with pytest.raises(InputError) as caught:
        select_cases(whole, {"category": "contarct"})
    assert caught.value.faults == (
        "set: category = 'contarct' selects no case; categories: contract, fact [G43]",
    )
    with pytest.raises(InputError, match="values of language: none"):
        select_cases(whole, {"language": "de"})


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["hr:12", "acme", "c", "", " ", "fact", "gone"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
fields = st.sampled_from(
    [
        *("id", "tenant", "tenant_id", "query", "question", "relevant", "relevant_chunk_ids"),
        *("relevance", "forbidden", "forbidden_docs", "unanswerable", "answer", "kind"),
        *("parent", "variant", "must_pass", "needs_review", "review", "anchors", "meta"),
        *("text", "title", "doc_id", "heading_path", "section", "span", "status", "metadata"),
    ]
)


@given(st.lists(st.dictionaries(fields, anything), max_size=3), st.binary(max_size=20))
@settings(max_examples=150, deadline=None)
def test_whatever_a_file_holds_it_is_read_or_refused(
    changes: list[dict[str, object]], tail: bytes
) -> None:
    """A traceback is a defect, whatever type a field has."""
    with TemporaryDirectory() as folder:
        path, corpus_path = Path(folder) / "set.jsonl", Path(folder) / "corpus.jsonl"
        chunk = {"id": "hr:12", "tenant": "acme", "text": "t"}
        for file, right in ((path, CASE), (corpus_path, chunk)):
            lines = [right, *({**right, **change} for change in changes)]
            file.write_bytes("\n".join(map(json.dumps, lines)).encode() + b"\n" + tail)
        with suppress(InputError):
            load_set(path, corpus_path)
