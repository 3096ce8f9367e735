"""Reads TREC runs, plain or gzipped.

*Why not a library:* the common readers believe the rank column, take the last of two
results without a word, and split at Unicode blanks inside ids.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from retrieverbench.errors import plural
from retrieverbench.golden.faults import Faults, quote, settle
from retrieverbench.golden.text import decode_words, read_blocks, read_columns, read_rows, stretches
from retrieverbench.model import Listing

_SHAPE = "a run has six columns: query Q0 document rank score tag"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_Columns = tuple[Sequence[bytes], Sequence[str], Sequence[float]]
"""Queries, many neighbours equal, so that few need to be decoded; documents; scores."""
_Lists = defaultdict[str, tuple[list[str], "array[float]"]]


@dataclass(frozen=True, slots=True)
class TrecRun:
    """The list of each query, best score first; `notes` say what was unusual in the file."""

    lists: dict[str, Listing]
    notes: tuple[str, ...]


def read_run(path: Path) -> TrecRun:
    """Read a TREC run as trec_eval does, or refuse it.

    The rank column is ignored; equal scores keep the order of the file; words after the
    sixth column are ignored unless they look like another result. Raises InputError with
    every fault: fewer columns, a rank that is no whole number, a score that is no finite
    decimal number, a document twice for one query, control characters, bytes that are not
    UTF-8.
    """
    faults = Faults(str(path))
    lists: _Lists = defaultdict(lambda: ([], array("d")))
    for first, block in read_blocks(path, faults):
        columns = _fast_columns(block)
        _append(lists, columns or _careful_columns(first, block, faults))
    ordered = {query: _best_first(*results) for query, results in lists.items()}
    if any(listing.repeated for listing in ordered.values()):
        _note_repeated(path, faults)
    if not lists and not any(not fault.warning for fault in faults.found):
        faults.error("G06", f"no result found; {_SHAPE}")
    return TrecRun(ordered, settle([faults]))


def _fast_columns(block: bytes) -> _Columns | None:
    """Queries, documents and scores of a block in which nothing at all is unusual."""
    columns = read_columns(block, 6)
    if columns is None:
        return None
    queries, _, documents, ranks, written, _ = columns
    if not b"".join(ranks).isdigit() or b"_" in b"".join(written):
        return None
    try:
        scores = list(map(float, written))
    except ValueError:
        return None
    return (queries, decode_words(documents), scores) if math.isfinite(sum(scores)) else None


def _careful_columns(first: int, block: bytes, faults: Faults) -> _Columns:
    """The same of any block, with the faults of each line noted."""
    queries: list[bytes] = []
    documents: list[str] = []
    scores: list[float] = []
    for number, words in read_rows(first, block, faults):
        if _is_sound(words, number, faults):
            queries.append(words[0].encode())
            documents.append(words[2])
            scores.append(float(words[4]))
    return queries, documents, scores


def _is_sound(words: Sequence[str], number: int, faults: Faults) -> bool:
    if len(words) < 6:
        shown = quote(" ".join(words))
        faults.error("G04", f"has {plural(len(words), 'column')} ({shown}); {_SHAPE}", number)
        return False
    before = faults.total(warnings=False)
    rank, score = words[3], words[4]
    if not _WHOLE.fullmatch(rank):
        faults.error("G46", f"rank: {quote(rank)} is not a whole number; {_SHAPE}", number)
    if not _NUMBER.fullmatch(score) or not math.isfinite(float(score)):
        faults.error(
            "G42", f"score: {quote(score)} is no finite number; a run is ordered by scores", number
        )
    if any(_WHOLE.fullmatch(a) and _NUMBER.fullmatch(b) for a, b in pairwise(words[6:])):
        columns = plural(len(words), "column")
        faults.error(
            "G04", f"has {columns}, as if it held two results; write each on its line", number
        )
    return faults.total(warnings=False) == before


def _append(lists: _Lists, columns: _Columns) -> None:
    """Add results to the lists of their queries; neighbours of one query are moved at once."""
    queries, documents, scores = columns
    for start, end in stretches(queries):
        ids, numbers = lists[queries[start].decode()]
        ids += documents[start:end]
        numbers.extend(scores[start:end])


def _best_first(ids: list[str], numbers: array[float]) -> Listing:
    listing = Listing(ids, numbers)
    if listing.ordered:
        return listing
    order = sorted(range(len(ids)), key=numbers.__getitem__, reverse=True)
    return Listing([ids[place] for place in order], array("d", [numbers[p] for p in order]))


def _note_repeated(path: Path, faults: Faults) -> None:
    """Read a run again to say which document is twice in a list, and where."""
    first_lines: dict[tuple[str, str], int] = {}
    for number, words in _rows(path):
        query, _, document = words[:3]
        first = first_lines.setdefault((query, document), number)
        if first != number:
            faults.error(
                "G17",
                f"document: {quote(document)} of query {quote(query)} is already in line "
                f"{first}; list each document once",
                number,
            )


def _rows(path: Path) -> Iterable[tuple[int, list[str]]]:
    ignored = Faults(str(path))
    for first, block in read_blocks(path, ignored):
        for number, words in read_rows(first, block, ignored):
            if _is_sound(words, number, ignored):
                yield number, words
