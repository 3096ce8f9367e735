"""What the evaluators share: absent values, values of a list, and the refusal to guess."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_QUOTED = re.compile(r"'(?:[^']|'')*'")
_NUMBER = re.compile(r"(?<![\w.])-?\d")
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_COUNTS = frozenset({"min_count", "minimum_should_match", "boost"})


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()
"""The owner of a document that has no tenant field."""


class NotUnderstood(ValueError):
    """A condition, or a part of one, whose meaning is not known here."""


def values_of(owner: object) -> list[object]:
    """A field's values as search engines index them: none of null, each of a list."""
    if owner is MISSING or owner is None:
        return []
    return [item for item in owner if item is not None] if isinstance(owner, list) else [owner]


def wants_number(condition: object) -> bool:
    """Whether a condition compares with a number."""
    if isinstance(condition, str):
        return _NUMBER.search(_QUOTED.sub("", condition)) is not None
    if isinstance(condition, Mapping):
        compared = (value for key, value in condition.items() if key not in _COUNTS)
        return any(not isinstance(value, str) and wants_number(value) for value in compared)
    if isinstance(condition, list):
        return any(not isinstance(value, str) and wants_number(value) for value in condition)
    return isinstance(condition, int | float) and not isinstance(condition, bool)


def as_number(owner: object) -> object:
    """An owner as a field of numbers holds it; unchanged where its name is no whole number."""
    if isinstance(owner, list):
        return [as_number(one) for one in owner]
    if isinstance(owner, str) and _WHOLE.fullmatch(owner):
        return int(owner)
    return owner


def equal(one: object, other: object) -> bool:
    """Equal in type and value: true is no 1, and 1 is no text."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other
