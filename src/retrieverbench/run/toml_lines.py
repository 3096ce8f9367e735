"""In which line of a TOML file a key stands, so that a message can say so."""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\-\s\"']+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Key path → line number, from 1, for tables, arrays of tables and plain keys.

    An array of tables gets its position in the path: `("targets", 1, "engine")`. Keys
    inside inline tables and multi-line strings are not told apart from their parent.
    """
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            table = _enter(header.group(2), is_array=header.group(1) == "[[", counts=counts)
            lines[table] = number
            continue
        key = _KEY.match(line)
        if key is not None:
            lines[(*table, *_parts(key.group(1)))] = number
    return lines


def _enter(name: str, *, is_array: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The path of a table header; names of arrays of tables get their last position."""
    path: KeyPath = ()
    parts = _parts(name)
    for depth, part in enumerate(parts):
        path = (*path, part)
        if is_array and depth == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]
