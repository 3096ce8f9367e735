"""Typed reading of a line."""

from __future__ import annotations

from retrieverbench.golden.faults import Faults
from retrieverbench.golden.fields import Record, spell


def test_wrong_types_are_noted_and_never_coerced() -> None:
    faults = Faults("f")
    record = Record({"n": "5", "t": 5, "b": 1, "m": "x", "l": "a"}, 3, faults)
    assert record.whole("n", least=0) is None
    assert record.text("t") is None
    assert record.flag("b") is None
    assert record.mapping("m") == {}
    assert record.strings("l", "G16") is None
    assert len(faults.lines(warnings=False)) == 5


def test_absent_and_null_are_the_same() -> None:
    faults = Faults("f")
    record = Record({"n": None}, 1, faults)
    assert [record.whole("n", least=0), record.text("none"), record.flag("n")] == [None] * 3
    assert record.mapping("n") == {}
    assert record.word("n", ("a",)) is None
    assert faults.found == []


def test_messages_use_the_spelling_of_the_file() -> None:
    faults = Faults("f")
    record = spell({"question": 5}, 1, faults, {"query": ("query", "question")})
    assert record.text("query") is None
    assert faults.lines(warnings=False)[0].startswith("f:1: question: 5 is a number")


def test_true_is_no_number() -> None:
    faults = Faults("f")
    assert Record({"n": True}, 1, faults).whole("n", least=0) is None
    assert len(faults.found) == 1
