"""Checks a mapping from a file against a dataclass, and says what is wrong in one line each.

Used for suites and for every adapter's own options, so that an unknown key, a wrong type
or a number out of range reads the same everywhere. A dataclass may use `Literal`, nested
dataclasses and `Annotated` constraints of `annotated_types`.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import re
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, time
from types import UnionType
from typing import Any, TypeVar

from retrieverbench.errors import InputError

T = TypeVar("T")
DEEPEST = 50
"""Keys within keys; the parser behind this has a limit of its own, and says it less well."""
Path = tuple[str | int, ...]
_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MISSING = frozenset({"missing", "missing_argument"})


def parse_options(
    cls: type[T],
    raw: Mapping[str, object],
    where: str,
    lines: Mapping[Path, int] | None = None,
    *,
    internal: Collection[str] = (),
) -> T:
    """Make `cls` (a dataclass) of `raw`; unknown keys and wrong types are refused.

    `where` names the place for messages (`target 'pg': options.search`); `lines` gives the
    line of a key path in a file, and then `where` is the file. `internal` fields of `cls` are
    filled in by the caller: as keys they are unknown. Raises InputError with one fault per
    line: place, field, value, what is expected. Values that are tables or lists are not
    shown: they may hold an address with a password in it.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

    # Strict validation of JSON takes objects for dataclasses and lists for tuples, and yet
    # never "1" for 1; of Python objects it takes neither.
    adapter: TypeAdapter[T] = TypeAdapter(
        with_config(ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))(cls),
    )
    foreign = [
        f"{_place(where, path, lines)}: {_shown(value)} is {_kind(value)}; {_REMEDY[_kind(value)]}"
        for path, value in _leaves(raw, ())
        if _kind(value) in _REMEDY
    ]
    known = [key for key in _known_keys(cls, ()) if key not in internal]
    foreign += [
        f"{_place(where, (key,), lines)}: unknown key; {nearest(key, known)}"
        for key in sorted(raw.keys() & set(internal))
    ]
    if foreign:
        raise InputError(*foreign)
    try:
        return adapter.validate_json(json.dumps(raw))
    except ValidationError as error:
        faults = (
            _fault(cls, detail, _place(where, detail["loc"], lines), known)
            for detail in error.errors()
        )
        raise InputError(*faults) from None


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the closest known name, else the list of known names."""
    names = sorted(filter(None, known))
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names) or 'none'}"


def option_lines(cls: type, indent: str = "", *, internal: Collection[str] = ()) -> Iterator[str]:
    """Every key that a file may set for a dataclass: type, default, and what its docstring says.

    A field that is a dataclass is a table of its own, a list of them an array of tables.
    `internal` fields of `cls` are left out: no file may set them.
    """
    told = inspect.cleandoc(cls.__doc__ or "")
    if told.startswith(f"{cls.__name__}("):  # a dataclass without one gets its signature
        told = ""
    yield from (f"{indent}# {line}".rstrip() for line in told.splitlines())
    kinds = typing.get_type_hints(cls, include_extras=True)
    for option in fields(cls):
        if option.name in internal:
            continue
        kind = kinds[option.name]
        table, note = _table(kind)
        if table is not None:
            yield f"{indent}{option.name}:{note}"
            yield from option_lines(table, f"{indent}  ")
            continue
        yield f"{indent}{option.name} = {_default(option)}  # {_type_text(kind)}"


def _table(kind: Any) -> tuple[type | None, str]:
    """The dataclass that a type holds, and how often it may be there; None if it is none."""
    if is_dataclass(kind):
        return typing.cast("type", kind), ""
    notes = {tuple: "  # any number of them", UnionType: "  # not set", typing.Union: "  # not set"}
    note = notes.get(typing.get_origin(kind), "")
    parts = [part for part in typing.get_args(kind) if note and is_dataclass(part)]
    return (typing.cast("type", parts[0]), note) if parts else (None, "")


def _default(option: Field[Any]) -> str:
    value = option.default if option.default_factory is MISSING else option.default_factory()
    if value is MISSING:
        return "(required)"
    return "(not set)" if value is None else json.dumps(value, default=str)


def _type_text(kind: Any) -> str:
    """A type as somebody who writes the file calls it: `number, >= 1, <= 64`."""
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return ", ".join([_type_text(arguments[0]), *map(_limit_text, arguments[1:])])
    if origin is typing.Literal:
        return " | ".join(json.dumps(value) for value in arguments)
    if origin in (typing.Union, UnionType):
        return " | ".join(_type_text(part) for part in arguments if part is not type(None))
    if origin is tuple and arguments:
        return f"list of {_type_text(arguments[0])}"
    known = {bool: "true | false", int: "whole number", float: "number", str: "text"}
    if kind in known:
        return known[kind]
    if origin in (dict, Mapping) or is_dataclass(kind):
        return "table"
    plain = origin or kind
    return "list" if isinstance(plain, type) and issubclass(plain, Collection) else "any value"


def _limit_text(limit: object) -> str:
    signs = {"Ge": ">=", "Gt": ">", "Le": "<=", "Lt": "<"}
    sign = signs.get(type(limit).__name__)
    return f"{sign} {getattr(limit, type(limit).__name__.lower())}" if sign else str(limit)


_REMEDY = {
    "a date": "no key takes one: write text, in quotes, or a number",
    "not a finite number": "write a number",
    "nested too deeply": f"use at most {DEEPEST} levels",
    "text with a NUL character": "remove the character",
    "no plain value": "use text, numbers, true, false, lists and tables",
}


class _TooDeep:
    """Stands for what is nested too deeply."""


def _shown(value: object) -> str:
    """Dates and numbers as they are written; what is no plain value may be anything."""
    return "the value" if isinstance(value, str | type) else f"{value!s:.80}"


def _kind(value: object) -> str:
    """What a value is, as messages say it."""
    if value is _TooDeep:
        return "nested too deeply"
    if isinstance(value, float):
        return "a number" if math.isfinite(value) else "not a finite number"
    if isinstance(value, str) and "\0" in value:
        return "text with a NUL character"
    if isinstance(value, date | time):
        return "a date"
    known = {
        bool: "true or false",
        int: "a number",
        str: "text",
        type(None): "nothing",
        dict: "a table",
        list: "a list",
        tuple: "a list",
    }
    return known.get(type(value), "no plain value")


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    """Every value that holds no others, or lies too deep to be looked into, with its key path."""
    if len(path) > DEEPEST:
        yield path[:1], _TooDeep
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _leaves(part, (*path, number))
    else:
        yield path, value


def _place(where: str, location: Path, lines: Mapping[Path, int] | None) -> str:
    """`file:line: key.path`, with the line of the nearest key that stands in the file."""
    path = ".".join(str(part) for part in location)
    if lines is None:
        return f"{where}: {path}" if path else where
    known = (
        lines[location[:end]] for end in range(len(location), -1, -1) if location[:end] in lines
    )
    return f"{where}:{next(known, 1)}: {path}"


def _fault(cls: type, detail: Any, place: str, top: list[str]) -> str:
    """One line; `top` are the keys of the whole, nested ones are looked up."""
    location: Path = detail["loc"]
    if detail["type"] in _UNKNOWN:
        known = _known_keys(cls, location[:-1]) if len(location) > 1 else top
        return f"{place}: unknown key; {nearest(str(location[-1]), known)}"
    if detail["type"] in _MISSING:
        return f"{place}: missing; this key is required"
    value = detail["input"]
    shown = _kind(value) if isinstance(value, dict | list) else f"{value!r:.80}"
    if detail["type"] == "literal_error":
        expected = str(detail["ctx"]["expected"])
        names = re.findall(r"'([^']*)'", expected)
        if names:
            return f"{place}: {shown} is unknown; {nearest(str(value), names)}"
        return f"{place}: {shown} is wrong; allowed: {expected.lower()}"  # `True` is true in files
    message = str(detail["msg"])
    return f"{place}: {shown} is wrong; {message[0].lower()}{message[1:]}"


def _known_keys(cls: type, path: Path) -> list[str]:
    current: Any = cls
    for part in path:
        if not is_dataclass(current) or not isinstance(part, str):
            continue
        current = typing.get_type_hints(current).get(part)
        arguments = [a for a in typing.get_args(current) if is_dataclass(a)]
        current = arguments[0] if arguments else current
    return [f.name for f in fields(current)] if is_dataclass(current) else []
