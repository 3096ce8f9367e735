"""Vectors shipped with a corpus: every chunk has exactly one that can be compared."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import numpy as np
import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import load_vectors
from retrieverbench.model import Chunk, Corpus, TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
CORPUS = Corpus(
    "small",
    (
        Chunk("a", ACME, "one"),
        Chunk("b", ACME, "two"),
        Chunk("a", GLOBEX, "three"),
    ),
    "0",
)
A = '{"id": "a", "tenant": "acme", "vector": [1, 0.5]}\n'
B = '{"id": "b", "vector": [0, 1]}\n'
G = '{"id": "a", "tenant": "globex", "vector": [-1, 0]}\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "vectors.jsonl"
    path.write_text(text)
    return path


def faults(path: Path, dimension: int | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_vectors(path, CORPUS, dimension)
    return [f.removeprefix(f"{path}:").removeprefix(f"{path.parent}/") for f in caught.value.faults]


def test_vectors_are_put_on_their_chunks(tmp_path: Path) -> None:
    corpus = load_vectors(write(tmp_path, G + B + A), CORPUS, 2)
    assert [c.vector for c in corpus.chunks] == [
        array("f", [1, 0.5]),
        array("f", [0, 1]),
        array("f", [-1, 0]),
    ]
    assert [c.text for c in corpus.chunks] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        (A + B + G, 384, "1: vector of 'a': 2 numbers, the model gives 384 [G42]"),
        (
            A + '{"id": "b", "vector": [1]}\n' + G,
            None,
            "2: vector of 'b': 1 number, the model gives 2 [G42]",
        ),
        (
            A + '{"id": "b", "vector": [1, NaN]}\n' + G,
            None,
            (
                "2: vector of 'b': number 1 is nan, not a finite float32; "
                "make the vectors anew [G42]"
            ),
        ),
        (
            A + '{"id": "b", "vector": [1e39, 1]}\n' + G,
            None,
            (
                "2: vector of 'b': number 0 is 1e+39, not a finite float32; "
                "make the vectors anew [G42]"
            ),
        ),
        (
            A + '{"id": "b", "vector": [0, 0.0]}\n' + G,
            None,
            (
                "2: vector of 'b': all 2 numbers are 0; it has no direction, so no cosine: "
                "make the vectors anew [G42]"
            ),
        ),
        (
            A + '{"id": "b", "vector": [1e-60, 0]}\n' + G,
            None,
            (
                "2: vector of 'b': all 2 numbers are 0; it has no direction, so no cosine: "
                "make the vectors anew [G42]"
            ),
        ),
        (
            A + G,
            None,
            " vector of 'b' of tenant 'acme': missing; every chunk needs one [G42]",
        ),
        (A + B + G + A, None, "4: vector of 'a': already in line 1; keep one [G42]"),
        (
            A + '{"id": "b"}\n' + G,
            None,
            "2: vector of 'b': missing; write a list of numbers [G42]",
        ),
        (
            A + '{"id": "b", "vector": ["1", 2]}\n' + G,
            None,
            "2: vector of 'b': element 0 is '1'; write a list of numbers [G42]",
        ),
        (
            A + '{"id": "b", "vector": [2, true]}\n' + G,
            None,
            "2: vector of 'b': element 1 is true; write a list of numbers [G42]",
        ),
        (
            A + '{"id": "b", "vector": []}\n' + G,
            None,
            "2: vector of 'b': an empty list; write a list of numbers [G42]",
        ),
        (
            A + '{"id": "b", "vector": 3}\n' + G,
            None,
            "2: vector of 'b': 3 is a number; write a list of numbers [G42]",
        ),
        (
            A + B + G + '{"id": "a", "vector": [1, 1]}\n',
            None,
            "4: vector of 'a': 2 tenants have such a chunk; name the tenant [G42]",
        ),
        (
            A + B + G + '{"id": "b", "tenant": "globex", "vector": [1, 1]}\n',
            None,
            ("4: id: 'b' of tenant 'globex' is not in the corpus; make the vectors anew [G14]"),
        ),
        (
            A + B + G + '{"id": "z", "vector": [1, 1]}\n',
            None,
            "4: id: 'z' is not in the corpus; make the vectors anew [G14]",
        ),
        (A + B + G + '{"vector": [1, 1]}\n', None, "4: id: missing; name the chunk [G08]"),
    ],
)
def test_message(tmp_path: Path, text: str, dimension: int | None, message: str) -> None:
    assert faults(write(tmp_path, text), dimension)[0] == message


def test_a_whole_number_beyond_every_float_is_infinite(tmp_path: Path) -> None:
    text = A + f'{{"id": "b", "vector": [1{"0" * 400}, 1]}}\n' + G
    assert "vector of 'b': number 0 is 1000" in faults(write(tmp_path, text))[0]


def write_npy(folder: Path, matrix: object, ids: str) -> Path:
    path = folder / "vectors.npy"
    np.save(path, np.asarray(matrix))
    (folder / "vectors.ids.jsonl").write_text(ids)
    return path


def test_a_matrix_with_ids_beside_it(tmp_path: Path) -> None:
    path = write_npy(tmp_path, [[1, 0.5], [0, 1], [-1, 0]], A + B + G)
    corpus = load_vectors(path, CORPUS)
    assert corpus.chunks[2].vector == array("f", [-1, 0])


def test_a_matrix_of_another_size(tmp_path: Path) -> None:
    path = write_npy(tmp_path, [[1.0, 0.5]], A + B + G)
    ids = path.with_suffix(".ids.jsonl")
    assert faults(path) == [f" 1 row, but {ids} has 3 ids; make the vectors anew [G42]"]


def test_not_a_matrix(tmp_path: Path) -> None:
    path = write_npy(tmp_path, [1.0, 0.5], A)
    assert faults(path) == [" 1 dimension of float64; save one row of numbers per chunk [G42]"]
    path.write_text("no array")
    assert "not a .npy file" in faults(path)[0]


def test_warnings_of_the_file_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbf" + (A + B + G).encode())
    assert [w[-4:-1] for w in load_vectors(path, CORPUS).warnings] == ["G02"]


def test_every_fault_is_told(tmp_path: Path) -> None:
    """Faults of lines are the cause of what is missing, which is told where they are right."""
    wrong = json.dumps({"id": "b", "vector": []})
    told = faults(write(tmp_path, f'{wrong}\n{{"vector": [1]}}\n'))
    assert [line.partition(":")[0] for line in told] == ["1", "2"]
    assert len(faults(write(tmp_path, A))) == 2
