"""Messages: their form, their order, and how much of a value they show."""

from __future__ import annotations

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden.faults import Faults, quote, settle, type_of


def test_errors_come_before_warnings_and_by_line() -> None:
    first, second = Faults("a.jsonl"), Faults("b.jsonl")
    first.warn("G29", "odd", 3)
    first.error("G10", "late", 9)
    first.error("G11", "early", 2)
    second.error("G33", "about the file")
    with pytest.raises(InputError) as caught:
        settle([first, second])
    assert caught.value.faults == (
        "a.jsonl:2: early [G11]",
        "a.jsonl:9: late [G10]",
        "b.jsonl: about the file [G33]",
        "warning: a.jsonl:3: odd [G29]",
    )


def test_the_first_hundred_are_told_and_the_rest_is_counted() -> None:
    faults = Faults("a.jsonl")
    for line in range(1, 102):
        faults.error("G10", "wrong", line)
    faults.warn("G29", "odd", 1)
    with pytest.raises(InputError) as caught:
        settle([faults])
    assert len(caught.value.faults) == 101
    assert caught.value.faults[99] == "a.jsonl:100: wrong [G10]"
    assert caught.value.faults[100] == "and 1 more error, 1 more warning"


def test_a_hundred_thousand_bad_lines_are_counted_and_not_kept() -> None:
    faults = Faults("a.jsonl")
    for line in range(1, 100_001):
        faults.error("G10" if line % 2 else "G14", "wrong", line)
    faults.error("G14", "about all of them")
    assert len(faults.found) == 201
    assert faults.count("G14") == (50_001, 50_001)
    with pytest.raises(InputError) as caught:
        settle([faults])
    assert caught.value.faults[0] == "a.jsonl: about all of them [G14]"
    assert caught.value.faults[99] == "a.jsonl:99: wrong [G10]"
    assert caught.value.faults[100] == "and 99901 more errors, 0 more warnings"


def test_warnings_alone_are_returned() -> None:
    faults = Faults("a.jsonl")
    for line in range(1, 104):
        faults.warn("G29", "odd", line)
    warnings = settle([faults])
    assert warnings[0] == "a.jsonl:1: odd [G29]"
    assert warnings[-1] == "and 0 more errors, 3 more warnings"


def test_count_is_of_errors_and_their_lines() -> None:
    faults = Faults("a.jsonl")
    faults.error("G14", "x", 1)
    faults.error("G14", "y", 1)
    faults.warn("G14", "z", 2)
    assert faults.count("G14") == (2, 1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "'plain'"),
        ("a\x00b\u202ec\n", r"'a\x00b\u202ec\n'"),
        (12, "12"),
        ([1, "a"], '[1, "a"]'),
        (None, "null"),
        ("x" * 100, f"'{'x' * 77}…'"),
    ],
)
def test_values_are_quoted_escaped_and_cut(value: object, shown: str) -> None:
    assert quote(value) == shown
    assert len(quote(value)) <= 80


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a", "a string"),
        (True, "true or false"),
        (1, "a number"),
        (0.5, "a number"),
        ([], "a list"),
        ({}, "an object"),
        (None, "null"),
    ],
)
def test_json_types_have_names(value: object, words: str) -> None:
    assert type_of(value) == words
