"""What an index holds without an id: no answer can name it, so nothing could judge an answer."""

from __future__ import annotations

NAME_IT = "no answer can name what has no id; give it one, or name another field by attach.id"


def without_vector(count: int, of: str, field: str) -> str:
    """The weakness of an index that holds chunks which dense search passes over."""
    verb = "has" if count == 1 else "have"
    return (
        f"{count} of the {of} {verb} no vector in {field!r}: dense search never finds what has "
        "none; embed it, or leave it out of the corpus"
    )


def unnamed_fault(field: str, count: int, what: str, shown: str) -> str:
    """The fault of `attach.id`: `what` are rows, points or documents, `shown` says which."""
    held = f"1 {what} holds" if count == 1 else f"{count} {what}s hold"
    return f"attach.id: {held} nothing in {field!r} ({shown}): {NAME_IT}"
