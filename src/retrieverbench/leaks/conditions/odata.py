"""OData filters as Azure AI Search reads them (learn.microsoft.com, search-query-odata-filter).

`not` binds tighter than comparisons' `and`, which binds tighter than `or`. A missing value is
null; `ne` is true for null; values of different types are not equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retrieverbench.leaks.conditions.values import MISSING, NotUnderstood, equal, values_of

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<word>[A-Za-z_][\w./]*)"
    r"|(?P<sign>[(),:]))"
)


def holds(condition: str, owner: object) -> bool:
    """Whether a document of this owner passes."""
    reader = _Reader(_tokens(condition), owner)
    value = reader.either()
    if reader.tokens[reader.at : -1]:
        raise NotUnderstood(f"{reader.tokens[reader.at][1]!r} in an OData filter")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise NotUnderstood(f"{text[at : at + 20]!r} in an OData filter")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return [*found, ("end", "")]


@dataclass(slots=True)
class _Reader:
    """Reads and evaluates at once; `variables` are those of `any` and `all`."""

    tokens: list[tuple[str, str]]
    owner: object
    at: int = 0

    def either(self) -> bool:
        value = self.both()
        while self._word("or"):
            value = self.both() or value
        return value

    def both(self) -> bool:
        value = self._negated()
        while self._word("and"):
            value = self._negated() and value
        return value

    def _negated(self) -> bool:
        if self._word("not"):
            return not self._negated()
        if self._sign("("):
            value = self.either()
            self._need(")")
            return value
        return self._comparison()

    def _comparison(self) -> bool:
        kind, name = self._next()
        if kind != "word":
            raise NotUnderstood(f"{name!r} in an OData filter")
        if name in {"true", "false"}:
            return name == "true"
        if name == "search.in":
            return self._search_in()
        if name.endswith(("/any", "/all")):
            return self._of_items(every=name.endswith("/all"))
        operator = self._next()[1]
        if operator not in _COMPARISONS:
            raise NotUnderstood(f"{operator!r} in an OData filter")
        held = None if self.owner is MISSING else self.owner
        return _COMPARISONS[operator](held, self._literal())

    def _search_in(self) -> bool:
        """Values are parted by each character of the delimiters; blank and comma by default."""
        self._need("(")
        self._next()
        self._need(",")
        values, delimiters = self._literal(), " ,"
        if self._sign(","):
            delimiters = str(self._literal())
        self._need(")")
        parts = re.split(f"[{re.escape(delimiters)}]", str(values)) if delimiters else [str(values)]
        return isinstance(self.owner, str) and self.owner in parts

    def _of_items(self, *, every: bool) -> bool:
        self._need("(")
        if self._sign(")"):
            return bool(values_of(self.owner))
        self._next()
        self._need(":")
        start, whole = self.at, self.owner
        outcomes = []
        for item in values_of(whole) or [MISSING]:
            self.at, self.owner = start, item
            outcomes.append(self.either())
        self.owner = whole
        self._need(")")
        if not values_of(whole):
            return every
        return all(outcomes) if every else any(outcomes)

    def _literal(self) -> object:
        kind, text = self._next()
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text)
        if text in {"null", "true", "false"}:
            return {"null": None, "true": True, "false": False}[text]
        raise NotUnderstood(f"{text!r} in an OData filter, where a value should be")

    def _next(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        if token[0] == "end":
            raise NotUnderstood("an OData filter that ends too early")
        self.at += 1
        return token

    def _word(self, word: str) -> bool:
        return self._take(("word", word))

    def _sign(self, sign: str) -> bool:
        return self._take(("sign", sign))

    def _take(self, token: tuple[str, str]) -> bool:
        found = self.tokens[self.at] == token
        self.at += found
        return found

    def _need(self, sign: str) -> None:
        if not self._sign(sign):
            raise NotUnderstood(f"{self.tokens[self.at][1]!r} in an OData filter, not {sign!r}")


def _ordered(test: Callable[[str, str], bool]) -> Callable[[object, object], bool]:
    return lambda held, asked: (
        isinstance(held, str) and isinstance(asked, str) and test(held, asked)
    )


_COMPARISONS: Mapping[str, Callable[[object, object], bool]] = {
    "eq": equal,
    "ne": lambda held, asked: not equal(held, asked),
    "gt": _ordered(lambda held, asked: held > asked),
    "ge": _ordered(lambda held, asked: held >= asked),
    "lt": _ordered(lambda held, asked: held < asked),
    "le": _ordered(lambda held, asked: held <= asked),
}
