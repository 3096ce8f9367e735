"""Every text in an answer, wherever an adapter put it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice

DEEPEST = 200
"""Python's own limit on recursion is not far above; loops end by themselves."""

_MARKUP = re.compile(r"<[^<>]*>")
_NO_WORD = re.compile(r"[\W_]+")
_NUMBERS = frozenset({float, int, bool, type(None)})
"""What most parts of an answer are; nothing is in them."""
_PLAIN = _NUMBERS | {str, bytes}


def plain_words(text: str) -> str:
    """Letters and digits alone, case folded, markup left out: how a token is looked for.

    A highlighter puts marks inside a word, and an analyzer or template changes its case.
    """
    return _NO_WORD.sub("", _MARKUP.sub("", text).casefold())


def plain_text(text: str) -> str:
    """A copy that is valid Unicode, by `str`'s own methods: a subclass may have others."""
    return str.encode(text, errors="backslashreplace").decode()


def strings_in(
    value: object, leave_out: object = None, above: tuple[object, ...] = ()
) -> Iterator[str]:
    """All texts of a value: keys, values, items and fields; not those of `leave_out`.

    Objects that are no plain data, such as a client that an answer refers to, are not part
    of the answer. What raises when it is read ends its own part; what was read counts.
    """
    if value is leave_out or len(above) > DEEPEST or any(value is outer for outer in above):
        return
    if isinstance(value, str):
        yield str.__str__(value)
    elif isinstance(value, bytes):
        yield bytes.decode(value, "utf-8", "replace")
    else:
        for part in readable(_parts(value)):
            if type(part) not in _NUMBERS:
                yield from strings_in(part, leave_out, (*above, value))


def path_to(value: object, wanted: str, above: tuple[object, ...] = ()) -> str | None:
    """Where the first text of a value stands that holds `wanted`: `hits[0].text`; None if nowhere.

    Case, blanks and markup aside, as tokens are looked for. The value itself is "".
    """
    if len(above) > DEEPEST or any(value is outer for outer in above):
        return None
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else bytes.decode(value, "utf-8", "replace")
        return "" if plain_words(wanted) in plain_words(str.__str__(text)) else None
    for name, part in _named_parts(value):
        if type(part) not in _NUMBERS:
            found = path_to(part, wanted, (*above, value))
            if found is not None:
                return f"{name}{found if found[:1] in ('', '[') else f'.{found}'}"
    return None


def _named_parts(value: object) -> Iterator[tuple[str, object]]:
    """The parts that have a place in it, and what that is called."""
    if isinstance(value, Mapping):
        keys = [key for key in readable(value.keys()) if isinstance(key, str)]
        yield from ((plain_text(key), value.get(key)) for key in keys)
    elif isinstance(value, list | tuple):
        yield from ((f"[{number}]", part) for number, part in enumerate(readable(value)))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((f.name, read_attribute(value, f.name)) for f in fields(value))


def vectors_in(value: object, length: int, above: tuple[object, ...] = ()) -> Iterator[list[float]]:
    """All sequences of so many numbers in a value, wherever they stand."""
    if len(above) > DEEPEST or any(value is outer for outer in above):
        return
    if isinstance(value, list | tuple | array):
        parts = list(islice(readable(value), length + 1))
        numbers = [float(part) for part in parts if isinstance(part, float | int)]
        if numbers and len(numbers) == len(parts):
            if len(numbers) == length:
                yield numbers
            return
    if not isinstance(value, str | bytes):
        for part in readable(_parts(value)):
            if type(part) not in _PLAIN:
                yield from vectors_in(part, length, (*above, value))


def readable(parts: Iterable[object]) -> Iterator[object]:
    """The parts up to the first that raises when it is read; an adapter made them."""
    try:
        yield from parts
    except GeneratorExit:
        raise
    except BaseException:  # noqa: BLE001 - whatever a foreign object raises, the rest is kept
        return


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from readable(value.keys())
        yield from readable(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif is_dataclass(value) and not isinstance(value, type):
        more = read_attribute(value, "__dict__")
        names = [*(f.name for f in fields(value)), *(more if isinstance(more, dict) else ())]
        yield from (read_attribute(value, name) for name in dict.fromkeys(names))


def read_attribute(value: object, name: str) -> object:
    """An attribute of a foreign object; None where it has none or raises when it is read."""
    try:
        return getattr(value, name, None)
    except BaseException:  # noqa: BLE001 - whatever a foreign object raises, the rest is kept
        return None
