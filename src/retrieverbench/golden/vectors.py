"""Reads vectors shipped with a corpus and puts them on its chunks."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from retrieverbench.errors import InputError
from retrieverbench.golden.faults import Faults, quote, settle, type_of
from retrieverbench.golden.fields import Record
from retrieverbench.golden.ids import read_id
from retrieverbench.golden.index import CorpusIndex, index_corpus
from retrieverbench.golden.lines import Line, read_file, read_lines
from retrieverbench.model import Chunk, Corpus

if TYPE_CHECKING:
    import numpy as np

_MAKE_ANEW = "make the vectors anew"


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with an id, its vector, and the line's number."""

    line: Line
    vector: object


def load_vectors(path: Path, corpus: Corpus, dimension: int | None = None) -> Corpus:
    """The corpus with the vectors of a file: every chunk needs exactly one.

    `path` is JSONL of {"id", "tenant", "vector"}; `tenant` may be left out where no two
    tenants share an id. Or it is `<name>.npy`, one row per chunk, with `<name>.ids.jsonl`
    ({"id", "tenant"}) beside it, in the order of the rows. `dimension` is what the model
    gives, None to go by the first vector. Vectors are kept as float32 and not normalised.
    Raises InputError with every fault: other dimension, NaN or infinite, zero (it has no
    direction, so no cosine), missing, duplicate.
    """
    faults = Faults(str(path))
    index = index_corpus(corpus)
    vectors: dict[str, array[float]] = {}
    seen: dict[str, int] = {}
    for row in _rows(path, faults):
        record = Record(row.line.data, row.line.number, faults)
        chunk = _chunk(record, index)
        if chunk is None:
            continue
        name = f"vector of {quote(chunk.id)}"
        if chunk.uid in seen:
            record.error("G42", f"{name}: already in line {seen[chunk.uid]}; keep one")
            continue
        seen[chunk.uid] = row.line.number
        vector = _vector(record, name, row.vector, dimension)
        if vector is not None:
            dimension = dimension or len(vector)
            vectors[chunk.uid] = vector
    for chunk in corpus.chunks:
        if chunk.uid not in seen:
            faults.error(
                "G42",
                f"vector of {quote(chunk.id)} of tenant {quote(chunk.tenant.value)}: missing; "
                "every chunk needs one",
            )
    warnings = settle([faults])
    chunks = tuple(replace(c, vector=vectors[c.uid]) for c in corpus.chunks)
    return replace(corpus, chunks=chunks, warnings=corpus.warnings + warnings)


def _rows(path: Path, faults: Faults) -> Iterator[_Row]:
    if path.suffix != ".npy":
        for line in read_lines(read_file(path), faults, allow_nan=True):
            yield _Row(line, line.data.get("vector"))
        return
    ids_path = path.with_suffix(".ids.jsonl")
    ids = read_lines(read_file(ids_path), faults)
    matrix = _matrix(path)
    if len(ids) != len(matrix):
        raise InputError(
            f"{path}: {len(matrix)} rows, but {ids_path.name} has {len(ids)} ids; "
            f"{_MAKE_ANEW} [G42]"
        )
    for line, row in zip(ids, matrix, strict=True):
        yield _Row(line, row.tolist())


def _matrix(path: Path) -> np.ndarray:
    import numpy as np

    read_file(path)
    try:
        matrix: np.ndarray = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: not a .npy file ({error}); {_MAKE_ANEW} [G42]") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: {matrix.ndim} dimensions of {matrix.dtype}; "
            "save one row of numbers per chunk [G42]"
        )
    return matrix


def _chunk(record: Record, index: CorpusIndex) -> Chunk | None:
    """The chunk a line names, or None with the fault noted."""
    chunk_id = read_id(record, "id", "name the chunk")
    tenant = record.text("tenant")
    if chunk_id is None:
        return None
    owners = [o for o in index.owners.get(chunk_id, ()) if tenant is None or o.value == tenant]
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
    return index.own(owners[0], chunk_id)


def _vector(record: Record, name: str, value: object, dimension: int | None) -> array[float] | None:
    if not isinstance(value, list) or not value or not set(map(type, value)) <= {int, float}:
        what = "missing" if value is None else f"{quote(value)} is {type_of(value)}"
        record.error("G42", f"{name}: {what}; write a list of numbers")
        return None
    if dimension is not None and len(value) != dimension:
        record.error("G42", f"{name}: {len(value)} numbers, the model gives {dimension}")
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
            "G42", f"{name}: all {len(value)} numbers are 0; it has no direction, so no cosine"
        )
        return None
    return vector


def _float32(values: Sequence[float]) -> array[float]:
    """Numbers beyond float32 become infinite, which the caller refuses."""
    try:
        return array("f", values)
    except OverflowError:
        return array("f", [float("inf") if abs(v) > 3e38 else v for v in values])
