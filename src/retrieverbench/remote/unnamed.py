"""What an index holds without an id: no answer can name it, so nothing could judge an answer."""

from __future__ import annotations

NAME_IT = "no answer can name what has no id; give it one, or name another field by attach.id"


def unnamed_fault(field: str, count: int, what: str, shown: str) -> str:
    """The fault of `attach.id`: `what` are rows, points or documents, `shown` says which."""
    held = f"1 {what} holds" if count == 1 else f"{count} {what}s hold"
    return f"attach.id: {held} nothing in {field!r} ({shown}): {NAME_IT}"
