"""What an adapter says of its backend, checked field by field and copied."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from retrieverbench.adapter import Adapter, Description, Explains
from retrieverbench.errors import AdapterError
from retrieverbench.model import MODES, Fidelity, FilterTime, Plan, Query
from retrieverbench.options import nearest
from retrieverbench.remote import hide_secrets
from retrieverbench.run.guard import Step
from retrieverbench.run.text import one_line, text_of

FIDELITIES: tuple[Fidelity, ...] = get_args(Fidelity)
FILTER_TIMES: tuple[FilterTime, ...] = get_args(FilterTime)


def checked_description(found: object, adapter: str, hidden: Sequence[str] = ()) -> Description:
    """A copy that an artifact can hold and that nothing the adapter does later can change.

    `hidden` values are replaced in all texts but the names of tenants, which are compared
    with those that were sent. Raises AdapterError, naming the field, for anything else than
    `Description` promises, also for what raises when it is read.
    """
    if not isinstance(found, Description):
        name = type(found).__name__
        raise AdapterError(f"adapter {adapter!r}: describe returned {name}, not a Description")
    reader = _Reader(hidden)
    read: dict[str, Callable[[Any], object]] = {
        "server": reader.text,
        "server_version": reader.text,
        "client": reader.text,
        "client_version": reader.text,
        "settings": reader.settings,
        "chunks": _counts,
        "properties": reader.properties,
        "fidelity": lambda value: reader.word(value, FIDELITIES),
        "unchecked": reader.lines,
        "weaknesses": reader.lines,
        "unbound": reader.lines,
        "slow": reader.lines_of_modes,
    }
    return Description(**_read(found, read, f"adapter {adapter!r}: describe", hidden))


async def plan_of(adapter: Adapter, query: Query, step: Step) -> Plan:
    """The backend's plan of one query. Raises BackendError, AdapterError for the rest."""
    if not isinstance(adapter, Explains):
        raise AdapterError(f"adapter {step.adapter!r} claims 'explain' and lacks it")
    found = await step.call(partial(adapter.explain, query))
    return checked_plan(found, step.adapter, step.hidden)


def checked_plan(found: object, adapter: str, hidden: Sequence[str] = ()) -> Plan:
    """A copy of a plan, as `checked_description` makes one of a description."""
    if not isinstance(found, Plan):
        name = type(found).__name__
        raise AdapterError(f"adapter {adapter!r}: explain returned {name}, not a Plan")
    reader = _Reader(hidden)
    read: dict[str, Callable[[Any], object]] = {
        "lines": reader.lines,
        "vector_index": lambda value: None if value is None else reader.text(value),
        "filtered": lambda value: reader.word(value, FILTER_TIMES),
        "caveat": reader.text,
    }
    return Plan(**_read(found, read, f"adapter {adapter!r}: explain", hidden))


def _read(
    found: object, read: Mapping[str, Callable[[Any], object]], where: str, hidden: Sequence[str]
) -> dict[str, Any]:
    """Every field, read once."""
    fields: dict[str, Any] = {}
    for name, function in read.items():
        try:
            fields[name] = function(getattr(found, name))
        except BaseException as error:  # noqa: BLE001 - a foreign object may raise anything
            fault = one_line(hide_secrets(text_of(error), hidden))
            raise AdapterError(f"{where}: {name}: {fault}") from None
    return fields


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads fields; raises TypeError or ValueError, with a text that shows no secret."""

    hidden: Sequence[str]

    def text(self, value: object) -> str:
        return hide_secrets(_text(value), self.hidden)

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

    def word(self, value: object, known: Sequence[str]) -> str | None:
        if value is None:
            return None
        word = self.text(value)
        if word not in known:
            raise ValueError(f"{word!r:.80} is unknown; {nearest(word, known)}")
        return word

    def lines_of_modes(self, value: object) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, Mapping):
            raise TypeError(f"{type(value).__name__} is not a mapping")
        read = {self.text(mode): self.lines(lines) for mode, lines in value.items()}
        for mode in read:
            self.word(mode, MODES)
        return read

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
