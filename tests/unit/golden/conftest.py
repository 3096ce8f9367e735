"""A small corpus of two tenants, and functions that say what a loader complains of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import load_corpus, load_golden
from retrieverbench.model import Corpus, GoldenSet

CHUNKS: list[dict[str, object]] = [
    {"id": "hr:12", "tenant": "acme", "text": "A refund within 30 days.", "doc_id": "hr"},
    {"id": "hr:13", "tenant": "acme", "text": "Leave is 25 days; form A-17.", "doc_id": "hr"},
    {"id": "it/vpn#1", "tenant": "acme", "text": "The VPN needs a token.", "doc_id": "it"},
    {"id": "CACM-0861", "tenant": "acme", "text": "An old paper."},
    {
        "id": "hr-2023#1",
        "tenant": "acme",
        "text": "A refund within 14 days.",
        "doc_id": "hr-2023",
        "status": "superseded",
    },
    {"id": "gx:3", "tenant": "globex", "text": "Leave is 20 days.", "doc_id": "gx"},
    {"id": "gx:4", "tenant": "globex", "text": "The VPN needs a token.", "doc_id": "gx"},
    {"id": "hr:12", "tenant": "globex", "text": "No refund.", "doc_id": "hr"},
]

Messages = Callable[[str | bytes], list[str]]
WriteLines = Callable[[Path, list[dict[str, object]]], Path]


@pytest.fixture
def write_lines() -> WriteLines:
    """Write objects as JSONL."""

    def write(path: Path, objects: list[dict[str, object]]) -> Path:
        text = "".join(f"{json.dumps(o, ensure_ascii=False)}\n" for o in objects)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def corpus_path(tmp_path: Path, write_lines: WriteLines) -> Path:
    return write_lines(tmp_path / "corpus.jsonl", CHUNKS)


@pytest.fixture
def corpus(corpus_path: Path) -> Corpus:
    return load_corpus(corpus_path)


@pytest.fixture
def golden(tmp_path: Path, corpus: Corpus) -> Callable[[str | bytes], GoldenSet]:
    """Load a golden set from the text of its file."""

    def load(text: str | bytes) -> GoldenSet:
        path = tmp_path / "set.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_golden(path, corpus)

    return load


@pytest.fixture
def golden_messages(tmp_path: Path, golden: Callable[[str | bytes], GoldenSet]) -> Messages:
    """Errors or warnings of a golden set without its path, and without the one on versions."""

    def messages(text: str | bytes) -> list[str]:
        try:
            lines = golden(text).warnings
        except InputError as error:
            lines = error.faults
        prefix = f"{tmp_path / 'set.jsonl'}:"
        return [line.removeprefix(prefix) for line in lines if "[G48]" not in line]

    return messages


@pytest.fixture
def corpus_messages(tmp_path: Path) -> Messages:
    """Errors or warnings of a corpus without its path."""

    def messages(text: str | bytes) -> list[str]:
        path = tmp_path / "chunks.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        try:
            lines = load_corpus(path).warnings
        except InputError as error:
            lines = error.faults
        return [line.removeprefix(f"{path}:") for line in lines]

    return messages
