"""What the evaluators share: absent values, values of a list, and the refusal to guess."""

from __future__ import annotations

from typing import Final


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


def equal(one: object, other: object) -> bool:
    """Equal in type and value: true is no 1, and 1 is no text."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other
