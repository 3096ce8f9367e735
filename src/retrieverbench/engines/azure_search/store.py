"""What an index holds: documents, shards, postings and vectors, visible or not yet."""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from retrieverbench.engines.azure_search.analysis import analyze
from retrieverbench.engines.azure_search.definition import Definition, Field
from retrieverbench.engines.azure_search.mutants import Mutant
from retrieverbench.engines.azure_search.scoring import lossy_length

Values = Mapping[str, Any]
_VALUE_GAP = 100  # positions between two values of a collection, so that no phrase spans them


@dataclass(frozen=True, slots=True)
class Options:
    """How a stand-in behaves. Everything else is as the service documents it.

    `shards` is how many parts an index has; a document's shard is crc32 of its key, or what
    `shard_map` says. `lag` is the time in seconds until a write is visible. `max_actions`
    and `max_body` (bytes) limit one request. `norms` is `byte315` (as recorded) or `exact`.
    `certificate` and `certificate_key` are files in PEM; with them it answers https only.
    `BROKEN_ON_PURPOSE` makes it leak or lie in one way (`mutants.BREAKS`); never for figures.
    """

    shards: int = 3
    shard_map: Mapping[str, int] = field(default_factory=dict)
    lag: float = 0.0
    max_actions: int = 1000
    max_body: int = 16 * 1024 * 1024
    norms: Literal["byte315", "exact"] = "byte315"
    certificate: str = ""
    certificate_key: str = ""
    BROKEN_ON_PURPOSE: Mutant | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document. `number` grows with every write and breaks ties.

    `stale` are values before a merge that filters still see, in one mutant only.
    """

    key: str
    number: int
    shard: int
    values: Values
    stale: Values | None = None

    def fulfils(self, condition: Callable[[Values], bool]) -> bool:
        """Whether a filter lets it through."""
        return condition(self.values) or (self.stale is not None and condition(self.stale))


@dataclass(slots=True)
class Postings:
    """One searchable field of one shard: positions by term and document, and lengths."""

    terms: dict[str, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    lengths: dict[int, float] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    total: int = 0

    def add(self, number: int, tokens: Sequence[tuple[str, int]], *, exact: bool) -> None:
        """Index one document's field."""
        if not tokens:
            return
        positions: dict[str, list[int]] = {}
        for term, position in tokens:
            positions.setdefault(term, []).append(position)
        for term, places in positions.items():
            self.terms.setdefault(term, {})[number] = tuple(places)
        self.lengths[number] = float(len(tokens)) if exact else lossy_length(len(tokens))
        self.tokens[number] = len(tokens)
        self.total += len(tokens)

    def remove(self, number: int, terms: Iterable[str]) -> None:
        """Forget one document; its terms are given so that not all are searched."""
        if self.lengths.pop(number, None) is None:
            return
        self.total -= self.tokens.pop(number)
        for term in frozenset(terms):
            documents = self.terms[term]
            del documents[number]
            if not documents:
                del self.terms[term]


@dataclass(slots=True)
class Shard:
    """One part of an index, with statistics of its own."""

    documents: dict[int, Document] = field(default_factory=dict)
    postings: dict[str, Postings] = field(default_factory=dict)


@dataclass(slots=True)
class Vectors:
    """All vectors of one field, normalised, one row per document of `numbers`."""

    numbers: list[int]
    matrix: Any


class Index:
    """One index. Writes are durable at once and visible to reads after `options.lag`."""

    def __init__(self, definition: Definition, options: Options, etag: str) -> None:
        self.definition = definition
        self.etag = etag
        self.shards = [Shard() for _ in range(options.shards)]
        self.options = options
        self.remembered: dict[str, dict[str, Any]] = {}
        self._stored: dict[str, Document] = {}
        self._visible: dict[str, Document] = {}
        self._pending: deque[tuple[float, str, Document | None]] = deque()
        self._vectors: dict[str, Vectors] = {}
        self._written = 0

    def stored(self, key: str) -> Values | None:
        """What has been written last under a key, visible or not."""
        document = self._stored.get(key)
        return None if document is None else document.values

    def write(self, key: str, values: Values | None, stale: Values | None = None) -> None:
        """Store a document, or delete it when `values` is None."""
        document = None
        if values is not None:
            self._written += 1
            document = Document(key, self._written, self._shard_of(key), values, stale)
            self._stored[key] = document
        else:
            self._stored.pop(key, None)
        self._pending.append((time.monotonic() + self.options.lag, key, document))

    def documents(self) -> dict[int, Document]:
        """The visible documents by number, in the order they were written."""
        self.refresh()
        return {document.number: document for document in self._visible.values()}

    def visible(self, key: str) -> Values | None:
        """The document that a read by key finds."""
        self.refresh()
        document = self._visible.get(key)
        return None if document is None else document.values

    def count(self) -> int:
        """How many documents are visible."""
        self.refresh()
        return len(self._visible)

    def refresh(self) -> None:
        """Make visible what is due."""
        now = time.monotonic()
        while self._pending and self._pending[0][0] <= now:
            _, key, document = self._pending.popleft()
            self._hide(key)
            if document is not None:
                self._show(document)
            self._vectors.clear()
            self.remembered.clear()

    def vectors(self, name: str) -> Vectors:
        """The matrix of a vector field, made when first needed after a change."""
        import numpy as np

        self.refresh()
        if name not in self._vectors:
            found = [d for d in self._visible.values() if d.values.get(name) is not None]
            rows = np.array([d.values[name] for d in found], dtype=np.float32).astype(np.float64)
            rows = rows.reshape(len(found), self.definition.fields[name].dimensions)
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            norms[norms == 0] = 1.0
            self._vectors[name] = Vectors([d.number for d in found], rows / norms)
        return self._vectors[name]

    def redefine(self, definition: Definition, etag: str) -> None:
        """A definition with more fields; documents have null in the new ones."""
        self.definition = definition
        self.etag = etag

    def _shard_of(self, key: str) -> int:
        mapped = self.options.shard_map.get(key)
        return zlib.crc32(key.encode()) % len(self.shards) if mapped is None else mapped

    def _show(self, document: Document) -> None:
        shard = self.shards[document.shard]
        self._visible[document.key] = document
        shard.documents[document.number] = document
        for searchable in self._text_fields():
            postings = shard.postings.setdefault(searchable.name, Postings())
            exact = self.options.norms == "exact"
            postings.add(document.number, _tokens(searchable, document.values), exact=exact)

    def _hide(self, key: str) -> None:
        document = self._visible.pop(key, None)
        if document is None:
            return
        shard = self.shards[document.shard]
        del shard.documents[document.number]
        for searchable in self._text_fields():
            if searchable.name in shard.postings:
                terms = (term for term, _ in _tokens(searchable, document.values))
                shard.postings[searchable.name].remove(document.number, terms)

    def _text_fields(self) -> list[Field]:
        return [f for f in self.definition.fields.values() if f.searchable and not f.is_vector]


def _tokens(searchable: Field, values: Values) -> list[tuple[str, int]]:
    value = values.get(searchable.name)
    texts: Sequence[str] = value if isinstance(value, list) else [value or ""]
    tokens: list[tuple[str, int]] = []
    start = 0
    for text in texts:
        found = analyze(searchable.analyzer, text)
        tokens += [(term, start + position) for term, position in found]
        start = (tokens[-1][1] if tokens else start) + _VALUE_GAP
    return tokens
