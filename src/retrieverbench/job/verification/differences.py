"""Two records side by side: the first place in which they differ, with both values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

EQUAL = 1e-9
"""Numbers that differ by less are equal: logarithms differ in their last digit by machine."""
_ABSENT = "absent"


class Fault(NamedTuple):
    """A field that contradicts the rest: its path, its value, and what it had to be."""

    place: str
    found: object
    expected: str

    def __str__(self) -> str:
        return f"{self.place}: {shown(self.found)} in the artifact, {self.expected}"


def compare(place: str, then: object, now: object, why: str) -> Iterator[Fault]:
    """At most one fault: the first innermost values that differ. `why` follows the second."""
    found = difference(place, plain(then), plain(now))
    if found is not None:
        inner, left, right = found
        yield Fault(inner, left, f"{shown(right)} {why}")


def difference(place: str, then: object, now: object) -> tuple[str, object, object] | None:
    """The first innermost values that differ, with their path."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in then if key not in now)]:
            inner = f"{place}.{key}" if place else str(key)
            found = difference(inner, then.get(key, _ABSENT), now.get(key, _ABSENT))
            if found is not None:
                return found
        return None
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        inner_ones = (difference(f"{place}.{n}", left, right) for n, (left, right) in pairs)
        return next((found for found in inner_ones if found is not None), None)
    return None if _is_equal(then, now) else (place, then, now)


def plain(value: object) -> object:
    """As JSON holds it, so that tuples and lists, and kinds of mappings, do not differ."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value)


def fields_of(record: object) -> dict[str, object]:
    """The fields of a record as JSON holds them."""
    found = plain(record)
    assert isinstance(found, dict)
    return found


def by_name(records: Sequence[dict[str, object]], keys: Sequence[str]) -> object:
    """Records by what their keys hold, for a path to name them; as they are if two are alike."""
    named = {"=".join(str(record[key]) for key in keys): record for record in records}
    return named if len(named) == len(records) else list(records)


def shown(value: object) -> str:
    """A value as a message shows it, cut where it is long."""
    return _ABSENT if value == _ABSENT else f"{value!r:.160}"


def _is_equal(then: object, now: object) -> bool:
    if isinstance(then, bool) or isinstance(now, bool):
        return then is now
    if isinstance(then, int | float) and isinstance(now, int | float):
        return math.isclose(then, now, rel_tol=EQUAL, abs_tol=EQUAL)
    return then == now
