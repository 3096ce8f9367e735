"""Qdrant's filters (qdrant.tech/documentation/concepts/filtering)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from retrieverbench.leaks.conditions.values import MISSING, NotUnderstood, equal, values_of

CLAUSES = frozenset({"must", "should", "must_not", "min_should"})


def holds(condition: Mapping[str, Any], owner: object) -> bool:
    """A filter: without clauses, or with empty ones, everything passes."""
    must, should, must_not = (
        _parts(condition.get(name)) for name in ("must", "should", "must_not")
    )
    if not all(_part_holds(part, owner) for part in must):
        return False
    if should and not any(_part_holds(part, owner) for part in should):
        return False
    if any(_part_holds(part, owner) for part in must_not):
        return False
    at_least = condition.get("min_should")
    if at_least is None:
        return True
    passed = sum(_part_holds(part, owner) for part in _parts(at_least.get("conditions")))
    return passed >= int(at_least["min_count"])


def _parts(clause: object) -> list[Any]:
    if clause is None:
        return []
    return clause if isinstance(clause, list) else [clause]


def _part_holds(part: Any, owner: object) -> bool:
    if not isinstance(part, Mapping):
        raise NotUnderstood(f"a part of type {type(part).__name__} in a filter")
    given = {name: value for name, value in part.items() if value is not None}
    if given.keys() <= CLAUSES:
        return holds(given, owner)
    if given.keys() == {"key", "match"}:
        return _matches(given["match"], owner)
    if given.keys() == {"is_empty"}:
        return not values_of(owner)
    if given.keys() == {"is_null"}:
        return owner is None or (isinstance(owner, list) and None in owner)
    raise NotUnderstood(f"a condition with {', '.join(sorted(given))}")


def _matches(match: Mapping[str, Any], owner: object) -> bool:
    given = {name: value for name, value in match.items() if value is not None}
    if owner is MISSING or len(given) != 1:
        if len(given) != 1:
            raise NotUnderstood(f"a match with {', '.join(sorted(given)) or 'nothing'}")
        return False
    ((kind, wanted),) = given.items()
    return any(_value_matches(kind, wanted, value) for value in values_of(owner))


def _value_matches(kind: str, wanted: Any, value: object) -> bool:
    if kind == "value":
        return equal(wanted, value)
    if kind in {"any", "except"}:
        return (kind == "any") == any(equal(one, value) for one in wanted)
    if kind == "prefix":
        return isinstance(value, str) and value.startswith(wanted)
    if kind in {"text", "text_any", "phrase"}:
        held = set(_tokens(value))
        asked = list(_tokens(wanted))
        return any(t in held for t in asked) if kind == "text_any" else held.issuperset(asked)
    raise NotUnderstood(f"a match by {kind!r}")


def _tokens(text: object) -> Iterator[str]:
    """The word tokenizer: runs of letters and digits, in lower case."""
    if isinstance(text, str):
        yield from re.findall(r"\w+", text.lower())
