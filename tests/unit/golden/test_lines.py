"""What is no JSONL, and with which words it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import lines
from retrieverbench.golden.faults import Faults
from retrieverbench.golden.lines import Line, read_file, read_lines, stream_lines

LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:8e97bbc0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
    b"size 250287\n"
)


def messages(raw: bytes) -> list[str]:
    faults = Faults("f")
    read_lines(raw, faults)
    return faults.lines(warnings=False) + faults.lines(warnings=True)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            b'{"a": 1}\n{"b": "caf\xc3\xa9 caf\xe9"}\n',
            "f:2: byte 0xE9 at column 16 is not UTF-8; save the file as UTF-8 [G01]",
        ),
        (
            rb'{"a": "\ud83d"}',
            (
                "f:1: holds half of a surrogate pair, which is no character; "
                "write the character itself and save the file as UTF-8 [G01]"
            ),
        ),
        (
            b'\xef\xbb\xbf{"a": 1}\n',
            "f:1: starts with a byte order mark; it was ignored, save without BOM [G02]",
        ),
        (
            b'{"a": 1 "b": 2}\n',
            (
                "f:1: not valid JSON: Expecting ',' delimiter at column 9; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'  {"a": 1 "b": 2}\r\n',
            (
                "f:1: not valid JSON: Expecting ',' delimiter at column 11; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'{"a": NaN}\n',
            (
                "f:1: not valid JSON: NaN is not a JSON number; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'{"a": ' + b"[" * 100_000 + b"}",
            (
                "f:1: not valid JSON: nested too deeply; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'{"a": ' + b"1" * 5000 + b"}",
            (
                "f:1: not valid JSON: Exceeds the limit (4300 digits) for integer string "
                "conversion: value has 5000 digits; every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'{"a": 1} tail\n',
            (
                "f:1: not valid JSON: Extra data at column 10; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            b'{"a": 1} 5\n',
            (
                "f:1: not valid JSON: Extra data at column 10; "
                "every line holds one complete JSON object [G03]"
            ),
        ),
        (
            json.dumps([{"a": 1}] * 104, indent=1).encode(),
            (
                "f:1: holds a JSON array (104 items); this looks like a JSON file, "
                "not JSONL: write each object on a line of its own [G04]"
            ),
        ),
        (
            json.dumps([{"a": 1}] * 104).encode(),
            (
                "f:1: holds a JSON array (104 items); this looks like a JSON file, "
                "not JSONL: write each object on a line of its own [G04]"
            ),
        ),
        (
            json.dumps({"a": 1, "b": 2}, indent=1).encode(),
            (
                "f:1: holds one JSON object over many lines (2 keys); this looks like a JSON file, "
                "not JSONL: write each object on a line of its own [G04]"
            ),
        ),
        (
            b'{"_id": "1"}' * 253,
            (
                "f:1: holds 253 objects without line breaks; "
                "JSONL has one object per line: write each object on a line of its own [G04]"
            ),
        ),
        (
            b'{"a": 1}\n"text"\n',
            (
                "f:2: holds a string ('text'), not an object; "
                "every line holds one complete JSON object [G04]"
            ),
        ),
        (
            LFS,
            (
                "f:1: is a Git LFS pointer (250287 bytes, sha256 8e97bbc0…), not the data; "
                "run 'git lfs pull' [G05]"
            ),
        ),
        (
            b'{"query": "one", "query": "two"}\n',
            "f:1: query: given twice in one object ('one' and 'two'); keep one [G07]",
        ),
    ],
)
def test_message(raw: bytes, message: str) -> None:
    assert messages(raw) == [message]


def test_broken_text_over_many_lines_is_told_line_by_line() -> None:
    assert [m[:4] for m in messages(b'{"a": \n"b": 2}\n')] == ["f:1:", "f:2:"]


def test_lines_keep_their_number_over_blank_ones_and_crlf() -> None:
    faults = Faults("f")
    lines = read_lines(b'{"a": 1}\r\n\r\n   \n{"b": "\xe2\x80\xa8"}', faults)
    assert lines == [Line(1, {"a": 1}), Line(4, {"b": "\u2028"})]
    assert faults.found == []


def test_whole_surrogate_pairs_are_characters() -> None:
    assert read_lines(rb'{"a": "\ud83d\ude00"}', Faults("f")) == [Line(1, {"a": "\U0001f600"})]


def test_nan_passes_where_the_caller_has_a_better_message() -> None:
    [line] = read_lines(b'{"v": [NaN, -Infinity]}', Faults("f"), allow_nan=True)
    assert str(line.data["v"]) == "[nan, -inf]"


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .No such file or directory.; check"):
        read_file(tmp_path / "none.jsonl")


def test_no_message_says_at_twice() -> None:
    """Python's own message for a control character ends in `at`."""
    faults = Faults("f")
    read_lines(b'{"a": "tab\there"}\n{"a": "open', faults)
    assert [line.partition(";")[0] for line in faults.lines(warnings=False)] == [
        "f:1: not valid JSON: Invalid control character at column 11",
        "f:2: not valid JSON: Unterminated string starting at column 7",
    ]


def test_who_watches_is_told_the_size_and_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_TOLD_AFTER", 15)
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 4)
    told: list[int] = []

    def on_read(opened: Path, size: int) -> Callable[[int], None]:
        assert (opened, size) == (path, 36)
        return told.append

    assert len(list(stream_lines(path, Faults("f"), on_read=on_read))) == 4
    assert told == [18, 36, 36]


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_LIMIT", 10)
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"a": 12}\n{"a": "' + b"x" * 100 + b'"}\n{"a": 3}\n')
    faults = Faults("f")
    assert list(stream_lines(path, faults)) == [Line(1, {"a": 12})]
    assert read_lines(path.read_bytes(), faults) == [Line(1, {"a": 12})]
    message = "f:2: is longer than 0 MiB; every line holds one complete JSON object [G03]"
    assert faults.lines(warnings=False) == [message] * 2
