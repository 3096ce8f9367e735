"""The full query syntax, as far as telling which texts the service cannot parse.

What it can parse is not answered here: 501 says so. The grammar is that of Lucene's classic
query parser; a token that never ends is told at the column after the text's end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieverbench.engines.azure_search.replies import Refusal

_MAX_DEPTH = 100
_TOKEN = re.compile(
    r"""
      (?P<join>&&|\|\||(?:AND|OR)(?![^\s+\-!():^\[\]"{}~*?\\/]))
    | (?P<sign>[+!-]|NOT(?![^\s+\-!():^\[\]"{}~*?\\/]))
    | (?P<open>\()
    | (?P<close>\))
    | (?P<colon>:)
    | (?P<after>\^\d+(?:\.\d+)?|~\d*(?:\.\d+)?)
    | (?P<range>[\[{][^\]}]*[\]}])
    | (?P<quoted>"(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/)
    | (?P<word>(?:\\.|[^\s+\-!():^\[\]"{}~\\/])(?:\\.|[^\s!():^\[\]"{}~\\/])*)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def check_full(text: str) -> None:
    """Pass what the grammar allows; Refusal 400 with line and column for anything else."""
    tokens = _tokens(text)
    end, positive = _clauses(tokens, 0, 0)
    if tokens[end].kind != "end":
        raise _failure(tokens[end].start)
    if not positive:
        raise _failure(0)


def _tokens(text: str) -> list[_Token]:
    found = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            endless = text[position] in '"/[{\\'
            raise _failure(len(text) + 1 if endless else position + 1)
        found.append(_Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    return [*found, _Token("end", "", len(text))]


def _clauses(tokens: list[_Token], start: int, depth: int) -> tuple[int, bool]:
    """Where the clauses that begin at `start` end, and whether one of them is not negated."""
    if depth > _MAX_DEPTH:
        raise _failure(tokens[start].start)
    i, positive = start, False
    while True:
        negated = tokens[i].text in {"-", "!", "NOT"}
        if tokens[i].kind == "sign":
            i += 1
        i = _clause(tokens, i, depth)
        positive = positive or not negated
        if tokens[i].kind == "join":
            i += 1
        elif tokens[i].kind in {"close", "end"}:
            return i, positive


def _clause(tokens: list[_Token], start: int, depth: int) -> int:
    i = start
    if tokens[i].kind == "word" and tokens[i + 1].kind == "colon":
        i += 2
    if tokens[i].kind == "open":
        i, _ = _clauses(tokens, i + 1, depth + 1)
        if tokens[i].kind != "close":
            raise _failure(tokens[i].start)
    elif tokens[i].kind not in {"word", "quoted", "range"}:
        raise _failure(tokens[i].start)
    i += 1
    while tokens[i].kind == "after":
        i += 1
    return i


def _failure(column: int) -> Refusal:
    return Refusal(
        400,
        f"Failed to parse query string at line 1, column {column}. See "
        "https://aka.ms/azure-search-full-query for supported syntax.",
    )
