"""In which line of a TOML file a key stands, so that a message can say so."""

from __future__ import annotations

import re
from collections.abc import Iterator

KeyPath = tuple[str | int, ...]

_PART = r"[A-Za-z0-9_-]+|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"
_NAME = rf"(?:{_PART})(?:[ \t]*\.[ \t]*(?:{_PART}))*"
_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_NAME})[ \t]*\]\]?")
_KEY = re.compile(rf"({_NAME})[ \t]*=")
_TOKEN = re.compile(
    r"\"\"\"(?:\\.|[^\\])*?\"{3,5}"  # up to two quotes may end the text itself
    r"|'''.*?'{3,5}"
    r"|\"(?:\\.|[^\"\\\n])*\""
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|.",
    re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Key path → line number, from 1, for tables, arrays of tables and plain keys.

    `text` must be valid TOML. An array of tables gets its position in the path:
    `("targets", 1, "engine")`. Keys inside inline tables are not told apart from their
    parent; what looks like a key inside a string or a comment is none.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, is_table, is_array, name in _statements(text):
        parts = [_unquoted(part) for part in re.findall(_PART, name)]
        if is_table:
            table = _enter(parts, is_array=is_array, counts=counts)
            lines[table] = number
        else:
            lines[(*table, *parts)] = number
    return lines


def _statements(text: str) -> Iterator[tuple[int, bool, bool, str]]:
    """Line, whether a table begins, whether it is one of an array, and the name as written."""
    position = 0
    while True:
        blank = _BLANK.match(text, position)
        position = blank.end() if blank else position
        number = text.count("\n", 0, position) + 1
        if header := _HEADER.match(text, position):
            yield number, True, header[1] == "[[", header[2]
            position = header.end()
        elif key := _KEY.match(text, position):
            yield number, False, False, key[1]
            position = _end_of_value(text, key.end())
        else:
            return


def _end_of_value(text: str, position: int) -> int:
    """Where the line ends on which the value ends."""
    depth = 0
    for token in _TOKEN.finditer(text, position):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] == "\n" and depth == 0:
            return token.start()
    return len(text)


def _enter(parts: list[str], *, is_array: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The path of a table header; names of arrays of tables get their last position."""
    path: KeyPath = ()
    for depth, part in enumerate(parts):
        path = (*path, part)
        if is_array and depth == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _unquoted(part: str) -> str:
    return part[1:-1] if part[0] in "\"'" else part
