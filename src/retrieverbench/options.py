"""Checks a mapping from a file against a dataclass, and says what is wrong in one line each.

Used for suites and for every adapter's own options, so that an unknown key, a wrong type
or a number out of range reads the same everywhere. A dataclass may use `Literal`, nested
dataclasses and `Annotated` constraints of `annotated_types`.
"""

from __future__ import annotations

import difflib
import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from retrieverbench.errors import InputError

T = TypeVar("T")
_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MISSING = frozenset({"missing", "missing_argument"})


def parse_options(cls: type[T], raw: Mapping[str, object], where: str) -> T:
    """Make `cls` (a dataclass) of `raw`; unknown keys and wrong types are refused.

    `where` names the place for messages (`target 'pg': options.search`). Raises InputError
    with one fault per line: place, field, value, what is expected.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

    # Strict validation of JSON takes objects for dataclasses and lists for tuples, and yet
    # never "1" for 1; of Python objects it takes neither.
    adapter: TypeAdapter[T] = TypeAdapter(
        with_config(ConfigDict(extra="forbid", strict=True))(cls),
    )
    try:
        return adapter.validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        raise InputError(*(_fault(cls, detail, where) for detail in error.errors())) from None


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the closest known name, else the list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names) or 'none'}"


def _fault(cls: type, detail: Any, where: str) -> str:
    location: Sequence[str | int] = detail["loc"]
    path = ".".join(str(part) for part in location)
    place = f"{where}: {path}" if path else where
    if detail["type"] in _UNKNOWN:
        known = _known_keys(cls, location[:-1])
        return f"{place}: unknown key; {nearest(str(location[-1]), known)}"
    if detail["type"] in _MISSING:
        return f"{place}: missing; this key is required"
    message = str(detail["msg"])
    return f"{place}: {detail['input']!r:.80} is wrong; {message[0].lower()}{message[1:]}"


def _known_keys(cls: type, path: Sequence[str | int]) -> list[str]:
    current: Any = cls
    for part in path:
        if not is_dataclass(current) or not isinstance(part, str):
            continue
        current = typing.get_type_hints(current).get(part)
        arguments = [a for a in typing.get_args(current) if is_dataclass(a)]
        current = arguments[0] if arguments else current
    return [f.name for f in fields(current)] if is_dataclass(current) else []
