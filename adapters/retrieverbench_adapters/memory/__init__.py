"""Exact search in this process: the oracle that the other adapters are compared with.

Dense is the cosine over every vector of the tenant. Lexical is BM25 as Lucene computes it
(`BM25Similarity`, without the constant factor k1 + 1 that Elasticsearch keeps), over title,
newline and text in one field, after an analyzer with the tokens of Lucene's `english` or
`standard`. Hybrid is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).

Differences from the other backends:
- score: cosine in -1..1; BM25 as above; Σ 1 / (rrf_k + rank). Nothing is rescaled.
- ties: by uid, always.
- visibility: what was put is searchable after `settle`, and not before.
- filter: before scoring. Other tenants' chunks are not looked at.
- statistics: of all tenants in layout `filter` (property `shared_idf`), as in one Lucene
  index; of the tenant alone in layout `index`.
- lexical: only chunks that hold a term of the query. `total` counts the candidates of
  both legs together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal, Self

import anyio.to_thread
import numpy as np
import regex  # type: ignore[import-untyped]  # no type information is published
import Stemmer
from annotated_types import Ge, Le
from numpy.typing import NDArray

from retrieverbench.adapter import OWN_PREFIX, Description, Settings
from retrieverbench.errors import Code, InputError, Rejected, TenantError, Unavailable
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId, Value
from retrieverbench.options import parse_options

Rows = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Ranked = list[tuple[int, float]]  # rows and scores, best first


@dataclass(frozen=True, slots=True)
class Connect:
    """There is nothing to connect to."""


@dataclass(frozen=True, slots=True)
class Place:
    """How words are made and weighed; the defaults are those of Elasticsearch."""

    analyzer: Literal["english", "standard"] = "english"
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75


@dataclass(frozen=True, slots=True)
class Search:
    """`depth` is the length of each leg's list before fusion, at least k."""

    exact: Literal[True] = True
    rrf_k: Annotated[int, Ge(1)] = 60
    depth: Annotated[int, Ge(1)] = 100


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


class Memory:
    """Chunks in a dictionary; arrays, built by `settle`, in which is searched."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "index", "put", "where", "exact", "stable_ties"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._analyzer = _Analyzer(options.place.analyzer)
        self._chunks: dict[str, Chunk] = {}
        self._built: Mapping[str, _Index] = {}
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check the settings; there is nothing to connect to."""
        options = parse_options(Options, settings.options, "memory: options")
        faults = _setting_faults(settings, cls.capabilities)
        if faults:
            raise InputError(*faults)
        return cls(settings, options)

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Keep the chunks, or none of them when one is wrong; searchable after `settle`."""
        self._check_open()
        for chunk in chunks:
            _check_tenant(chunk.tenant)
            if self._settings.dimension:
                _unit_vector(chunk.vector, self._settings.dimension, f"chunk {chunk.uid!r}")
        self._chunks.update({chunk.uid: chunk for chunk in chunks})

    async def settle(self) -> None:
        """Build the arrays anew, in a thread, and exchange them at once."""
        self._check_open()
        chunks = sorted(self._chunks.values(), key=lambda chunk: (chunk.tenant, chunk.uid))
        analyzer = _Analyzer(self._options.place.analyzer)  # not shared between threads
        build = partial(self._build, chunks, analyzer)
        self._built = await anyio.to_thread.run_sync(build)
        self._analyzer = analyzer

    async def search(self, query: Query) -> Response:
        """Score every candidate of the tenant; ties by uid."""
        self._check_open()
        _check_tenant(query.tenant)
        index = self._built.get(query.tenant.value)
        if index is None:
            return Response([], total=0 if "total" in query.want else None)
        rows = index.tenant_rows(query.tenant, query.where)
        best, total = self._ranked(index, rows, query)
        hits = [_hit(index.chunks[row], score, query.want) for row, score in best]
        return Response(hits, total=total if "total" in query.want else None)

    async def describe(self) -> Description:
        """Counts of what `settle` built, and the sizes by which analyzers can be compared."""
        self._check_open()
        indexes = {id(index): index for index in self._built.values()}.values()
        settings: dict[str, object] = {
            "index": "exact",
            "similarity": "cosine",
            "dimension": self._settings.dimension,
            "layout": self._settings.layout,
            "terms": sum(index.term_count for index in indexes),
            "distinct_terms": len({term for index in indexes for term in index.postings}),
            **asdict(self._options.place),
            **asdict(self._options.search),
        }
        return Description(
            server="retrieverbench memory",
            server_version=version("retrieverbench"),
            client="numpy",
            client_version=np.__version__,
            settings=settings,
            chunks=dict(Counter(chunk.tenant.value for i in indexes for chunk in i.chunks)),
            properties=frozenset({"shared_idf"} if self._settings.layout == "filter" else ()),
            fidelity="engine",
        )

    async def close(self) -> None:
        """Forget everything."""
        self._chunks, self._built, self._closed = {}, {}, True

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("memory: this place was closed; open a new one", code=Code.CONNECT)

    def _build(self, chunks: Sequence[Chunk], analyzer: _Analyzer) -> Mapping[str, _Index]:
        """The index that answers each tenant: one for all, or one each."""
        groups = [chunks]
        if self._settings.layout == "index":
            groups = [list(own) for _, own in groupby(chunks, key=lambda chunk: chunk.tenant)]
        place, dimension = self._options.place, self._settings.dimension
        indexes = [_build_index(group, analyzer, place, dimension) for group in groups]
        return {tenant: index for index in indexes for tenant in index.spans}

    def _ranked(self, index: _Index, rows: Rows, query: Query) -> tuple[Ranked, int]:
        """The best k, and how many candidates there were."""
        legs = []
        if query.mode != "lexical":
            legs.append((rows, self._cosines(index, rows, query)))
        if query.mode != "dense":
            scores = index.bm25(rows, self._analyzer.terms(query.text))
            legs.append((rows[scores > 0], scores[scores > 0]))
        if len(legs) == 1:
            return _best(*legs[0], query.k), len(legs[0][0])
        search = self._options.search
        lists = [_best(*leg, max(search.depth, query.k)) for leg in legs]
        return _fused(lists, search.rrf_k)[: query.k], len(rows)

    def _cosines(self, index: _Index, rows: Rows, query: Query) -> Floats:
        vector = _unit_vector(query.vector, self._settings.dimension, "query")
        # einsum adds every row up in the same order; the product of a linear algebra
        # library does not, and then equal vectors differ in their last bits and are no ties.
        cosines: Floats = np.einsum("ij,j->i", index.matrix[rows], vector)
        return cosines


@dataclass(frozen=True, slots=True)
class _Index:
    """Arrays over chunks in the order of (tenant, uid); a row is a position in them.

    `postings` holds for each term the rows that have it, ascending, and what the term adds
    to their BM25 score. `matrix` holds unit vectors, float32, and no column without vectors.
    """

    chunks: Sequence[Chunk]
    spans: Mapping[str, tuple[int, int]]
    matrix: NDArray[np.float32]
    postings: Mapping[str, tuple[Rows, Floats]]
    term_count: int

    def tenant_rows(self, tenant: TenantId, where: Mapping[str, Value]) -> Rows:
        """The one place where a tenant's rows are chosen; `where` can only narrow them."""
        rows = range(*self.spans[tenant.value])
        if not where:
            return np.asarray(rows, dtype=np.int64)
        kept = [row for row in rows if _satisfies(self.chunks[row], where)]
        return np.asarray(kept, dtype=np.int64)

    def bm25(self, rows: Rows, terms: Iterable[str]) -> Floats:
        """The score of each row; 0 where no term of the query occurs, else above 0."""
        scores = np.zeros(len(self.chunks))
        for term, times in Counter(terms).items():
            if term in self.postings:
                holders, added = self.postings[term]
                scores[holders] += times * added
        own: Floats = scores[rows]
        return own


def _build_index(
    chunks: Sequence[Chunk], analyzer: _Analyzer, place: Place, dimension: int
) -> _Index:
    counts = [Counter(analyzer.terms(chunk.searchable_text)) for chunk in chunks]
    lengths = np.asarray([count.total() for count in counts], dtype=np.int64)
    occurrences: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, count in enumerate(counts):
        for term, times in count.items():
            occurrences[term].append((row, times))
    matrix = np.empty((len(chunks), dimension), dtype=np.float32)
    if dimension:
        for row, chunk in enumerate(chunks):
            matrix[row] = _unit_vector(chunk.vector, dimension, f"chunk {chunk.uid!r}")
    return _Index(
        chunks=chunks,
        spans=_spans(chunks),
        matrix=matrix,
        postings=_postings(occurrences, lengths, place),
        term_count=int(lengths.sum()),
    )


def _spans(chunks: Sequence[Chunk]) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = {}
    for row, chunk in enumerate(chunks):
        start, _ = spans.get(chunk.tenant.value, (row, row))
        spans[chunk.tenant.value] = (start, row + 1)
    return spans


def _postings(
    occurrences: Mapping[str, Sequence[tuple[int, int]]], lengths: Rows, place: Place
) -> dict[str, tuple[Rows, Floats]]:
    """BM25 of Lucene 8 and later: idf · tf / (tf + k1 · (1 - b + b · length / average)).

    idf = ln(1 + (N - n + 0.5) / (n + 0.5)); N counts the chunks with at least one term and
    n those with this term. The average is of exact lengths, the length a stored one.
    """
    documents = int(np.count_nonzero(lengths))
    average = lengths.sum() / max(documents, 1)
    stored = np.asarray([_stored_length(int(length)) for length in lengths], dtype=np.float64)
    norms = place.k1 * (1 - place.b + place.b * stored / max(average, 1))
    postings: dict[str, tuple[Rows, Floats]] = {}
    for term, pairs in occurrences.items():
        rows, times = np.asarray(pairs, dtype=np.int64).T
        idf = np.log(1 + (documents - len(rows) + 0.5) / (len(rows) + 0.5))
        postings[term] = (rows, idf * times / (times + norms[rows]))
    return postings


def _stored_length(length: int) -> int:
    """The length that Lucene reads back from the one byte in which it keeps it."""
    if length < 40:
        return length
    shift = (length - 24).bit_length() - 4
    return 24 + (((length - 24) >> shift) << shift)


def _best(rows: Rows, scores: Floats, k: int) -> Ranked:
    """The k highest scores, ties by row, which is the order of uids within a tenant."""
    if k < len(rows):
        least = np.partition(scores, len(rows) - k)[len(rows) - k]
        rows, scores = rows[scores >= least], scores[scores >= least]
    order = np.argsort(-scores, kind="stable")[:k]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def _fused(lists: Iterable[Ranked], rrf_k: int) -> Ranked:
    """Reciprocal rank fusion: the sum over the lists of 1 / (rrf_k + rank), rank from 1."""
    fused: defaultdict[int, float] = defaultdict(float)
    for ranked in lists:
        for rank, (row, _) in enumerate(ranked, start=1):
            fused[row] += 1 / (rrf_k + rank)
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


def _satisfies(chunk: Chunk, where: Mapping[str, Value]) -> bool:
    """Equality as in JSON: 1 is 1.0, and neither is true."""
    for name, wanted in where.items():
        found = chunk.metadata.get(name)
        if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
            return False
    return True


def _hit(chunk: Chunk, score: float, want: frozenset[str]) -> Hit:
    return Hit(
        uid=chunk.uid,
        score=score,
        tenant=chunk.tenant.value if "tenant" in want else None,
        text=chunk.text if "text" in want else None,
    )


def _setting_faults(settings: Settings, capabilities: frozenset[str]) -> list[str]:
    faults = []
    if settings.endpoint:
        faults.append(f"memory: endpoint: {settings.endpoint!r} is not used; leave it empty")
    if not settings.place.startswith(OWN_PREFIX):
        faults.append(f"memory: place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.layout not in capabilities:
        faults.append(f"memory: layout: {settings.layout!r} is unknown; use filter or index")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        faults.append("memory: dimension: 0 with a mode that needs vectors; choose an embedder")
    return faults


def _check_tenant(tenant: object) -> None:
    if not isinstance(tenant, TenantId):
        raise TenantError(f"memory: tenant: {tenant!r:.80} is not a checked tenant")


def _unit_vector(vector: object, dimension: int, owner: str) -> NDArray[np.float32]:
    if vector is None:
        raise Rejected(f"memory: vector of {owner}: missing; dense search needs one")
    exact = np.asarray(vector, dtype=np.float64)
    if exact.shape != (dimension,):
        raise Rejected(f"memory: vector of {owner}: {exact.size} numbers, expected {dimension}")
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length) or length == 0:
        raise Rejected(f"memory: vector of {owner}: its length is {length}, so it has no cosine")
    return (exact / length).astype(np.float32)


class _Analyzer:
    """Text into terms as Lucene's analyzers `english` and `standard` make them.

    `standard` splits and lowers; `english` also removes the possessive and stop words, and
    stems by Porter's algorithm. What a word becomes is remembered.
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
