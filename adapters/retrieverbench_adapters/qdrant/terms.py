"""Texts as sparse vectors: English analysis, and BM25 without its IDF (the server's part)."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# Words as Unicode's rules break them, nearly: a dot or an apostrophe inside a word joins.
_WORD = re.compile(r"\w+(?:[.']\w+)*")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)  # Lucene's English ones


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Term ids, how often each occurs, and the number of all occurrences.

    Arrays, since those of a whole corpus may wait in memory: 8 bytes a term, not 100.
    """

    ids: array[int]
    counts: array[int]
    length: int


class Lexicon:
    """The analyser, and the terms of all chunks it has counted."""

    def __init__(self) -> None:
        import Stemmer

        self._stem: Callable[[str], str] = Stemmer.Stemmer("porter").stemWord
        self._ids: dict[str, int] = {}

    def terms(self, text: str) -> Iterator[str]:
        """Words in lower case without possessive, stop words left out, Porter's stems."""
        for word in _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
            plain = word.removesuffix("'s")
            if plain not in _STOP_WORDS:
                yield self._stem(plain)

    def count_chunk(self, text: str) -> TermCounts:
        """Count a chunk's terms and remember which there are."""
        return count([self._ids.setdefault(term, term_id(term)) for term in self.terms(text)])

    def count_query(self, text: str) -> TermCounts:
        """Count a question's terms; nothing is remembered."""
        return count([term_id(term) for term in self.terms(text)])

    def collisions(self) -> int:
        """How many terms of the chunks share their id with another."""
        return len(self._ids) - len(set(self._ids.values()))


def count(ids: Sequence[int]) -> TermCounts:
    """Each id once, in the order of their first occurrence."""
    counted = Counter(ids)
    return TermCounts(array("I", counted.keys()), array("I", counted.values()), len(ids))


def term_id(term: str) -> int:
    """32 bits, the same in every process. Of 100,000 terms about one pair shares an id."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest())


def document_weights(counts: TermCounts, *, average: float, k1: float, b: float) -> list[float]:
    """BM25 without IDF: tf / (tf + k1 (1 - b + b length / average)) in the order of `counts.ids`.

    Lucene's form of BM25 (its `BM25Similarity`), with exact lengths.
    """
    norm = k1 * (1 - b + b * counts.length / average)
    return [tf / (tf + norm) for tf in counts.counts]
