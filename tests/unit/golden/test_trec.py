"""TREC and BEIR files: what is read, what is refused, and with which words."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden.trec import Negative, read_qrels


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 a 1\nq1 0 b 0\n",
        "q1\tU0\ta\t1\nq1\tU0\tb\t0",
        "q1 a 1\nq1 b 0\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n",
        "# a comment\n\n  q1   0 \t a  1  \r\nq1 0 b 0\r\n",
        b"\xef\xbb\xbfq1 0 a 1\nq1 0 b 0\n",
        gzip.compress(b"q1 0 a 1\nq1 0 b 0\n", mtime=0),
    ],
)
def test_one_content_in_many_spellings(tmp_path: Path, text: str | bytes) -> None:
    qrels = read_qrels(write(tmp_path, text))
    assert qrels.grades == {"q1": {"a": 1, "b": 0}}
    assert (qrels.lowest, qrels.highest) == (0, 1)


def test_ids_are_kept_byte_for_byte(tmp_path: Path) -> None:
    """`#`, slashes, a no-break space and leading zeros belong to the id."""
    ids = ["doc#1", "-7", "a/b", "x\u00a0y", "007", "\u3000z", "u\u2028v"]
    qrels = read_qrels(write(tmp_path, "".join(f"q 0 {i} 1\n" for i in ids)))
    assert list(qrels.grades["q"]) == ids


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("q 0 a 1\nq 0 a 2\n", 2, "'a' of query 'q' is already judged in line 1, with grade 1"),
        ("q 0 a 1\nq 0 b 0.5\n", 2, "grade: '0.5' is not a whole number"),
        ("q d 0 0.000000\n", 1, "the last column is no grade"),
        ("q 0 a 1 x\n", 1, "prels format"),
        ("q 0 a 1\nq a 1\n", 2, "has 3 columns, the lines above 4"),
        ("1 2 3 4 5 6 7 8\n", 1, "has 8 columns"),
        ("q 0 a -1\n", 1, "grade: -1 is below 0"),
        (b"q 0 \xff 1\n", 1, "byte 0xFF at column 5 is not UTF-8"),
        ("q 0 a 1\rq 0 b 1\r", 1, "a carriage return that ends no line at column 8"),
        ("q 0 a 1\nq 0 b\x00 1\n", 2, "the control character U+0000 at column 6"),
        ("q 0\x0ca\x0b1\n", 1, "the control character U+000C"),
        ("q 0 a\x851 1\n", 1, "the control character U+0085"),
        ("q 0 a \u0661\n", 1, "grade: '\u0661' is not a whole number"),
        ("q 0 a 1_0\n", 1, "'1_0' is not a whole number"),
    ],
)
def test_a_bad_judgement_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no judgement found"),
        ("# nothing\n", "no judgement found"),
        ("q 1 a 1\nq 2 a 0\n", "column 2 is a subtopic"),
        ("version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    ],
)
def test_what_is_no_file_of_judgements_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_qrels(write(tmp_path, text))


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_qrels(write(tmp_path, "q 0 a x\nq 0 b y\nq 0 c 1\n"))
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("negative", "grades"),
    [("unjudged", {"a": 2}), ("zero", {"a": 2, "s": 0}), ("keep", {"a": 2, "s": -2})],
)
def test_negative_grades_on_request(
    tmp_path: Path, negative: Negative, grades: dict[str, int]
) -> None:
    qrels = read_qrels(write(tmp_path, "q 0 a 2\nq 0 s -2\n"), negative=negative)
    assert qrels.grades == {"q": grades}
    assert "1 negative grade" in qrels.notes[0]


def test_negative_grades_are_refused_in_one_line_with_a_way_on(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_qrels(write(tmp_path, "q 0 a 2\nq 0 s -2\nq 0 t -1\n"))
    (fault,) = caught.value.faults
    assert ":2: grade: -2 is below 0, one of 2 negative grades; " in fault
    assert "--convention trec_eval" in fault


def test_a_query_with_negative_grades_only_is_still_judged(tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path, "q 0 s -1\nr 0 a 1\n"), negative="unjudged")
    assert qrels.grades == {"q": {}, "r": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q 0 a 1\nq 0 a 1\n", "with the same grade"),
        ("q 0 a 0\nq 0 b 2\nq 0 c 4\nq 0 d 8\nq 0 e 16\n", "already exponential"),
        ("q 0 a 4\nq 0 b 5\nq 0 c 6\n", "lowest grade is 4"),
    ],
)
def test_an_oddity_is_read_and_noted(tmp_path: Path, text: str, words: str) -> None:
    qrels = read_qrels(write(tmp_path, text))
    assert words in " ".join(qrels.notes)


def test_public_files_are_read_whole(shared: Path) -> None:
    """Counts of lines in files as people publish them."""
    odd = shared / "data" / "odd"
    assert read_qrels(odd / "qrels" / "qrels.africlirmatrix-v1.0.en.yor.txt").highest == 6
    with pytest.raises(InputError, match="prels format"):
        read_qrels(odd / "trec_eval" / "prefs.test")
