"""Which documents match a text query, and with which BM25 score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from retrieverbench.engines.azure_search.analysis import analyze
from retrieverbench.engines.azure_search.definition import Field
from retrieverbench.engines.azure_search.scoring import bm25, inverse_frequency
from retrieverbench.engines.azure_search.store import Index, Postings, Shard
from retrieverbench.engines.azure_search.syntax import Group, Negation, Node, Phrase, Prefix

Scores = dict[int, float]
_EMPTY = Postings()


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Where N, n and avgdl of each field come from: one shard, or all of them."""

    shards: Sequence[Shard]

    def idf(self, field: str, term: str) -> float:
        parts = [shard.postings.get(field, _EMPTY) for shard in self.shards]
        containing = sum(len(part.terms.get(term, ())) for part in parts)
        return inverse_frequency(sum(len(part.lengths) for part in parts), containing)

    def mean_length(self, field: str) -> float:
        parts = [shard.postings.get(field, _EMPTY) for shard in self.shards]
        return sum(part.total for part in parts) / sum(len(part.lengths) for part in parts)


def match_text(
    index: Index, query: Node | None, fields: Sequence[Field], *, global_statistics: bool
) -> Scores:
    """Documents by number with their score, over all shards; empty for an empty query."""
    index.refresh()
    found: Scores = {}
    for shard in index.shards:
        statistics = _Statistics(index.shards if global_statistics else [shard])
        found.update(_Matcher(index, shard, statistics, fields).match(query) or {})
    return found


@dataclass(frozen=True, slots=True)
class _Matcher:
    """One query in one shard."""

    index: Index
    shard: Shard
    statistics: _Statistics
    fields: Sequence[Field]

    def match(self, node: Node | None) -> Scores | None:
        """The matches; None for a part of the query that analysis removed altogether."""
        match node:
            case None:
                return None
            case Group(operator, parts):
                matched = [self.match(part) for part in parts]
                known = [part for part in matched if part is not None]
                return (_all_of if operator == "and" else _any_of)(known) if known else None
            case Negation(operand):
                excluded = self.match(operand)
                if excluded is None:
                    return None
                return {number: 1.0 for number in self.shard.documents if number not in excluded}
            case Prefix(text):
                return self._per_field(lambda field: self._prefix(field, text))
            case Phrase(text):
                return self._per_field(lambda field: self._phrase(field, text))
        return self._per_field(lambda field: self._words(field, node.text))

    def _per_field(self, match: Callable[[Field], Scores | None]) -> Scores | None:
        matched = [scores for field in self.fields if (scores := match(field)) is not None]
        return _any_of(matched) if matched else None

    def _prefix(self, field: Field, text: str) -> Scores:
        terms = self.shard.postings.get(field.name, _EMPTY).terms
        return {n: 1.0 for term in terms if term.startswith(text) for n in terms[term]}

    def _words(self, field: Field, text: str) -> Scores | None:
        terms = [term for term, _ in analyze(field.analyzer, text)]
        if not terms:
            return None
        postings = self.shard.postings.get(field.name, _EMPTY)
        return _any_of([
            self._score(field, [term], {n: len(p) for n, p in postings.terms.get(term, {}).items()})
            for term in terms
        ])  # fmt: skip

    def _phrase(self, field: Field, text: str) -> Scores | None:
        tokens = analyze(field.analyzer, text)
        if not tokens:
            return None
        terms = self.shard.postings.get(field.name, _EMPTY).terms
        occurrences = [(terms.get(term, {}), place - tokens[0][1]) for term, place in tokens]
        frequencies = {}
        for number, starts in occurrences[0][0].items():
            found = sum(
                all(start + offset in places.get(number, ()) for places, offset in occurrences)
                for start in starts
            )
            if found:
                frequencies[number] = found
        return self._score(field, [term for term, _ in tokens], frequencies)

    def _score(self, field: Field, terms: Sequence[str], frequencies: dict[int, int]) -> Scores:
        if not frequencies:
            return {}
        idf = sum(self.statistics.idf(field.name, term) for term in terms)
        mean = self.statistics.mean_length(field.name)
        lengths = self.shard.postings[field.name].lengths
        k1, b = self.index.definition.k1, self.index.definition.b
        return {n: bm25(idf, tf, lengths[n], mean, k1, b) for n, tf in frequencies.items()}


def _any_of(parts: Sequence[Scores]) -> Scores:
    total: Scores = {}
    for part in parts:
        for number, score in part.items():
            total[number] = total.get(number, 0.0) + score
    return total


def _all_of(parts: Sequence[Scores]) -> Scores:
    return {
        number: sum(part[number] for part in parts)
        for number in parts[0]
        if all(number in part for part in parts)
    }
