"""Text into terms as Lucene's analyzers `english` and `standard` make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import regex
import Stemmer


class Analyzer:
    """One of the two, for one thread at a time: what a word becomes is remembered.

    `standard` splits and lowers; `english` also removes the possessive and stop words, and
    stems by Porter's algorithm.
    """

    def __init__(self, name: Literal["english", "standard"]) -> None:
        self._english = name == "english"
        self._porter: Callable[[str], str] = Stemmer.Stemmer("porter").stemWord
        self._known: dict[str, str] = {}

    def terms(self, text: str) -> list[str]:
        """The terms in order; a stop word leaves nothing."""
        return [term for word in _words(text) if (term := self._term(word))]

    def _term(self, word: str) -> str:
        term = self._known.get(word)
        if term is None:
            term = self._known[word] = self._analyzed(word)
        return term

    def _analyzed(self, word: str) -> str:
        if not self._english:
            return _lower(word)
        if word[-2:-1] in {"'", "\u2019", "\uff07"} and word[-1] in "sS":
            word = word[:-2]
        word = _lower(word)
        return "" if _STOP_WORD.fullmatch(word) else _stem(word, self._porter)


def _lower(word: str) -> str:
    """Character by character as Java does it: no final sigma, no dot added to İ's i."""
    return word.lower() if word.isascii() else "".join(char.lower()[0] for char in word)


_STOP_WORD = regex.compile(
    "an?|and|are|as|at|be|but|by|for|i[fnst]|into|no|not|o[fn]|or|such|that|the|their|then|"
    "there|these|they|this|to|was|will|with"
)


# Word boundaries of Unicode's annex 29, which Lucene's StandardTokenizer keeps, with its own
# additions: emoji are words, a run of South East Asian letters is one, and so is each
# ideograph and each Hiragana. _X is what clings to the character before it (rule WB4).
# Lucene's tables are of Unicode 9 and Emoji 11, when more symbols counted as pictures.
_X = r"[\p{WB=Format}\p{WB=Extend}\p{WB=ZWJ}]*+"
_QUOTE, _HEBREW = r"\p{WB=Single_Quote}", r"\p{WB=Hebrew_Letter}"
_LETTER, _DIGIT = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]", r"[\p{WB=Numeric}\uff10-\uff19]"
_BETWEEN_LETTERS = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}{_QUOTE}]{_X}(?={_LETTER})"
_BETWEEN_DIGITS = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}{_QUOTE}]{_X}(?={_DIGIT})"
_RUN = rf"""(?:(?:\p{{WB=Katakana}}{_X})++|(?:
    {_HEBREW}{_X}(?:{_QUOTE}{_X}|\p{{WB=Double_Quote}}{_X}{_HEBREW}{_X})
    |{_LETTER}{_X}(?:{_BETWEEN_LETTERS})?|{_DIGIT}{_X}(?:{_BETWEEN_DIGITS})?)++)"""
_JOIN = rf"(?:\p{{WB=ExtendNumLet}}{_X})"
_SYMBOL = r"\u2388\u2605\u2607-\u2612\u2616-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767"
_SYMBOL += r"\p{Extended_Pictographic}\U0001f000-\U0001f0ff\U0001fa00-\U0001faff"
_PICTURE = rf"(?:[{_SYMBOL}]|(?=\p{{Emoji}})[^0-9\#*\p{{RI}}]){_X}"
_WORD = regex.compile(
    rf"""{_JOIN}*+{_RUN}(?:{_JOIN}++{_RUN})*+{_JOIN}*+
    |{_PICTURE}(?:\p{{Emoji_Modifier}}{_X}|(?<=\u200d){_PICTURE})*
    |[\#*]\ufe0f?\u20e3|(?:\p{{RI}}{_X}){{2}}|(?:\p{{Line_Break=Complex_Context}}{_X})++
    |\p{{Han}}{_X}|\p{{Hiragana}}{_X}""",
    regex.VERBOSE | regex.VERSION1,
)
_LONGEST_WORD = 255


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match.group()
        for start in range(0, len(word), _LONGEST_WORD):
            yield word[start : start + _LONGEST_WORD]


# Lucene keeps the program of Porter himself. It departs from his paper, which the library's
# `porter` follows, in two more suffixes (bli, logi after a vowel and a consonant) and in
# leaving words of two letters alone; and it undoubles any consonant before -ed and -ing.
_VOWEL = "(?:[aeiou]|(?<=[^aeiouy])y)"
_BLI_OR_LOGI = regex.compile(rf"(.*{_VOWEL}[^aeiou].*)(bl|log)(?:[iy](?:s|ed|ing)?|ies)")
_DOUBLED = regex.compile(rf"(.*{_VOWEL}.*([^aeioubdfglmnprstyz]))\2(?:ed|ing)s?")


def _stem(word: str, porter: Callable[[str], str]) -> str:
    if len(word) < 3:
        return word
    if match := _BLI_OR_LOGI.fullmatch(word):
        word = f"{match[1]}{match[2]}{'e' if match[2] == 'bl' else ''}"
    elif match := _DOUBLED.fullmatch(word):
        word = match[1]
    return porter(word)
