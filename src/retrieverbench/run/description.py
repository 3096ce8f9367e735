"""What an adapter says of its backend, checked field by field and copied."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from retrieverbench.adapter import Description
from retrieverbench.errors import AdapterError
from retrieverbench.model import Fidelity
from retrieverbench.options import nearest
from retrieverbench.run.text import hide, one_line, text_of

FIDELITIES: tuple[Fidelity, ...] = get_args(Fidelity)


def checked_description(found: object, adapter: str, hidden: Sequence[str] = ()) -> Description:
    """A copy that an artifact can hold and that nothing the adapter does later can change.

    `hidden` values are replaced in all texts but the names of tenants, which are compared
    with those that were sent. Raises AdapterError, naming the field, for anything else than
    `Description` promises, also for what raises when it is read.
    """
    where = f"adapter {adapter!r}: describe"
    if not isinstance(found, Description):
        raise AdapterError(f"{where} returned {type(found).__name__}, not a Description")
    reader = _Reader(hidden)
    read: dict[str, Callable[[Any], object]] = {
        "server": reader.text,
        "server_version": reader.text,
        "client": reader.text,
        "client_version": reader.text,
        "settings": reader.settings,
        "chunks": _counts,
        "properties": reader.properties,
        "fidelity": reader.fidelity,
        "unchecked": reader.lines,
        "weaknesses": reader.lines,
    }
    fields: dict[str, Any] = {}
    for name, function in read.items():
        try:
            fields[name] = function(getattr(found, name))
        except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything
            fault = one_line(hide(text_of(error), hidden))
            raise AdapterError(f"{where}: {name}: {fault}") from None
    return Description(**fields)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads fields; raises TypeError or ValueError, with a text that shows no secret."""

    hidden: Sequence[str]

    def text(self, value: object) -> str:
        return hide(_text(value), self.hidden)

    def settings(self, value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise TypeError(f"{type(value).__name__} is not a mapping")
        return {self.text(key): self.json(inner) for key, inner in value.items()}

    def json(self, value: object) -> object:
        """A copy of a JSON value of plain Python types."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int):
            return json.loads(json.dumps(int(value)))  # raises for more digits than it reads
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError("JSON cannot hold a number that is not finite")
            return float(value)
        if isinstance(value, Mapping):
            return self.settings(value)
        if isinstance(value, (list, tuple)):
            return [self.json(inner) for inner in value]
        raise TypeError(f"JSON cannot hold {type(value).__name__}")

    def properties(self, value: object) -> frozenset[str]:
        if not isinstance(value, (set, frozenset)):
            raise TypeError(f"{type(value).__name__} is not a set of texts")
        return frozenset(self.text(word) for word in value)

    def fidelity(self, value: object) -> Fidelity | None:
        if value is None:
            return None
        word = self.text(value)
        for known in FIDELITIES:
            if word == known:
                return known
        raise ValueError(f"{word!r:.80} is unknown; {nearest(word, FIDELITIES)}")

    def lines(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{type(value).__name__} is not a tuple of texts")
        return tuple(self.text(line) for line in value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not text")
    plain = str.__str__(value)
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise ValueError("text is not Unicode: it holds half of a surrogate pair") from None
    return plain


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} is not a mapping")
    counts = {}
    for tenant, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError("it maps a tenant's text to a whole number of 0 or more")
        counts[_text(tenant)] = int(count)
    return counts
