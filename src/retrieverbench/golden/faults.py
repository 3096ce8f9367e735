"""Collects what is wrong with one file, so that everything is told in one pass.

A message reads `<file>:<line>: <field>: <what is wrong>; <what to do> [<code>]`. The codes
G01 to G45 are those of the validation table in the project's golden-set specification;
G46 (value of another type or word than allowed), G47 (how something was read), G48 (no
version), G49 (questions or judgements left out) and G50 (metadata left out) go beyond it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from retrieverbench.errors import InputError, plural

LIMIT = 100
"""Faults printed in full, and kept of each code; the rest is counted."""

_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong. `line` is 0 for what concerns the file as a whole."""

    line: int
    code: str
    text: str
    warning: bool


@dataclass(slots=True)
class _Tally:
    """How many faults of one code there were, on how many lines, and the last of these."""

    faults: int = 0
    lines: int = 0
    last: int = -1


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of one file, in the order they were found.

    Those of one code are found line by line, so that the first LIMIT of each are enough to tell
    the first LIMIT of all; a file of a million bad lines costs no memory.
    """

    file: str
    found: list[Fault] = field(default_factory=list)
    _tallies: dict[tuple[str, bool], _Tally] = field(default_factory=dict)

    def error(self, code: str, text: str, line: int = 0) -> None:
        """Note something that makes the file unusable."""
        self._note(Fault(line, code, text, warning=False))

    def warn(self, code: str, text: str, line: int = 0) -> None:
        """Note something that a reader should know."""
        self._note(Fault(line, code, text, warning=True))

    def total(self, *, warnings: bool) -> int:
        """How many there were of one severity, kept or not."""
        return sum(tally.faults for (_, w), tally in self._tallies.items() if w is warnings)

    def lines(self, *, warnings: bool) -> list[str]:
        """The messages of one severity, by line."""
        chosen = [f for f in self.found if f.warning is warnings]
        return [self._message(f) for f in sorted(chosen, key=lambda f: f.line)]

    def count(self, code: str) -> tuple[int, int]:
        """How many errors carry the code, and on how many lines they stand."""
        tally = self._tallies.get((code, False), _Tally())
        return tally.faults, tally.lines

    def _note(self, fault: Fault) -> None:
        tally = self._tallies.setdefault((fault.code, fault.warning), _Tally())
        tally.faults += 1
        tally.lines += fault.line != tally.last
        tally.last = fault.line
        if tally.faults <= LIMIT or not fault.line:
            self.found.append(fault)

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
        marked = [f"warning: {line}" for line in warnings]
        raise InputError(*_shortened(errors + marked, files))
    return tuple(_shortened(warnings, files))


def _shortened(lines: list[str], files: Sequence[Faults]) -> list[str]:
    errors = sum(faults.total(warnings=False) for faults in files)
    warnings = sum(faults.total(warnings=True) for faults in files)
    if errors + warnings <= LIMIT:
        return lines
    hidden_errors = max(0, errors - LIMIT)
    hidden_warnings = errors + warnings - LIMIT - hidden_errors
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
