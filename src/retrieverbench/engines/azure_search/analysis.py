"""From text to terms, as Lucene's analyzers of these names do it.

The stand-in's own: an oracle shares no code with what it judges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

MAX_TOKEN = 255
ANALYZERS = frozenset({"standard.lucene", "en.lucene", "keyword", "whitespace"})
# The 33 words of Lucene's EnglishAnalyzer.
_STOP_WORDS_TEXT = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
_POSSESSIVES = ("'s", "\u2019s", "\uff07s")

Token = tuple[str, int]
"""A term and its position in the field."""


def analyze(analyzer: str, text: str) -> list[Token]:
    """The terms of `text` with their positions; a removed stop word leaves a gap."""
    return _analyzer(analyzer)(text)


@lru_cache
def _analyzer(name: str) -> Callable[[str], list[Token]]:
    match name:
        case "keyword":
            return lambda text: [(text, 0)] if text else []
        case "whitespace":
            return lambda text: [(t, i) for i, t in enumerate(text.split())]
        case "en.lucene":
            return _english()
        case _:
            return lambda text: [(t.lower(), i) for i, t in enumerate(_words(text))]


def _english() -> Callable[[str], list[Token]]:
    import Stemmer

    stemmer = Stemmer.Stemmer("porter")

    @lru_cache(maxsize=65_536)
    def term(word: str) -> str:
        lower = (word[:-2] if word.lower().endswith(_POSSESSIVES) else word).lower()
        return "" if lower in STOP_WORDS else str(stemmer.stemWord(lower))

    def terms(text: str) -> list[Token]:
        found = ((term(word), position) for position, word in enumerate(_words(text)))
        return [token for token in found if token[0]]

    return terms


def _words(text: str) -> list[str]:
    """Words by Unicode's word boundaries (UAX #29); what has no letter or digit is dropped."""
    boundary, wordlike = _patterns()
    words = []
    for piece in boundary.split(text):
        if wordlike.search(piece):
            words += [piece[i : i + MAX_TOKEN] for i in range(0, len(piece), MAX_TOKEN)]
    return words


@lru_cache
def _patterns() -> tuple[Any, Any]:
    import regex

    return regex.compile(r"\b", regex.WORD | regex.V1), regex.compile(r"[\p{L}\p{N}]")
