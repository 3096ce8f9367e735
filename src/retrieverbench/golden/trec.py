"""Reads judgements (TREC, BEIR), plain or gzipped.

*Why not a library:* the common readers take the last of two judgements without a word,
cut 0.5 to 0, and split at Unicode blanks inside ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from retrieverbench.errors import plural
from retrieverbench.golden.faults import Faults, quote, settle
from retrieverbench.golden.text import decode_words, read_blocks, read_columns, read_rows, stretches

Negative = Literal["refuse", "unjudged", "zero", "keep"]

_HEADERS = {"query-id", "query_id", "queryid", "qid", "query"}
_GRADE = re.compile(r"-?[0-9]+")
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


def read_qrels(path: Path, *, negative: Negative = "refuse") -> Qrels:
    """Read TREC judgements of three or four columns, or BEIR's with a header.

    `negative` grades are refused, taken as unjudged, as 0, or kept for a convention that
    has its own way with them. Raises InputError with every fault: another shape, grades
    that are not whole numbers, two grades for one pair, a subtopic in column 2.
    """
    faults = Faults(str(path))
    grades = _plain_grades(path)
    if grades is None:
        grades, values = _careful_grades(path, negative, faults)
    else:
        values = {grade for of_query in grades.values() for grade in of_query.values()}
    _warn_of_scale(values, faults)
    notes = settle([faults])
    return Qrels(grades, min(values), max(values), notes)


def _plain_grades(path: Path) -> dict[str, dict[str, int]] | None:
    """The grades of a file of four columns in which nothing is unusual, None of any other."""
    grades: dict[str, dict[str, int]] = {}
    noted = Faults(str(path))
    total = 0
    for _, block in read_blocks(path, noted):
        columns = read_columns(block, 4)
        if columns is None or noted.found:
            return None
        queries, _, judged, written = columns
        if not b"".join(written).isdigit() or max(map(len, written)) >= len(str(HIGHEST_GRADE)):
            return None
        documents, numbers = decode_words(judged), list(map(int, written))
        for start, end in stretches(queries):
            of_query = grades.setdefault(queries[start].decode(), {})
            of_query.update(zip(documents[start:end], numbers[start:end], strict=True))
        total += len(queries)
    repeated = sum(map(len, grades.values())) < total
    return None if repeated else grades or None


def _careful_grades(
    path: Path, negative: Negative, faults: Faults
) -> tuple[dict[str, dict[str, int]], set[int]]:
    """The grades of any file, and every grade that stands in it; the faults are noted."""
    rows = list(_judgements(path, faults))
    if not rows and not any(not fault.warning for fault in faults.found):
        faults.error("G06", f"no judgement found; {_QRELS_SHAPE}")
    if _has_subtopics(rows):
        faults.error("G04", "column 2 is a subtopic: it varies and pairs repeat; choose one")
        settle([faults])
    _check_pairs(rows, faults)
    negatives = sum(row.grade < 0 for row in rows)
    if negatives and negative == "refuse":
        first = next(row for row in rows if row.grade < 0)
        faults.error(
            "G19",
            f"grade: {first.grade} is below 0, one of {plural(negatives, 'negative grade')}; write "
            "0 for 'judged, not relevant', or score by the rules of a tool that reads them "
            "(--convention trec_eval)",
            first.line,
        )
    elif negatives:
        word = {"unjudged": "taken as unjudged", "zero": "taken as 0", "keep": "kept"}[negative]
        faults.warn("G19", f"grade: {plural(negatives, 'negative grade')} {word}")
    grades: dict[str, dict[str, int]] = {}
    for row in rows:
        of_query = grades.setdefault(row.query, {})
        if row.grade >= 0 or negative == "keep":
            of_query[row.document] = row.grade
        elif negative == "zero":
            of_query[row.document] = 0
    return grades, {row.grade for row in rows}


def _judgements(path: Path, faults: Faults) -> Iterator[_Row]:
    """The rows of a file of judgements; what is no row is noted."""
    columns = 0
    for number, words in _rows(path, faults):
        if not columns and words[0].lower() in _HEADERS and not _is_number(words[-1]):
            continue
        columns = columns or len(words)
        if len(words) not in {3, 4} or len(words) != columns:
            what = f"has {plural(len(words), 'column')}"
            if len(words) == 5:
                what += ", as in prels format, which holds no plain judgements"
            elif len(words) in {3, 4}:
                what += f", the lines above {columns}"
            faults.error("G04", f"{what}; {_QRELS_SHAPE}", number)
            continue
        row = _judgement(words, number, faults)
        if row is not None:
            yield row


def _rows(path: Path, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    for first, block in read_blocks(path, faults):
        yield from read_rows(first, block, faults)


def _judgement(words: list[str], number: int, faults: Faults) -> _Row | None:
    grade = words[-1]
    if not _GRADE.fullmatch(grade):
        remedy = "grades are whole numbers, 0 for 'not relevant'"
        if len(words) == 4 and _is_number(grade) and _GRADE.fullmatch(words[2]):
            remedy = "the last column is no grade; if column 3 is, keep the first three columns"
        faults.error("G18", f"grade: {quote(grade)} is not a whole number; {remedy}", number)
        return None
    if len(grade) > len(str(HIGHEST_GRADE)) + 1 or abs(int(grade)) > HIGHEST_GRADE:
        faults.error(
            "G19",
            f"grade: {quote(grade)} is not between -{HIGHEST_GRADE} and {HIGHEST_GRADE}, and a "
            "gain of 2^grade has no number then; map the grades to a short scale",
            number,
        )
        return None
    second = words[1] if len(words) == 4 else ""
    return _Row(number, words[0], second, words[-2], int(grade))


def _is_number(text: str) -> bool:
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
