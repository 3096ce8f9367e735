"""Collects what is wrong with one file, so that everything is told in one pass.

A message reads `<file>:<line>: <field>: <what is wrong>; <what to do> [<code>]`. The codes
G01 to G45 are those of the validation table in the project's golden-set specification;
G46 (value of another type or word than allowed), G47 (how something was read), G48 (no
version), G49 (questions or judgements left out) and G50 (metadata left out) go beyond it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from retrieverbench.errors import InputError

LIMIT = 100
"""Faults printed in full; the rest is counted."""

_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong. `line` is 0 for what concerns the file as a whole."""

    line: int
    code: str
    text: str
    warning: bool


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one file, in the order they were found."""

    file: str
    found: list[Fault] = field(default_factory=list)

    def error(self, code: str, text: str, line: int = 0) -> None:
        """Note something that makes the file unusable."""
        self.found.append(Fault(line, code, text, warning=False))

    def warn(self, code: str, text: str, line: int = 0) -> None:
        """Note something that a reader should know."""
        self.found.append(Fault(line, code, text, warning=True))

    def lines(self, *, warnings: bool) -> list[str]:
        """The messages of one severity, by line."""
        chosen = [f for f in self.found if f.warning is warnings]
        return [self._message(f) for f in sorted(chosen, key=lambda f: f.line)]

    def count(self, code: str) -> tuple[int, int]:
        """How many errors carry the code, and on how many lines they stand."""
        places = [f.line for f in self.found if f.code == code and not f.warning]
        return len(places), len(set(places))

    def _message(self, fault: Fault) -> str:
        place = f"{self.file}:{fault.line}" if fault.line else self.file
        return f"{place}: {fault.text} [{fault.code}]"


def settle(collected: Iterable[Faults]) -> tuple[str, ...]:
    """Raise InputError with every fault of every file, or return the warnings.

    Errors come before warnings, which are marked as such among errors; the first 100 lines
    are given, then a count of the rest.
    """
    files = list(collected)
    errors = [line for faults in files for line in faults.lines(warnings=False)]
    warnings = [line for faults in files for line in faults.lines(warnings=True)]
    if errors:
        raise InputError(*_shortened(errors, [f"warning: {line}" for line in warnings]))
    return tuple(_shortened([], warnings))


def _shortened(errors: list[str], warnings: list[str]) -> list[str]:
    lines = errors + warnings
    if len(lines) <= LIMIT:
        return lines
    hidden_errors = max(0, len(errors) - LIMIT)
    hidden_warnings = len(lines) - LIMIT - hidden_errors
    return [
        *lines[:LIMIT],
        f"and {plural(hidden_errors, 'more error')}, {plural(hidden_warnings, 'more warning')}",
    ]


def quote(value: object) -> str:
    """A value for a message: quoted, control and bidi characters escaped, cut at 80."""
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    if len(text) <= _WIDTH:
        return text
    return f"{text[: _WIDTH - 2]}…{text[-1]}"


def type_of(value: object) -> str:
    """What a JSON value is, with its article."""
    names: dict[type, str] = {
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null")


def plural(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
