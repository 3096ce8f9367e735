"""Reads vectors shipped with a corpus and puts them on its chunks."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from retrieverbench.errors import InputError, plural
from retrieverbench.files import open_file
from retrieverbench.golden.faults import Faults, quote, settle, type_of
from retrieverbench.golden.fields import Record
from retrieverbench.golden.ids import read_id
from retrieverbench.golden.lines import Line, OnRead, check_readable, stream_lines
from retrieverbench.model import Corpus
from retrieverbench.storage import ChunkStore, VectorFile, stored

if TYPE_CHECKING:
    import numpy as np

_MAKE_ANEW = "make the vectors anew"
_ROWS = 1_000
"""Rows of a matrix that are read at once."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with an id, its vector, and the line's number."""

    line: Line
    vector: object


def load_vectors(
    path: Path,
    corpus: Corpus,
    dimension: int | None = None,
    *,
    on_read: OnRead | None = None,
) -> Corpus:
    """The corpus with the vectors of a file: every chunk needs exactly one.

    `path` is JSONL of {"id", "tenant", "vector"}; `tenant` may be left out where no two
    tenants share an id. Or it is `<name>.npy`, one row per chunk, with `<name>.ids.jsonl`
    ({"id", "tenant"}) beside it, in the order of the rows. `dimension` is what the model
    gives, None to go by the first vector. Vectors are kept as float32 and not normalised.
    `on_read` watches the reading of the lines.
    Raises InputError with every fault: other dimension, NaN or infinite, zero (it has no
    direction, so no cosine), missing, duplicate.
    """
    faults = Faults(str(path))
    chunks = stored(corpus.chunks)
    vectors: VectorFile | None = None
    seen = array("I", bytes(array("I").itemsize * len(chunks)))  # its line, by ordinal
    for row in _rows(path, faults, on_read):
        record = Record(row.line.data, row.line.number, faults)
        ordinal = _ordinal(record, chunks)
        if ordinal is None:
            continue
        name = f"vector of {quote(row.line.data['id'])}"
        if seen[ordinal]:
            record.error("G42", f"{name}: already in line {seen[ordinal]}; keep one")
            continue
        seen[ordinal] = row.line.number
        vector = _vector(record, name, row.vector, dimension)
        if vector is None:
            continue
        dimension = dimension or len(vector)
        vectors = vectors or VectorFile(dimension)
        vectors.write(ordinal, [vector])
    lines_are_sound = not any(not fault.warning for fault in faults.found)
    for ordinal, line in enumerate(seen):
        if not line and lines_are_sound:  # else the faults of the lines are the cause
            chunk = chunks[ordinal]
            faults.error(
                "G42",
                f"vector of {quote(chunk.id)} of tenant {quote(chunk.tenant.value)}: missing; "
                "every chunk needs one",
            )
    warnings = settle([faults])
    complete = chunks if vectors is None else chunks.with_vectors(vectors)
    return replace(corpus, chunks=complete, warnings=corpus.warnings + warnings)


def vectors_sha256(path: Path) -> str:
    """Over the bytes of a file that `load_vectors` reads, and of the ids beside a matrix."""
    digest = hashlib.sha256()
    for part in (path, _ids_of(path)) if path.suffix == ".npy" else (path,):
        with open_file(part) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _ids_of(path: Path) -> Path:
    return path.with_suffix(".ids.jsonl")


def _rows(path: Path, faults: Faults, on_read: OnRead | None) -> Iterator[_Row]:
    if path.suffix != ".npy":
        for line in stream_lines(path, faults, allow_nan=True, on_read=on_read):
            yield _Row(line, line.data.get("vector"))
        return
    ids_path = _ids_of(path)
    check_readable(ids_path)
    count = len(_matrix(path))
    rows = _matrix_rows(path, count)
    ids = 0
    for line in stream_lines(ids_path, faults, on_read=on_read):
        ids += 1
        if ids <= count:
            yield _Row(line, next(rows))
    if ids != count:
        raise InputError(
            f"{path}: {plural(count, 'row')}, but {ids_path} has {plural(ids, 'id')}; "
            f"{_MAKE_ANEW} [G42]"
        )


def _matrix_rows(path: Path, count: int) -> Iterator[object]:
    """Each row: an array of float32 where nothing is wrong with it, else a list."""
    import numpy as np

    for first in range(0, count, _ROWS):
        block = np.array(_matrix(path)[first : first + _ROWS])
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(block, dtype=np.float32)
        sound: np.ndarray = np.logical_and(np.isfinite(rows).all(axis=1), rows.any(axis=1))
        for number, row in enumerate(rows):
            yield array("f", row.tobytes()) if sound[number] else block[number].tolist()


def _matrix(path: Path) -> np.ndarray:
    """The matrix, mapped anew: what was read of it before counts no longer as our memory."""
    import numpy as np

    check_readable(path)
    try:
        matrix: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: not a .npy file ({error}); {_MAKE_ANEW} [G42]") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: {plural(matrix.ndim, 'dimension')} of {matrix.dtype}; "
            "save one row of numbers per chunk [G42]"
        )
    return matrix


def _ordinal(record: Record, chunks: ChunkStore) -> int | None:
    """The place of the chunk that a line names, or None with the fault noted."""
    chunk_id = read_id(record, "id", "name the chunk")
    tenant = record.text("tenant")
    if chunk_id is None:
        return None
    owners = [o for o in chunks.owners(chunk_id) if tenant is None or o.value == tenant]
    if len(owners) > 1:
        record.error(
            "G42",
            f"vector of {quote(chunk_id)}: {len(owners)} tenants have such a chunk; "
            "name the tenant",
        )
        return None
    if not owners:
        of_tenant = "" if tenant is None else f" of tenant {quote(tenant)}"
        record.error("G14", f"id: {quote(chunk_id)}{of_tenant} is not in the corpus; {_MAKE_ANEW}")
        return None
    return chunks.ordinal(owners[0], chunk_id)


def _vector(record: Record, name: str, value: object, dimension: int | None) -> array[float] | None:
    if isinstance(value, array):
        if len(value) == (dimension or len(value)):
            return value
        value = value.tolist()
    if not isinstance(value, list) or not value or not set(map(type, value)) <= {int, float}:
        record.error("G42", f"{name}: {_no_numbers(value)}; write a list of numbers")
        return None
    if dimension is not None and len(value) != dimension:
        record.error("G42", f"{name}: {plural(len(value), 'number')}, the model gives {dimension}")
        return None
    vector = _float32(value)
    if not math.isfinite(sum(vector)):
        wrong = next(i for i, x in enumerate(vector) if not math.isfinite(x))
        record.error(
            "G42", f"{name}: number {wrong} is {value[wrong]}, not a finite float32; {_MAKE_ANEW}"
        )
        return None
    if not any(vector):
        record.error(
            "G42",
            f"{name}: all {len(value)} numbers are 0; it has no direction, so no cosine: "
            f"{_MAKE_ANEW}",
        )
        return None
    return vector


def _no_numbers(value: object) -> str:
    """Why a value is no list of numbers, by the first element that is none."""
    if value is None:
        return "missing"
    if not isinstance(value, list):
        return f"{quote(value)} is {type_of(value)}"
    wrong = next((i for i, x in enumerate(value) if type(x) not in {int, float}), None)
    return "an empty list" if wrong is None else f"element {wrong} is {quote(value[wrong])}"


def _float32(values: Sequence[float]) -> array[float]:
    """Numbers beyond float32 become infinite, which the caller refuses."""
    try:
        return array("f", values)
    except OverflowError:
        return array("f", [float("inf") if abs(v) > 3e38 else v for v in values])
