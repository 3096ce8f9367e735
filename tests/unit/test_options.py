"""The checker of options: what it takes, and what it says of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le

from retrieverbench.errors import InputError
from retrieverbench.options import nearest, option_lines, parse_options


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Ge(1)] = 1


@dataclass(frozen=True)
class Options:
    word: str = ""
    kind: Literal["", "exact", "hnsw"] = ""
    ratio: Annotated[float, Ge(0), Le(1)] | None = None
    flag: bool = False
    names: tuple[str, ...] = ()
    inner: Inner = Inner()
    parts: tuple[Inner, ...] = ()
    free: Mapping[str, object] = field(default_factory=dict)


def faults(raw: Mapping[str, object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_options(Options, raw, "here")
    return list(caught.value.faults)


def test_takes_what_fits() -> None:
    raw = {
        "word": "a",
        "kind": "hnsw",
        "ratio": 1,
        "names": ["x", "y"],
        "inner": {"size": 3},
        "parts": [{"size": 2}, {}],
        "free": {"a": [1, {"b": None}]},
    }
    made = parse_options(Options, raw, "here")
    assert made.ratio == 1.0
    assert made.names == ("x", "y")
    assert made.parts == (Inner(2), Inner(1))
    assert made.free == {"a": [1, {"b": None}]}
    assert parse_options(Options, {}, "here") == Options()


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({"wrod": 1}, "here: wrod: unknown key; did you mean 'word'?"),
        ({"zzzz": 1}, "here: zzzz: unknown key; known: flag, free, inner, kind, names"),
        ({"inner": {"siz": 1}}, "here: inner.siz: unknown key; did you mean 'size'?"),
        ({"parts": [{}, {"siz": 1}]}, "here: parts.1.siz: unknown key; did you mean 'size'?"),
        ({"kind": "hnws"}, "here: kind: 'hnws' is unknown; did you mean 'hnsw'?"),
        ({"kind": "q"}, "here: kind: 'q' is unknown; known: exact, hnsw"),
        ({"word": 1}, "here: word: 1 is wrong; input should be a valid string"),
        ({"flag": 1}, "here: flag: 1 is wrong; input should be a valid boolean"),
        ({"ratio": 2}, "here: ratio: 2 is wrong; input should be less than or equal to 1"),
        ({"ratio": "0.5"}, "here: ratio: '0.5' is wrong; input should be a valid number"),
        ({"ratio": float("nan")}, "here: ratio: nan is not a finite number; write a number"),
        ({"free": {"x": float("inf")}}, "here: free.x: inf is not a finite number"),
        ({"word": date(2024, 1, 2)}, "here: word: 2024-01-02 is a date; no key takes one: write"),
        ({"free": {"x": datetime(2024, 1, 2, tzinfo=UTC)}}, "here: free.x: 2024-01-02"),
        ({"free": {"x": b"bytes"}}, "here: free.x: b'bytes' is no plain value; use text"),
        ({"names": "abc"}, "here: names: 'abc' is wrong; input should be a valid array"),
        ({"word": ["secret"]}, "here: word: a list is wrong"),
        ({"word": {"a": "secret"}}, "here: word: a table is wrong"),
        ({"inner": 3}, "here: inner: 3 is wrong"),
        ({"inner": {"size": 0}}, "here: inner.size: 0 is wrong; input should be greater"),
    ],
)
def test_says_what_is_wrong(raw: Mapping[str, object], fault: str) -> None:
    (found,) = faults(raw)
    assert found.startswith(fault)
    assert "secret" not in found


def test_tells_every_fault() -> None:
    assert len(faults({"wrod": 1, "flag": "x", "inner": {"size": 0}})) == 3


def test_long_values_are_cut() -> None:
    (found,) = faults({"flag": "x" * 500})
    assert len(found) < 200


def test_missing_key_and_line_of_the_nearest_one() -> None:
    @dataclass(frozen=True)
    class Needs:
        name: str
        inner: Inner = Inner()

    with pytest.raises(InputError) as caught:
        parse_options(Needs, {"inner": {"siz": 1}}, "f.toml", {("inner",): 7})
    assert caught.value.faults == (
        "f.toml:1: name: missing; this key is required",
        "f.toml:7: inner.siz: unknown key; did you mean 'size'?",
    )


def test_nearest() -> None:
    assert nearest("memry", ["memory", "qdrant"]) == "did you mean 'memory'?"
    assert nearest("x", ["b", "a", ""]) == "known: a, b"
    assert nearest("x", []) == "known: none"


@dataclass(frozen=True)
class Choices:
    exact: Literal[True] = True
    size: Literal[1, 2] = 1
    order: Literal["list", "score"] = "list"


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({"exact": False}, "exact: False is wrong; allowed: true"),
        ({"exact": "true"}, "exact: 'true' is wrong; allowed: true"),
        ({"size": 3}, "size: 3 is wrong; allowed: 1 or 2"),
        ({"order": "scores"}, "order: 'scores' is unknown; did you mean 'score'?"),
        ({"order": 3}, "order: 3 is unknown; known: list, score"),
        ({"order": ["p4ss"]}, "order: a list is unknown; known: list, score"),
    ],
)
def test_a_value_that_is_no_choice_names_the_choices(raw: Mapping[str, object], fault: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(Choices, raw, "file")
    assert caught.value.faults == (f"file: {fault}",)


def test_fields_that_the_caller_fills_in_are_no_keys() -> None:
    def told(raw: Mapping[str, object]) -> str:
        with pytest.raises(InputError) as caught:
            parse_options(Options, raw, "here", internal=("names", "inner", "free"))
        return str(caught.value)

    hidden = "unknown key; known: flag, kind, parts, ratio, word"
    assert told({"xyz": 1}) == f"here: xyz: {hidden}"
    assert told({"names": []}) == f"here: names: {hidden}"
    assert "did you mean 'parts'?" in told({"part": []})
    assert told({"parts": [{"sise": 1}]}) == (
        "here: parts.0.sise: unknown key; did you mean 'size'?"
    )


@dataclass
class Undocumented:
    anything: Any = None
    several: Sequence[int] | None = None


def test_a_type_that_no_file_knows_by_name_is_not_called_a_list() -> None:
    assert list(option_lines(Undocumented)) == [
        "anything = (not set)  # any value",
        "several = (not set)  # list",
    ]
