"""The manifest is the manifest of exactly these files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import (
    load_corpus,
    load_golden,
    load_set,
    make_manifest,
    write_manifest,
)
from retrieverbench.golden.manifest import Grades, Retired, manifest_path, split_name
from retrieverbench.model import TenantId

WriteLines = Callable[[Path, list[dict[str, object]]], Path]

CASES: list[dict[str, object]] = [
    {"id": "c1", "tenant": "acme", "query": "one", "relevant_chunk_ids": ["hr:12"]},
    {"id": "c2", "tenant": "acme", "query": "two", "relevant_chunk_ids": ["hr:13"]},
]
MAKE: dict[str, Any] = {
    "date": "2026-01-01",
    "reason": "first",
    "rebuilt_by": "nobody",
    "versions": {"index": "1"},
}


@pytest.fixture
def first(tmp_path: Path, write_lines: WriteLines, corpus_path: Path) -> Path:
    """Version 1 with its manifest."""
    path = write_lines(tmp_path / "demo.v1.jsonl", CASES)
    write_manifest(path, make_manifest(path, corpus_path, **MAKE))
    return path


def errors(path: Path, corpus_path: Path) -> list[str]:
    """The faults without the folder."""
    with pytest.raises(InputError) as caught:
        load_golden(path, load_corpus(corpus_path))
    return [fault.replace(f"{path.parent}/", "") for fault in caught.value.faults]


def change(path: Path, **fields: object) -> None:
    """Edit the manifest of a set."""
    where = manifest_path(path)
    manifest = {**json.loads(where.read_text()), **fields}
    where.write_text(json.dumps(manifest))


def test_a_fresh_manifest_fits(first: Path, corpus_path: Path) -> None:
    golden = load_golden(first, load_corpus(corpus_path))
    assert (golden.name, golden.version, golden.warnings) == ("demo", 1, ())
    assert golden.sha256 == hashlib.sha256(first.read_bytes()).hexdigest()
    assert golden.versions == {"index": "1", "golden_set": "demo.v1"}
    assert (golden.relevance_level, golden.max_grade) == (1, 3)


def test_a_changed_file_is_refused(first: Path, corpus_path: Path) -> None:
    old = hashlib.sha256(first.read_bytes()).hexdigest()[:8]
    first.write_text(first.read_text().replace("one", "won"))
    new = hashlib.sha256(first.read_bytes()).hexdigest()[:8]
    assert errors(first, corpus_path) == [
        (
            f"demo.v1.jsonl: sha256 is {new}…, the manifest says {old}…; "
            "the file was changed after the bump; restore it, or save it as demo.v2.jsonl, "
            "bump that and name it in the suite [G32]"
        )
    ]


def test_changed_line_endings_are_named(first: Path, corpus_path: Path) -> None:
    first.write_bytes(first.read_bytes().replace(b"\n", b"\r\n"))
    [message] = errors(first, corpus_path)
    assert "…; only the line endings differ (CRLF); restore it, or save" in message


def test_a_versioned_set_without_manifest_is_refused(first: Path, corpus_path: Path) -> None:
    manifest_path(first).unlink()
    assert errors(first, corpus_path) == [
        (
            "demo.v1.jsonl: no manifest beside the set; once it is right: retrieverbench "
            "golden bump demo.v1.jsonl --corpus corpus.jsonl --reason 'first version' [G33]"
        )
    ]


def test_a_version_that_is_being_made_is_checked_without_manifest(
    first: Path, corpus_path: Path
) -> None:
    manifest_path(first).unlink()
    _corpus, golden = load_set(first, corpus_path, manifest_optional=True)
    assert any("no manifest beside the set; once it is right" in w for w in golden.warnings)


def test_an_unversioned_set_without_manifest_is_read_with_a_warning(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    path = write_lines(tmp_path / "demo.jsonl", CASES)
    first = tmp_path / "demo.v1.jsonl"
    golden = load_golden(path, load_corpus(corpus_path))
    assert golden.version is None
    assert golden.warnings == (
        (
            f"{path}: no version in the name and no manifest; a run on this set can neither "
            f"become a baseline nor be compared with one; give it a version: cp {path} {first} "
            f"&& retrieverbench golden bump {first} --corpus {corpus_path} --reason "
            "'first version' [G48]"
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{",
            (
                "unreadable: Expecting property name enclosed in double quotes: "
                "line 1 column 2 (char 1); restore it, or remove it and write it anew"
            ),
        ),
        ("[]", "unreadable: not a JSON object; restore it, or remove it and write it anew"),
    ],
)
def test_an_unreadable_manifest(first: Path, corpus_path: Path, text: str, message: str) -> None:
    manifest_path(first).write_text(text)
    assert errors(first, corpus_path) == [f"demo.v1.manifest.json: {message} [G33]"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {
                "counts": {
                    "cases": 3,
                    "active": 2,
                    "needs_review": 0,
                    "unanswerable": 0,
                    "derived": 0,
                }
            },
            "demo.v1.jsonl: counts.cases: manifest 3, file 2 [G33]",
        ),
        ({"name": "other"}, "demo.v1.jsonl: name: manifest 'other', file 'demo' [G33]"),
        ({"version": 2}, "demo.v1.jsonl: version: manifest 2, file 1 [G33]"),
        (
            {"file": "a.jsonl"},
            "demo.v1.jsonl: file: manifest 'a.jsonl', file 'demo.v1.jsonl' [G33]",
        ),
        (
            {"counts": {"cases": 2}},
            "demo.v1.manifest.json: counts.active: missing; this key is required [G33]",
        ),
        (
            {"licens": "MIT"},
            "demo.v1.manifest.json: licens: unknown key; did you mean 'licence'? [G33]",
        ),
        (
            {"corpus": {"file": "corpus.jsonl", "sha256": "0", "chunks": 8}},
            (
                "corpus.jsonl: the corpus was changed after the bump (corpus.sha256 of the "
                "manifest differs); restore it, or save the set as its next version and bump "
                "that with this corpus [G41]"
            ),
        ),
        (
            {"retired": [{"id": "c0", "reason": " "}]},
            ("demo.v1.jsonl: retired[0].reason: blank; say why 'c0' was taken out [G34]"),
        ),
        (
            {"previous": {"version": 7, "sha256": "9f20000000"}},
            (
                "demo.v1.jsonl: demo.v7.jsonl (sha256 9f200000…) is not there; "
                "old versions are kept [G35]"
            ),
        ),
    ],
)
def test_message(first: Path, corpus_path: Path, fields: dict[str, object], message: str) -> None:
    change(first, **fields)
    assert message in errors(first, corpus_path)


def test_the_size_of_the_corpus_is_compared(first: Path, corpus_path: Path) -> None:
    with corpus_path.open("a") as file:
        file.write('{"id": "new", "tenant": "acme", "text": "t"}\n')
    assert errors(first, corpus_path) == [
        (
            "corpus.jsonl: the corpus was changed after the bump (corpus.sha256 of the manifest "
            "differs); restore it, or save the set as its next version and bump that with this "
            "corpus [G41]"
        ),
        "corpus.jsonl: corpus.chunks: manifest 8, file 9 [G41]",
    ]


def test_no_case_of_the_version_before_is_lost(
    first: Path, corpus_path: Path, write_lines: WriteLines
) -> None:
    second = write_lines(first.with_name("demo.v2.jsonl"), [CASES[0]])
    missing = (
        f"{second}: 'c2' of version 1 is missing; keep it (needs_review) "
        "or list it under 'retired' with a reason [G34]"
    )
    with pytest.raises(InputError) as caught:
        make_manifest(second, corpus_path, **MAKE)
    assert caught.value.faults == (missing,)
    manifest = make_manifest(second, corpus_path, **MAKE, retired=(Retired("c2", "withdrawn"),))
    write_manifest(second, manifest)
    assert load_golden(second, load_corpus(corpus_path)).version == 2
    change(second, retired=[])
    assert errors(second, corpus_path) == [missing.replace(f"{second.parent}/", "")]
    first.write_text(first.read_text() + " ")
    change(second, retired=[{"id": "c2", "reason": "withdrawn"}])
    assert [e[-5:] for e in errors(second, corpus_path)] == ["[G35]"]


def test_a_faulty_line_is_not_counted_as_a_missing_case(first: Path, corpus_path: Path) -> None:
    """Only what is wrong is told, not what follows from it."""
    first.write_text(first.read_text().replace('"two"', '""'))
    assert [e[-5:] for e in errors(first, corpus_path)] == ["[G32]", "[G11]"]


def test_grades_and_tenant_of_the_manifest_apply(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    case: dict[str, object] = {"id": "c", "query": "q", "relevance": {"hr:12": 5, "hr:13": 1}}
    path = write_lines(tmp_path / "demo.v1.jsonl", [case])
    manifest = make_manifest(
        path, corpus_path, **MAKE, grades=Grades(max=5, relevance_level=2), default_tenant="acme"
    )
    write_manifest(path, manifest)
    corpus, golden = load_set(path, corpus_path)
    assert len(corpus.chunks) == 8
    assert (golden.relevance_level, golden.max_grade) == (2, 5)
    assert golden.cases[0].tenant == TenantId("acme")


def test_names_with_versions() -> None:
    assert split_name(Path("a/support.v12.jsonl")) == ("support", 12)
    assert split_name(Path("support.jsonl")) == ("support", None)
    assert split_name(Path("support.v0.jsonl")) == ("support.v0", None)


def test_one_set_and_corpus_have_one_manifest(first: Path, corpus_path: Path) -> None:
    before = manifest_path(first).read_bytes()
    write_manifest(first, make_manifest(first, corpus_path, **MAKE))
    assert manifest_path(first).read_bytes() == before
    assert asdict(make_manifest(first, corpus_path, **MAKE))["counts"] == {
        "cases": 2,
        "active": 2,
        "needs_review": 0,
        "unanswerable": 0,
        "derived": 0,
    }
