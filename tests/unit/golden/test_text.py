"""Lines of text files: what ends them, what separates their words, what they may not hold."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import text
from retrieverbench.golden.faults import Faults
from retrieverbench.golden.text import (
    control_character,
    is_blank,
    read_blocks,
    read_columns,
    read_rows,
    stretches,
)

UNUSUAL = [bytes([byte]) for byte in (*range(9), *range(11, 32), 127, 0xE9)]


@pytest.mark.parametrize(
    "block",
    [
        b"a b\nc\n",
        b"a\nb c d\n",
        b"a b c\nd\n",
        b"#a b\n",
        b"a b\n#c d\n",
        b"\na b\n",
        *(b"a%s b\n" % byte for byte in UNUSUAL),
    ],
)
def test_columns_of_anything_unusual_are_not_read(block: bytes) -> None:
    assert read_columns(block, 2) is None
    assert read_columns(b"x y\n" * 5 + block + b"x y\n", 2) is None


def test_columns() -> None:
    assert read_columns(b"a  b\n\tc d \n", 2) == [[b"a", b"c"], [b"b", b"d"]]


def test_rows_are_split_at_blanks_and_tabs_only() -> None:
    faults = Faults("f")
    block = "a \tb\u00a0c\n\n# no\nd\u3000e #f\n".encode()
    assert list(read_rows(7, block, faults)) == [(7, ["a", "b\u00a0c"]), (10, ["d\u3000e", "#f"])]
    assert not faults.found


def test_every_line_of_a_file_is_in_one_block(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\r\n".join(b"%d" % n for n in range(100_000)))
    blocks = list(read_blocks(path, Faults("f")))
    assert len(blocks) > 1
    for first, block in blocks:
        assert block.split(b"\n", 1)[0] == b"%d" % (first - 1)
    assert b"".join(block for _, block in blocks).split() == [b"%d" % n for n in range(100_000)]


def test_stretches() -> None:
    assert list(stretches(b"a a b b b a".split())) == [(0, 2), (2, 5), (5, 6)]
    assert list(stretches([])) == []


def test_control_characters_are_named() -> None:
    assert control_character("a\u2028\u00e9 b") is None
    assert control_character("a\x85b\0") == "U+0085"


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    monkeypatch.setattr(text, "BLOCK", 4)
    monkeypatch.setattr(text, "LINE_LIMIT", 20)
    raw = b"a b\nc d\n" + b"x" * 100
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with pytest.raises(InputError, match=r"run:3: is longer than 64 MiB; end every line with LF"):
        list(read_blocks(path, Faults("run")))


@pytest.mark.parametrize(
    ("words", "blank"),
    [
        ("", True),
        (" \t\u00a0\u3000", True),
        ("\u200b\u2060\ufeff\u00ad\u200f", True),
        ("\ufe0f\U000e0100", True),
        ("\u0301\u20dd", True),
        ("\u3164\u2800\u115f", True),
        ("\u200ba", False),
        ("?", False),
        ("\u00e9", False),
        ("\U0001f600", False),
        ("\u3042", False),
        ("\ue000", False),
    ],
)
def test_what_shows_nothing_is_blank(words: str, *, blank: bool) -> None:
    assert is_blank(words) is blank
