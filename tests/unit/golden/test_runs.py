"""TREC runs: what is read, what is refused, and with which words."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden.runs import read_run
from retrieverbench.golden.text import BLOCK


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_ids_are_kept_byte_for_byte(tmp_path: Path) -> None:
    """`#`, slashes, blanks that C does not know and leading zeros belong to the id."""
    ids = ["doc#1", "-7", "a/b", "x\u00a0y", "007", "\u3000z", "u\u2028v"]
    run = read_run(write(tmp_path, "".join(f"q Q0 {i} 1 2.5 t\n" for i in ids)))
    assert run.lists["q"].ids == ids


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["d{}", "d\u00e9{}"])
def test_a_list_may_cross_blocks_and_stand_in_pieces(tmp_path: Path, name: str, end: str) -> None:
    """Blocks in which nothing is unusual are read in another way than the others."""
    rows = [(f"q{n % 3}", name.format(n), -n / 4) for n in range(BLOCK // 20)]
    text = "".join(f"{query} Q0 {document} 1 {score} t{end}" for query, document, score in rows)
    run = read_run(write(tmp_path, f"\ufeff# comment{end}{text}".removesuffix(end)))
    for query in ("q0", "q1", "q2"):
        assert run.lists[query].hits == [row[1:] for row in rows if row[0] == query]
    assert [note.partition("file.txt")[2] for note in run.notes] == [
        ":1: starts with a byte order mark; it was ignored, save without BOM [G02]"
    ]


def test_a_fault_far_down_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"q Q0 {n} 1 1 t\n" for n in range(BLOCK // 10)) + "q\0\n")
    with pytest.raises(InputError, match=f":{BLOCK // 10 + 1}: holds the control character"):
        read_run(path)


def test_a_run_is_ordered_by_score_and_not_by_rank(tmp_path: Path) -> None:
    """Ties keep the order of the file; negative and scientific scores are read."""
    text = (
        "# a comment of more than six words\n\nq Q0 c 1 -1.5 t\nq Q0 a 9 2e-1 t\n"
        "r Q0 z 1 1 t extra words\nq Q0 y 1 0.2 t\nq Q0 x 1 3 t\n"
    )
    lists = read_run(write(tmp_path, text)).lists
    assert lists["q"].hits == [("x", 3.0), ("a", 0.2), ("y", 0.2), ("c", -1.5)]
    assert lists["r"].hits == [("z", 1.0)]
    assert (lists["q"].tied, lists["r"].tied) == (True, False)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("q Q0 a 1 2.0\n", 1, "has 5 columns"),
        ("q Q0 a 1 2.0 t\nq Q0 b 2 nan t\n", 2, "score: 'nan' is no finite number"),
        ("q Q0 a 1 inf t\n", 1, "no finite number"),
        ("q Q0 a 1 1_0 t\n", 1, "no finite number"),
        ("q Q0 a 1 high t\n", 1, "score: 'high'"),
        ("q Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 a 2 1 t\n", 3, "'a' of query 'q' is already in line 1"),
        (b"q Q0 \xff 1 2 t\n", 1, "not UTF-8"),
        ("q Q0 a 1 2 t\nq Q0 b 1 infinity t\n", 2, "score: 'infinity'"),
        ("q Q0 a 1 0x1p3 t\n", 1, "score: '0x1p3'"),
        ("q Q0 a 1 \u0661 t\n", 1, "score: '\u0661' is no finite number"),
        ("q Q0 a 1 1e999 t\n", 1, "score: '1e999' is no finite number"),
        ("q Q0 a 0.5 1 t\n", 1, "rank: '0.5' is not a whole number"),
        ("q Q0 a 1 2 t q Q0 b 2 1 t\n", 1, "has 12 columns, as if it held two results"),
        ("q Q0 a 1 2 q Q0 b 2 1.5 t\n", 1, "has 11 columns, as if it held two results"),
        ("q Q0 a 1 2 t\nq Q0 b\n2 1 t\n", 2, "has 3 columns ('q Q0 b')"),
        ("q Q0 a 1 2\nq Q0 b 2 1 t x\n", 1, "has 5 columns"),
        ("q Q0 a 1 2 t\rq Q0 b 2 1 t\r", 1, "a carriage return that ends no line at column 13"),
        ("q Q0 a\x0c1 2 t\n", 1, "the control character U+000C at column 7"),
        ("q Q0 a\x1cb 1 2 t\n", 1, "the control character U+001C"),
        ("q Q0 a\0 1 2 t\n", 1, "the control character U+0000"),
    ],
)
def test_a_bad_result_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, words: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


def test_an_empty_run_and_an_absent_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no result found"):
        read_run(write(tmp_path, ""))
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "absent")
    with pytest.raises(InputError, match=r"is text in UTF-16; save it as UTF-8"):
        read_run(write(tmp_path, b"\xff\xfeq\0 \0Q\0"))
    with pytest.raises(InputError, match="cannot be read"):
        read_run(write(tmp_path, gzip.compress(b"q Q0 a 1 2 t\n")[:12] + b"\xff" * 20))


def test_public_runs_are_read_whole(shared: Path) -> None:
    """Counts of lines in files as people publish them."""
    runs = shared / "data" / "odd" / "runs"
    for name, results in (("test.wt14.run", 5000), ("org_convdr_bert.trec.gz", 23900)):
        lists = read_run(runs / name).lists
        assert sum(len(listing.ids) for listing in lists.values()) == results
