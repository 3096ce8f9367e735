"""A manifest is made only of files that pass every check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import make_manifest

WriteLines = Callable[[Path, list[dict[str, object]]], Path]
MAKE: dict[str, Any] = {"date": "2026-01-01", "reason": "r", "rebuilt_by": "", "versions": {}}
CASE: dict[str, object] = {"id": "c", "tenant": "acme", "query": "q", "relevant": ["hr:12"]}


def test_a_name_without_version_is_refused(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    path = write_lines(tmp_path / "demo.jsonl", [CASE])
    with pytest.raises(InputError, match=r"no version in the name; call the file demo\.v1\.jsonl"):
        make_manifest(path, corpus_path, **MAKE)


def test_the_version_before_must_be_there(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    path = write_lines(tmp_path / "demo.v2.jsonl", [CASE])
    with pytest.raises(InputError, match=r"demo\.v1\.jsonl: cannot be read"):
        make_manifest(path, corpus_path, **MAKE)


def test_a_faulty_set_gets_no_manifest(
    tmp_path: Path, write_lines: WriteLines, corpus_path: Path
) -> None:
    path = write_lines(tmp_path / "demo.v1.jsonl", [{**CASE, "relevant": ["zzz"]}])
    with pytest.raises(InputError, match="G14"):
        make_manifest(path, corpus_path, **MAKE)


def test_counts(tmp_path: Path, write_lines: WriteLines, corpus_path: Path) -> None:
    cases = [
        CASE,
        {**CASE, "id": "d", "query": "r", "parent": "c", "variant": "typo"},
        {**CASE, "id": "e", "query": "s", "relevant": [], "unanswerable": True},
        {**CASE, "id": "f", "query": "t", "needs_review": True, "review": {"reason": "x"}},
    ]
    path = write_lines(tmp_path / "demo.v1.jsonl", cases)
    counts = make_manifest(path, corpus_path, **MAKE).counts
    assert (counts.cases, counts.active, counts.needs_review) == (4, 3, 1)
    assert (counts.unanswerable, counts.derived) == (1, 1)
