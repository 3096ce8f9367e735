"""Reads a BEIR judgement file: query-id, corpus-id and score, separated by tabs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from retrieverbench.errors import plural
from retrieverbench.golden.faults import Faults, quote
from retrieverbench.golden.fields import Record
from retrieverbench.golden.labels import check_grade
from retrieverbench.golden.text import BOM, plain_line

_HEADER = re.compile(r"query[-_]?id\t(?:corpus|doc)[-_]?id\tscore", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_UNJUDGED = frozenset({"", "NULL"})


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of one query: document id → (grade, line)."""

    query_id: str
    grades: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_judgements(raw: bytes, faults: Faults) -> dict[str, Judged]:
    """Judgements by query id, in file order. Empty and NULL mean unjudged, never 0."""
    judged: dict[str, Judged] = {}
    unjudged = 0
    for number, piece in enumerate(raw.removeprefix(BOM).split(b"\n"), 1):
        row = plain_line(piece.removesuffix(b"\r"), number, faults)
        if row is None:
            continue
        if not row.strip() or (number == 1 and _HEADER.fullmatch(row)):
            continue
        columns = row.split("\t")
        if len(columns) != 3:
            faults.error(
                "G03",
                f"holds {plural(len(columns), 'column')}, not 3; "
                "judgements are query-id, corpus-id and score, separated by tabs",
                number,
            )
        elif columns[2].strip() in _UNJUDGED:
            unjudged += 1
        else:
            _add(judged, columns, Record({}, number, faults))
    if unjudged:
        faults.warn("G49", f"{plural(unjudged, 'judgement')} without a grade read as unjudged")
    if not judged and not faults.found:
        faults.error("G06", "no judgement found; an empty set cannot pass")
    return judged


def _add(judged: dict[str, Judged], columns: list[str], record: Record) -> None:
    query_id, chunk_id, written = columns
    score: object = int(written) if _WHOLE.fullmatch(written.strip()) else written
    grade = check_grade(record, "score", score, None)
    if grade is None:
        return
    grades = judged.setdefault(query_id, Judged(query_id)).grades
    earlier = grades.setdefault(chunk_id, (grade, record.line))
    if earlier == (grade, record.line):
        return
    place = f"corpus-id: {quote(chunk_id)} is already judged {earlier[0]} in line {earlier[1]}"
    if earlier[0] == grade:
        record.warn("G17", f"{place}; judge each document once")
    else:
        record.error("G17", f"{place}, here {grade}; keep one")
