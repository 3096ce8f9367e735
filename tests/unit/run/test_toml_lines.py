"""Key lines are those a reader would point at."""

from __future__ import annotations

import tomllib

import pytest

from retrieverbench.run.toml_lines import KeyPath, key_lines

NESTED = """\
# a comment = no key
golden = "a"

"quoted.key" = 1
dotted . inner = 2
[timing]   # with a comment
rounds = 3
[[targets]]
adapter = "x"
[targets.search]
exact = true
[[targets]]
adapter = "y"
[[targets.parts]]
size = 1
[[targets.parts]]
size = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("golden",), 2),
        (("quoted.key",), 4),
        (("dotted", "inner"), 5),
        (("timing",), 6),
        (("timing", "rounds"), 7),
        (("targets", 0), 8),
        (("targets", 0, "adapter"), 9),
        (("targets", 0, "search"), 10),
        (("targets", 0, "search", "exact"), 11),
        (("targets", 1, "adapter"), 13),
        (("targets", 1, "parts", 0, "size"), 15),
        (("targets", 1, "parts", 1), 16),
        (("targets", 1, "parts", 1, "size"), 17),
    ],
)
def test_line_of_key(path: KeyPath, line: int) -> None:
    assert key_lines(NESTED)[path] == line


def test_no_line_is_invented() -> None:
    """Each found path exists in the parsed file."""

    def has(value: object, path: KeyPath) -> bool:
        for part in path:
            try:
                value = value[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return False
        return True

    parsed = tomllib.loads(NESTED)
    assert [path for path in key_lines(NESTED) if not has(parsed, path)] == []


@pytest.mark.parametrize(
    "value",
    [
        '"""\nkind = 1\n[[rules]]\nkind = 2\n"""',
        "'''\nkind = 1\n\"\"\" kind = 3\n'''",
        '"""a\\\n  kind = 1 \\""" kind = 2\n""""',
        '[\n  "kind = 1",  # kind = 2\n  "]",\n]',
        "[\n  { a = \"]\" },\n  { a = '[' }\n]",
    ],
)
def test_text_inside_values_is_no_key(value: str) -> None:
    text = f"a = {value}\nkind = 9\n"
    tomllib.loads(text)
    assert key_lines(text) == {("a",): 1, ("kind",): text.count("\n")}


def test_windows_line_ends_and_odd_separators_do_not_shift_lines() -> None:
    text = 'a = "x\u2028y\x85z"\r\nb = 1\r\n'
    assert key_lines(text) == {("a",): 1, ("b",): 2}
