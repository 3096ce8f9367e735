"""Reads judgements (TREC, BEIR) and runs (TREC), plain or gzipped.

*Why not a library:* the common readers take the last of two judgements without a word,
cut 0.5 to 0, believe the rank column, and split at Unicode blanks inside ids.
"""

from __future__ import annotations

import gzip
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple

from retrieverbench.errors import InputError
from retrieverbench.golden.faults import Faults, plural, quote, settle

Negative = Literal["refuse", "unjudged", "zero", "keep"]

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_LFS = b"version https://git-lfs.github.com/spec/"
_HEADERS = {b"query-id", b"query_id", b"queryid", b"qid", b"query"}
_RUN_SHAPE = "a run has six columns: query Q0 document rank score tag"
HIGHEST_GRADE = 100
_QRELS_SHAPE = "judgements have the columns query, document, grade, or query 0 document grade"


@dataclass(frozen=True, slots=True)
class Qrels:
    """Grades by query and document id, in file order.

    The file has no manifest: `lowest` and `highest` are the grades seen in it. `notes` say
    what was unusual and how it was read.
    """

    grades: dict[str, dict[str, int]]
    lowest: int
    highest: int
    notes: tuple[str, ...]


class _Row(NamedTuple):
    """One line of judgements; `second` is column 2 of four, "" of three."""

    line: int
    query: str
    second: str
    document: str
    grade: int


def read_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Read a TREC run: for each query its (document id, score), best score first.

    The rank column is ignored; equal scores keep the order of the file; words after the
    sixth column are ignored. Raises InputError with every fault: fewer columns, a score
    that is no finite number, a document twice for one query, bytes that are not UTF-8.
    """
    lists = _read_fast(path)
    if lists is None:
        faults = Faults(str(path))
        _note_faults_of_run(path, faults)
        settle([faults])
        raise AssertionError(f"{path}: a fault was seen and not found again")
    for hits in lists.values():
        hits.sort(key=itemgetter(1), reverse=True)
    return lists


def _read_fast(path: Path) -> dict[str, list[tuple[str, float]]] | None:
    """The results by query in file order, None if anything at all is wrong.

    Ids and scores are converted by the block of one query: a million lines take about as
    long as splitting them.
    """
    lists: defaultdict[bytes, list[tuple[str, float]]] = defaultdict(list)
    current, documents, scores = b"", list[bytes](), list[bytes]()
    try:
        for line in _file(path, Faults("")):
            fields = line.split(None, 5)
            if len(fields) < 6:
                if _is_empty(line):
                    continue
                return None
            if fields[0] != current:
                if _is_empty(line):
                    continue
                _convert(documents, scores, lists[current])
                current = fields[0]
            documents.append(fields[2])
            scores.append(fields[4])
        _convert(documents, scores, lists[current])
        del lists[b""]
        for hits in lists.values():
            if len({name for name, _ in hits}) < len(hits):
                return None
        return {query.decode(): hits for query, hits in lists.items()} or None
    except ValueError:
        return None


def _convert(documents: list[bytes], scores: list[bytes], results: list[tuple[str, float]]) -> None:
    """Move one query's block to its results; ValueError for a score that is no number."""
    numbers = list(map(float, scores))
    if b"_" in b" ".join(scores) or not all(map(math.isfinite, numbers)):
        raise ValueError("a score is no plain finite number")
    names = b" ".join(documents).decode().split(" ") if documents else []
    results += zip(map(sys.intern, names), numbers, strict=True)
    documents.clear()
    scores.clear()


def _note_faults_of_run(path: Path, faults: Faults) -> None:
    """Read a run slowly to say what is wrong with it and where."""
    first_lines: dict[tuple[bytes, bytes], int] = {}
    for number, line in _lines(path, faults):
        fields = line.split(None, 5)
        if len(fields) < 6:
            shown = quote(b" ".join(fields).decode(errors="replace"))
            columns = plural(len(fields), "column")
            faults.error("G04", f"has {columns} ({shown}); {_RUN_SHAPE}", number)
            continue
        query, _, document, _, score, _ = fields
        if not _is_utf8(query) or not _is_utf8(document):
            faults.error("G01", "an id is not UTF-8; save the file as UTF-8", number)
        if b"_" in score or not _is_number(score) or not math.isfinite(float(score)):
            shown = quote(score.decode(errors="replace"))
            faults.error(
                "G42", f"score: {shown} is no finite number; a run is ordered by scores", number
            )
        first = first_lines.setdefault((query, document), number)
        if first != number:
            name, asked = (quote(part.decode(errors="replace")) for part in (document, query))
            faults.error(
                "G17",
                f"document: {name} of query {asked} is already in line {first}; "
                "list each document once",
                number,
            )
    if not first_lines and not faults.found:
        faults.error("G06", f"no result found; {_RUN_SHAPE}")


def read_qrels(path: Path, *, negative: Negative = "refuse") -> Qrels:
    """Read TREC judgements of three or four columns, or BEIR's with a header.

    `negative` grades are refused, taken as unjudged, as 0, or kept for a convention that
    has its own way with them. Raises InputError with every fault: another shape, grades
    that are not whole numbers, two grades for one pair, a subtopic in column 2.
    """
    faults = Faults(str(path))
    rows = list(_judgements(path, faults))
    if not rows and not faults.found:
        faults.error("G06", f"no judgement found; {_QRELS_SHAPE}")
    if _has_subtopics(rows):
        faults.error("G04", "column 2 is a subtopic: it varies and pairs repeat; choose one")
        settle([faults])
    _check_pairs(rows, faults)
    negatives = sum(row.grade < 0 for row in rows)
    if negatives and negative != "refuse":
        word = {"unjudged": "taken as unjudged", "zero": "taken as 0", "keep": "kept"}[negative]
        faults.warn("G19", f"grade: {plural(negatives, 'negative grade')} {word}")
    grades: dict[str, dict[str, int]] = {}
    for row in rows:
        of_query = grades.setdefault(row.query, {})
        if row.grade >= 0 or negative == "keep":
            of_query[row.document] = row.grade
        elif negative == "zero":
            of_query[row.document] = 0
        elif negative == "refuse":
            faults.error(
                "G19",
                f"grade: {row.grade} is below 0; say whether negative grades are unjudged or 0",
                row.line,
            )
    values = {row.grade for row in rows}
    _warn_of_scale(values, faults)
    notes = settle([faults])
    return Qrels(grades, min(values), max(values), notes)


def _file(path: Path, faults: Faults) -> Iterator[bytes]:
    """Every line, without reading the file at once; gzip and a byte order mark are undone."""
    try:
        with path.open("rb") as probe:
            opener = gzip.open if probe.read(2) == _GZIP else open
        with opener(path, "rb") as file:
            first = file.readline()
            if first.startswith(_BOM):
                faults.warn("G02", "starts with a byte order mark; it was ignored", 1)
                first = first[len(_BOM) :]
            yield first
            yield from file
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); check the path") from error


def _is_empty(line: bytes) -> bool:
    return not line.strip() or line.startswith(b"#")


def _lines(path: Path, faults: Faults) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, numbered from 1."""
    for number, line in enumerate(_file(path, faults), 1):
        if number == 1 and line.startswith(_LFS):
            faults.error("G05", "is a Git LFS pointer, not the data; run 'git lfs pull'")
            return
        if not _is_empty(line):
            yield number, line


def _judgements(path: Path, faults: Faults) -> Iterator[_Row]:
    """The rows of a file of judgements; what is no row is noted."""
    columns = 0
    for number, line in _lines(path, faults):
        fields = line.split()
        if not columns and fields[0].lower() in _HEADERS and not _is_number(fields[-1]):
            continue
        columns = columns or len(fields)
        if len(fields) not in {3, 4} or len(fields) != columns:
            what = f"has {plural(len(fields), 'column')}"
            if len(fields) == 5:
                what += ", as in prels format, which holds no plain judgements"
            elif len(fields) in {3, 4}:
                what += f", the lines above {columns}"
            faults.error("G04", f"{what}; {_QRELS_SHAPE}", number)
            continue
        row = _judgement(fields, number, faults)
        if row is not None:
            yield row


def _judgement(fields: list[bytes], number: int, faults: Faults) -> _Row | None:
    grade = fields[-1]
    if not grade.removeprefix(b"-").isdigit():
        shown = quote(grade.decode(errors="replace"))
        remedy = "grades are whole numbers, declare a scale when importing"
        if len(fields) == 4 and _is_number(grade) and fields[2].isdigit():
            remedy = "the last column is no grade; if column 3 is, keep the first three columns"
        faults.error("G18", f"grade: {shown} is not a whole number; {remedy}", number)
        return None
    if len(grade) > len(str(HIGHEST_GRADE)) + 1 or abs(int(grade)) > HIGHEST_GRADE:
        shown = quote(grade.decode())
        faults.error(
            "G19",
            f"grade: {shown} is not between -{HIGHEST_GRADE} and {HIGHEST_GRADE}, and a gain of "
            "2^grade has no number then; map the grades to a short scale",
            number,
        )
        return None
    try:
        second = fields[1].decode() if len(fields) == 4 else ""
        return _Row(number, fields[0].decode(), second, fields[-2].decode(), int(grade))
    except UnicodeDecodeError:
        faults.error("G01", "an id is not UTF-8; save the file as UTF-8", number)
        return None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _has_subtopics(rows: list[_Row]) -> bool:
    """Whether column 2 varies while pairs of query and document repeat."""
    pairs = {(row.query, row.document) for row in rows}
    return len(pairs) < len(rows) and len({row.second for row in rows}) > 1


def _check_pairs(rows: list[_Row], faults: Faults) -> None:
    """Two judgements of one pair: a warning if equal, an error if not."""
    seen: dict[tuple[str, str], _Row] = {}
    for row in rows:
        first = seen.setdefault((row.query, row.document), row)
        if first is row:
            continue
        where = (
            f"document: {quote(row.document)} of query {quote(row.query)} "
            f"is already judged in line {first.line}"
        )
        if first.grade == row.grade:
            faults.warn("G17", f"{where}, with the same grade", row.line)
        else:
            faults.error("G17", f"{where}, with grade {first.grade}; keep one", row.line)


def _warn_of_scale(grades: set[int], faults: Faults) -> None:
    """Grades that gain 2^g - 1 would count twice, or that cannot tell anything apart."""
    positive = {grade for grade in grades if grade > 0}
    if len(positive) > 2 and max(positive) > 4 and all(g & (g - 1) == 0 for g in positive):
        shown = ", ".join(map(str, sorted(grades)))
        faults.warn(
            "G45",
            f"grades are {shown}: already exponential; with gain 2^g-1 they are counted twice, "
            "declare scale",
        )
    elif grades and min(grades) > 1:
        faults.warn("G45", f"the lowest grade is {min(grades)}; no document is judged below it")
