"""What a recorded condition means: evaluated over documents, in whichever language it is.

Written from the languages' documentation, sharing nothing with the adapters that write such
conditions. The language is told by the shape of the condition alone. Whatever is not
understood raises NotUnderstood and is never guessed.

A document is the value of its tenant field: every field that a condition names is taken for
that field, for the probes ask without conditions of a user's. Where a condition names a number
the field holds numbers: an owner whose name is one in its very digits is that number.
"""

from __future__ import annotations

from collections.abc import Mapping

from retrieverbench.leaks.conditions import elastic, odata, qdrant, sql
from retrieverbench.leaks.conditions.values import MISSING, NotUnderstood, as_number, wants_number

__all__ = ["MISSING", "NotUnderstood", "holds", "is_absent"]


def holds(condition: object, owner: object) -> bool:
    """Whether a document with this owner (MISSING for none) passes; None lets all pass.

    Raises NotUnderstood for a condition of an unknown shape or with unknown parts.
    """
    if condition is None:
        return True
    if wants_number(condition):
        owner = as_number(owner)
    if isinstance(condition, str):
        return odata.holds(condition, owner)
    if isinstance(condition, list):
        return all(holds(part, owner) for part in condition)
    if not isinstance(condition, Mapping):
        raise NotUnderstood(f"a condition of type {type(condition).__name__}")
    if condition.keys() == _IN_INDEX:
        return holds(condition["filter"], owner)
    if isinstance(condition.get("sql"), str):
        return sql.holds(condition["sql"], condition.get("parameters") or {}, owner)
    if condition.keys() <= qdrant.CLAUSES:
        return qdrant.holds(condition, owner)
    return elastic.holds(condition, owner)


_IN_INDEX = {"index", "filter"}
"""A condition told together with the index that it is sent to."""


def is_absent(condition: object) -> bool:
    """Whether nothing but the place that is asked restricts a search."""
    if isinstance(condition, Mapping) and condition.keys() == _IN_INDEX:
        return condition["filter"] is None
    return condition is None
