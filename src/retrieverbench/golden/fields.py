"""Typed reading of one line's fields: what has the wrong type is noted, never coerced."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from retrieverbench.golden.faults import Faults, quote, type_of

Spellings = Mapping[str, tuple[str, ...]]
"""Canonical field name → every accepted spelling, the canonical one first."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line with its faults. `spelled` says how the file writes a canonical field.

    A field that is `null` counts as absent. Messages use the file's own spelling.
    """

    data: Mapping[str, object]
    line: int
    faults: Faults
    spelled: Mapping[str, str] = field(default_factory=dict)

    def name(self, canonical: str) -> str:
        """The field's name as this line writes it."""
        return self.spelled.get(canonical, canonical)

    def get(self, canonical: str) -> object:
        """The raw value, None when absent."""
        return self.data.get(self.name(canonical))

    def error(self, code: str, text: str) -> None:
        """Note an error on this line."""
        self.faults.error(code, text, self.line)

    def warn(self, code: str, text: str) -> None:
        """Note a warning on this line."""
        self.faults.warn(code, text, self.line)

    def text(self, canonical: str) -> str | None:
        """A string."""
        value = self.get(canonical)
        if value is None or isinstance(value, str):
            return value
        self._wrong(canonical, value, "write it as text in quotes")
        return None

    def word(self, canonical: str, allowed: Collection[str]) -> str | None:
        """One of a few words."""
        value = self.text(canonical)
        if value is None or value in allowed:
            return value
        self.error(
            "G46",
            f"{self.name(canonical)}: {quote(value)} is not a known value; "
            f"write one of {', '.join(allowed)}",
        )
        return None

    def flag(self, canonical: str) -> bool | None:
        """True, false, or None when absent."""
        value = self.get(canonical)
        if value is None or isinstance(value, bool):
            return value
        self._wrong(canonical, value, "write true or false")
        return None

    def whole(self, canonical: str, *, least: int) -> int | None:
        """A whole number of at least `least`."""
        value = self.get(canonical)
        if value is None or (type(value) is int and value >= least):
            return value
        self.error(
            "G46",
            f"{self.name(canonical)}: {quote(value)} is not a whole number from {least} on; "
            "correct it",
        )
        return None

    def mapping(self, canonical: str) -> dict[str, object]:
        """An object, empty when absent."""
        value = self.get(canonical)
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self._wrong(canonical, value, "write an object")
        return {}

    def strings(self, canonical: str, code: str) -> tuple[str, ...] | None:
        """A list of strings, None when absent or wrong; `code` is that of the fault."""
        return string_list(self, self.name(canonical), self.get(canonical), code)

    def _wrong(self, canonical: str, value: object, remedy: str) -> None:
        name = self.name(canonical)
        self.error("G46", f"{name}: {quote(value)} is {type_of(value)}; {remedy}")


def string_list(record: Record, name: str, value: object, code: str) -> tuple[str, ...] | None:
    """Check that a value is a list of strings; None when absent or wrong."""
    if value is None:
        return None
    if isinstance(value, str):
        record.error(code, f"{name}: {quote(value)} is a string; write {_as_list(value)}")
        return None
    if not isinstance(value, list):
        record.error(code, f"{name}: {quote(value)} is {type_of(value)}; write a list of strings")
        return None
    wrong = [(i, item) for i, item in enumerate(value) if not isinstance(item, str)]
    for i, item in wrong:
        record.error(
            code, f'{name}[{i}]: {quote(item)} is {type_of(item)}; write ids as strings, "…"'
        )
    return None if wrong else tuple(value)


def _as_list(value: str) -> str:
    shown = quote(value)[1:-1]
    return f'["{shown}"]'


def spell(data: Mapping[str, object], line: int, faults: Faults, spellings: Spellings) -> Record:
    """Find out which spelling a line uses; two spellings of one field are an error."""
    spelled: dict[str, str] = {}
    for canonical, accepted in spellings.items():
        used = [name for name in accepted if name in data]
        if len(used) > 1:
            faults.error("G12", f"{', '.join(used)}: both given; keep '{used[0]}'", line)
        if used:
            spelled[canonical] = used[0]
    return Record(data, line, faults, spelled)


def check_known(record: Record, known: Collection[str], home: str) -> None:
    """Refuse fields that are not known; `home` is the field where extra data belongs."""
    for name in record.data:
        if name in known:
            continue
        close = difflib.get_close_matches(name, sorted(known), n=1)
        advice = (
            f"did you mean '{close[0]}'? Extra data belongs in '{home}'"
            if close
            else f"extra data belongs in '{home}'"
        )
        shown = name if name.isidentifier() else quote(name)
        record.error("G13", f"{shown}: unknown field; {advice}")
