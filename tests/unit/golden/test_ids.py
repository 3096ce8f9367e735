"""Odd ids."""

from __future__ import annotations

import pytest

from retrieverbench.golden.faults import Faults
from retrieverbench.golden.ids import (
    Names,
    edge_fault,
    is_placeholder,
    is_positional,
    trimmed,
    warn_positional,
)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("hr:12", None),
        ("h r", None),
        ("h\tr", None),
        (" hr", "starts with a blank"),
        ("hr ", "ends with a blank"),
        ("\u3000hr", "starts with a control character"),
        ("hr\n", "ends with a control character"),
        ("\u200bhr", "starts with a control character"),
    ],
)
def test_edges(value: str, fault: str | None) -> None:
    assert edge_fault(value) == fault
    assert (trimmed(value) == value) is (fault is None)


@pytest.mark.parametrize(
    "value", ["REPLACE_DOC_ID", "TODO", "YOUR-CHUNK-ID", "<chunk id>", "{{id}}", "${ID}", "..."]
)
def test_placeholders(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["replace-filter", "TODOLIST", "todo", "hr:12", "a<b>"])
def test_no_placeholders(value: str) -> None:
    assert not is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["doc_1_chunk_7", "doc#offset-5120..5632", "chatlogs#0-1175", "a.md:chunk-3"]
)
def test_positional(value: str) -> None:
    assert is_positional(value)


@pytest.mark.parametrize(
    "value", ["doc-441/payment/deadlines#2", "hr:12", "chunk", "https://a.b/c#part-two", "p582edc"]
)
def test_not_positional(value: str) -> None:
    assert not is_positional(value)


def test_positional_ids_are_told_when_they_are_the_rule() -> None:
    faults = Faults("f")
    warn_positional(["doc_1_chunk_7", "hr:1"], faults)
    assert faults.found == []
    warn_positional(["doc_1_chunk_7", "doc_1_chunk_8", "hr:1"], faults)
    assert faults.lines(warnings=True) == [
        (
            "f: ids look like offsets or ordinals ('doc_1_chunk_7'); "
            "the next re-chunking breaks them, name chunks by document and heading [G44]"
        )
    ]


@pytest.mark.parametrize(
    ("wrong", "known"),
    [("CACM-861", "CACM-0861"), ("hr/Leave#1", "hr/leave#1"), ("hr/leeve#1", "hr/leave#1")],
)
def test_the_closest_name(wrong: str, known: str) -> None:
    assert Names(["CACM-0861", "hr/leave#1", "other"]).closest(wrong) == known


def test_no_name_is_close() -> None:
    assert Names(["CACM-0861"]).closest("invoice") is None


def test_only_as_many_names_are_suggested_as_are_printed() -> None:
    names = Names(["CACM-0861"])
    assert [names.closest("CACM-861") for _ in range(101)] == ["CACM-0861"] * 100 + [None]
