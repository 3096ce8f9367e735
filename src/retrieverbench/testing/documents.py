"""What `assert_no_leaks` is told: documents, names and questions, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retrieverbench.errors import InputError


def as_id(value: object) -> object:
    """A whole number as its decimal text, anything else as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def value_of(doc: Mapping[str, Any], key: str, number: int) -> str:
    """The text under a key of the document of that number; InputError for any other value."""
    value = doc.get(key) if isinstance(doc, Mapping) else None
    value = as_id(value) if key == "id" else value
    if value is None or value == "":
        raise InputError(f"docs[{number}]: no {key!r}; a doc has id, tenant (its owner) and text")
    if not isinstance(value, str):
        raise InputError(
            f"docs[{number}]: {key!r} is {type(value).__name__}, not text; write it as the "
            "retriever is asked and answers"
        )
    return str.__str__(value)


def texts_of(argument: str, given: Sequence[str]) -> list[str]:
    """A list of them; InputError for one text, which is a sequence of letters, and what is none."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{argument}: {given!r:.80} is no list; write a list of texts")
    texts = list(given)
    for text in texts:
        if type(text) is not str or not text.strip():
            raise InputError(f"{argument}: {text!r:.80} is no text; leave it out")
    return texts


def spread(own: Sequence[tuple[str, str]], most: int | None) -> Sequence[tuple[str, str]]:
    """So many of them, evenly from the first to the last."""
    if most is None or most >= len(own):
        return own
    return [own[number * len(own) // most] for number in range(most)]
