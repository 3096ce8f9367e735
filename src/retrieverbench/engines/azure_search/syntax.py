r"""The simple query syntax: `+ | - "phrase" prefix* ( ) \`. It never refuses a text.

Follows the published behaviour of Lucene's SimpleQueryParser: operators bind from the left,
what makes no sense is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Operator = Literal["and", "or"]
_BLANKS = " \t\n\r"
_ENDS_TOKEN = frozenset('"|+()' + _BLANKS)
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Term:
    """A word as written; analysis may make several terms of it."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Terms that begin so; not analysed but lower-cased."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in this order, next to each other."""

    text: str


@dataclass(frozen=True, slots=True)
class Negation:
    """Every document that does not match."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Group:
    """Parts joined by one operator."""

    operator: Operator
    parts: tuple[Node, ...]


Node = Term | Prefix | Phrase | Negation | Group


@dataclass(slots=True)
class _State:
    """What is known when a part of the text has been read."""

    top: Node | None = None
    current: Operator | None = None
    previous: Operator | None = None
    negations: int = 0

    def add(self, branch: Node | None, default: Operator) -> None:
        if branch is not None:
            node = Negation(branch) if self.negations % 2 else branch
            operator = self.current or default
            if self.top is None:
                self.top = node
            elif self.previous == operator and isinstance(self.top, Group):
                self.top = replace(self.top, parts=(*self.top.parts, node))
            else:
                self.top, self.previous = Group(operator, (self.top, node)), operator
        self.current, self.negations = None, 0


def parse_simple(text: str, default: Operator) -> Node | None:
    """The tree of a query; None when nothing is left of it. `default` joins bare words."""
    return _parse(text, 0, len(text), default, _closing_parentheses(text), 0)


def count_terms(node: Node | None) -> int:
    """Clauses before fields and analysis multiply them."""
    match node:
        case None:
            return 0
        case Negation(operand):
            return count_terms(operand)
        case Group(_, parts):
            return sum(count_terms(part) for part in parts)
        case _:
            return 1


def _parse(
    text: str, start: int, end: int, default: Operator, closing: dict[int, int], depth: int
) -> Node | None:
    state = _State()
    i = start
    while i < end:
        char = text[i]
        if char == "-":
            state.negations += 1
            i += 1
            continue
        if char == "(" and closing.get(i, end) < end and depth < _MAX_DEPTH:
            branch = _parse(text, i + 1, closing[i], default, closing, depth + 1)
            state.add(branch, default)
            i = closing[i] + 1
        elif char == '"':
            phrase, i = _phrase(text, i + 1, end)
            state.add(phrase, default)
        elif char in "+|":
            if state.current is None and state.top is not None:
                state.current = "and" if char == "+" else "or"
            i += 1
        elif char in "()" or char in _BLANKS:
            i += 1
        else:
            token, i = _token(text, i, end)
            state.add(token, default)
        state.negations = 0
    return state.top


def _phrase(text: str, start: int, end: int) -> tuple[Phrase | None, int]:
    """A phrase and the place after it; an unclosed quote is ignored."""
    letters: list[str] = []
    i = start
    while i < end:
        if text[i] == "\\" and i + 1 < end:
            i += 1
        elif text[i] == '"':
            return (Phrase("".join(letters)) if letters else None), i + 1
        letters.append(text[i])
        i += 1
    return None, start


def _token(text: str, start: int, end: int) -> tuple[Term | Prefix | None, int]:
    letters: list[str] = []
    prefix = False
    i = start
    while i < end and text[i] not in _ENDS_TOKEN:
        if text[i] == "\\":
            i += 1
            if i == end:
                break
            prefix = False
        else:
            prefix = bool(letters) and text[i] == "*"
        letters.append(text[i])
        i += 1
    word = "".join(letters)
    if prefix:
        return Prefix(word[:-1].lower()), i
    return (Term(word) if word else None), i


def _closing_parentheses(text: str) -> dict[int, int]:
    """For each opening parenthesis that is closed, where; found in one pass."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    i = 0
    while i < len(text):
        if text[i] == "\\":
            i += 1
        elif text[i] == "(":
            opened.append(i)
        elif text[i] == ")" and opened:
            closing[opened.pop()] = i
        i += 1
    return closing
