"""Writes corpora and golden sets in the canonical form: UTF-8, LF, one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from retrieverbench.files import write_whole
from retrieverbench.model import Chunk, GoldenCase, make_uid


def write_corpus(path: Path, chunks: Iterable[Chunk]) -> None:
    """One chunk a line, without vectors."""
    _write(path, map(_chunk_line, chunks))


def write_golden(path: Path, cases: Iterable[GoldenCase]) -> None:
    """One case a line. Reading the file again gives equal cases."""
    _write(path, map(_case_line, cases))


def _write(path: Path, lines: Iterable[dict[str, object]]) -> None:
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    write_whole(path, text.encode())


def _chunk_line(chunk: Chunk) -> dict[str, object]:
    line = {
        "id": chunk.id,
        "tenant": chunk.tenant.value,
        "title": chunk.title or None,
        "text": chunk.text,
        "doc_id": chunk.doc_id,
        "heading_path": list(chunk.heading_path) or None,
        "section": chunk.section,
        "span": None if chunk.span is None else list(chunk.span),
        "status": None if chunk.status == "current" else chunk.status,
        "metadata": dict(chunk.metadata) or None,
    }
    return _without_absent(line)


def _case_line(case: GoldenCase) -> dict[str, object]:
    relevant, grades = case.relevant, case.grades
    line = {
        "id": case.id,
        "tenant": case.tenant.value,
        "query": case.query,
        "relevant_chunk_ids": None if relevant is None else list(relevant),
        "relevance": None if grades is None else dict(grades),
        "forbidden": _listed_forbidden(case) or None,
        "forbidden_docs": list(case.forbidden_docs) or None,
        "unanswerable": case.unanswerable or None,
        "answer": case.answer,
        "category": case.category,
        "kind": case.kind,
        "source": case.source,
        "parent": case.parent,
        "variant": case.variant,
        "must_pass": case.must_pass or None,
        "needs_review": case.needs_review or None,
        "review": dict(case.review) or None,
        "anchors": {i: dict(a) for i, a in case.anchors.items()} or None,
        "lang": case.lang,
        "notes": case.notes,
        "meta": dict(case.meta) or None,
    }
    return _without_absent(line)


def _listed_forbidden(case: GoldenCase) -> list[str]:
    """The forbidden chunks that no forbidden document stands for."""
    by_document = {uid for uids in case.forbidden_docs.values() for uid in uids}
    own = [make_uid(case.tenant, i) for i in case.forbidden]
    uids = [uid for uid in (*own, *case.forbidden_foreign) if uid not in by_document]
    return list(dict.fromkeys(uid.partition("/")[2] for uid in uids))


def _without_absent(line: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in line.items() if value is not None}
