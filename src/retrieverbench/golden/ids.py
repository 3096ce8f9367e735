"""What can be odd about an id: its edges, its twins, a template's placeholder, its scheme."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable

from retrieverbench.golden.faults import LIMIT, Faults, quote
from retrieverbench.golden.fields import Record
from retrieverbench.golden.text import control_character, is_blank
from retrieverbench.storage import folded

_PLACEHOLDER = re.compile(
    r"(?:REPLACE|YOUR|TODO|FIXME|CHANGE_?ME|INSERT|PLACEHOLDER)(?:[_-][A-Z0-9_-]*)?"
    r"|<[^<>]*>|\{\{.*\}\}|\$\{.*\}|\.\.\.|…"
)
_POSITIONAL = re.compile(
    r".*(?:#(?:offset-)?\d+(?:\.\.|-)\d+|(?:^|[^A-Za-z])(?:chunk|passage|part|node|split)[_\-#:.]?\d+)",
    re.IGNORECASE | re.DOTALL,
)
_DIGITS = re.compile(r"\d+")
_COMPARED = 25


def edge_fault(value: str) -> str | None:
    """How an id begins or ends with white space or a control character, None if it does not."""
    if value.isprintable() and value == value.strip():
        return None
    for character, verb in ((value[0], "starts"), (value[-1], "ends")):
        if character.isspace() and character.isprintable():
            return f"{verb} with a blank"
        if character.isspace() or not character.isprintable():
            return f"{verb} with a control character"
    return None


def trimmed(value: str) -> str:
    """The id without white space and unprintable characters at its edges."""
    start, end = 0, len(value)
    while start < end and _is_edge(value[start]):
        start += 1
    while end > start and _is_edge(value[end - 1]):
        end -= 1
    return value[start:end]


def is_placeholder(value: str) -> bool:
    """Whether the id was left over from a template, e.g. `REPLACE_DOC_ID`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_positional(value: str) -> bool:
    """Whether the id is an offset or ordinal that the next re-chunking breaks."""
    return _POSITIONAL.fullmatch(value) is not None


def warn_positional(ids: Collection[str], faults: Faults) -> None:
    """Warn when more than half of the labelled ids are offsets or ordinals."""
    positional = [i for i in ids if is_positional(i)]
    if len(positional) * 2 > len(ids):
        faults.warn(
            "G44",
            f"ids look like offsets or ordinals ({quote(positional[0])}); "
            "the next re-chunking breaks them, name chunks by document and heading",
        )


def warn_twins(ids: Iterable[tuple[str, int]], faults: Faults) -> None:
    """Warn of ids that differ only in Unicode normalisation or in case. `ids` has lines."""
    seen: dict[str, str] = {}
    for value, line in ids:
        other = seen.setdefault(folded(value), value)
        if other == value:
            continue
        same_normal = unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", value)
        how = "Unicode normalisation" if same_normal else "case"
        faults.warn(
            "G31",
            f"{_escaped(other)} and {_escaped(value)} differ only in {how}; they are two ids",
            line,
        )


def read_id(record: Record, canonical: str, advice: str) -> str | None:
    """The id of a case or chunk: a string that is not blank."""
    value = record.get(canonical)
    name = record.name(canonical)
    if value is None:
        record.error("G08", f"{name}: missing; {advice}")
        return None
    if not isinstance(value, str):
        kind = "a number" if type(value) in {int, float} else "not a string"
        shown = quote(value)
        remedy = f'write "{shown}"' if type(value) in {int, float} else "write a string"
        record.error("G09", f"{name}: {shown} is {kind}; {remedy}")
        return None
    if is_blank(value):
        record.error("G08", f"{name}: blank; {advice}")
        return None
    if has_control_character(record, name, value):
        return None
    fault = edge_fault(value)
    if fault is not None:
        record.warn("G30", f"{name}: {quote(value)} {fault}")
    return value


def has_control_character(record: Record, name: str, value: str) -> bool:
    """Whether an id holds one, which is noted: files and some backends cannot hold it."""
    control = control_character(value)
    if control is not None:
        record.error(
            "G30",
            f"{name}: {quote(value)} holds the control character {control}; an id is plain text",
        )
    return control is not None


class Names:
    """Known names, asked for the most similar one to a wrong one."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._by_key: dict[str, str] = {}
        self._forward: list[str] = []
        self._backward: list[str] = []
        self._asked = 0

    def closest(self, name: str) -> str | None:
        """The most similar known name, None if none is similar.

        A name that is the same but for case, padding zeros or punctuation is found first;
        then the smallest difference in spelling among those that share most of its
        beginning or of its end. After as many questions as messages are printed the answer
        is None, so that a file whose every label is wrong is refused quickly.
        """
        self._asked += 1
        if self._asked > LIMIT:
            return None
        if not self._by_key:
            self._by_key = {_loose(k): k for k in self._known}
            self._forward = sorted(self._known)
            self._backward = sorted(k[::-1] for k in self._known)
        same = self._by_key.get(_loose(name))
        if same is not None:
            return same
        near = _neighbours(self._forward, name)
        near += [k[::-1] for k in _neighbours(self._backward, name[::-1])]
        found = difflib.get_close_matches(name, near, n=1, cutoff=0.75)
        return found[0] if found else None


def _neighbours(names: list[str], name: str) -> list[str]:
    """The names around the place of `name` in sorted order: they begin most like it."""
    place = bisect_left(names, name)
    return names[max(0, place - _COMPARED) : place + _COMPARED]


def _loose(value: str) -> str:
    folded = unicodedata.normalize("NFKC", value).casefold()
    unpadded = _DIGITS.sub(lambda m: m[0].lstrip("0") or "0", folded)
    return "".join(c for c in unpadded if c.isalnum())


def _escaped(value: str) -> str:
    """Pure ASCII, so that twins can be told apart by eye."""
    return f"'{json.dumps(value)[1:-1]}'"


def _is_edge(character: str) -> bool:
    return character.isspace() or not character.isprintable()
