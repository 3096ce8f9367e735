"""BEIR judgement files."""

from __future__ import annotations

import pytest

from retrieverbench.golden.faults import Faults
from retrieverbench.golden.judgements import read_judgements

HEADER = b"query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    "raw",
    [
        HEADER + b"q1\td1\t2\nq1\td2\t0\nq2\td1\t1\n",
        HEADER.replace(b"\n", b"\r\n") + b"q1\td1\t2\r\nq1\td2\t0\r\n\r\nq2\td1\t1",
        b"\xef\xbb\xbf" + HEADER + b"q1\td1\t 2\nq1\td2\t0\nq2\td1\t1\n",
        b"q1\td1\t2\nq1\td2\t0\nq2\td1\t1\n",
    ],
)
def test_judgements_by_query(raw: bytes) -> None:
    faults = Faults("q")
    judged = read_judgements(raw, faults)
    grades = {q: {d: g for d, (g, _) in j.grades.items()} for q, j in judged.items()}
    assert grades == {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}
    assert faults.found == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            b"q1\td\xe9\t1\n",
            "q:2: byte 0xE9 at column 5 is not UTF-8; save the file as UTF-8 [G01]",
        ),
        (
            b"q1 0 d1 1\n",
            (
                "q:2: holds 1 column, not 3; judgements are query-id, corpus-id and score, "
                "separated by tabs [G03]"
            ),
        ),
        (b"", "q: no judgement found; an empty set cannot pass [G06]"),
        (
            b"q1\td1\t1\nq1\td1\t1\n",
            ("q:3: corpus-id: 'd1' is already judged 1 in line 2; judge each document once [G17]"),
        ),
        (
            b"q1\td1\t1\nq1\td1\t2\n",
            "q:3: corpus-id: 'd1' is already judged 1 in line 2, here 2; keep one [G17]",
        ),
        (
            b"q1\td1\t0.9\n",
            (
                "q:2: score: '0.9' is not an integer from 0 on; "
                "grades are whole numbers, 0 for 'not relevant' [G18]"
            ),
        ),
        (
            b"q1\td1\t-1\n",
            (
                "q:2: score: -1 is below 0; use 0 for 'judged, not relevant' "
                "and leave unjudged chunks out [G19]"
            ),
        ),
        (
            b"q1\td\x001\t1\n",
            (
                "q:2: holds the control character U+0000 at column 5; "
                "remove it, an id is plain text [G03]"
            ),
        ),
        (
            b"q1\td1\t1\rq1\td2\t1\n",
            (
                "q:2: holds a carriage return that ends no line at column 8; "
                "end every line with LF or CRLF [G03]"
            ),
        ),
        (
            b"q1\td1\t\nq1\td2\tNULL\nq1\td3\t1\n",
            "q: 2 judgements without a grade read as unjudged [G49]",
        ),
    ],
)
def test_message(rows: bytes, message: str) -> None:
    faults = Faults("q")
    read_judgements(HEADER + rows, faults)
    assert faults.lines(warnings=False) + faults.lines(warnings=True) == [message]


def test_empty_and_null_are_never_zero() -> None:
    judged = read_judgements(b"q1\td1\t\nq1\td2\tNULL\nq1\td3\t1\n", Faults("q"))
    assert judged["q1"].grades == {"d3": (1, 3)}
