"""Vectors of a corpus in a file without a name, one row of float32 per chunk."""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Sequence
from pathlib import Path

from retrieverbench.storage.places import large_files, no_room


class VectorFile:
    """Rows of `dimension` numbers by the chunk's ordinal; the system removes the file with us.

    Read and written by position, not mapped: what is mapped counts as this process's memory.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._size = dimension * array("f").itemsize
        self._file, name = tempfile.mkstemp(dir=large_files())
        Path(name).unlink()
        weakref.finalize(self, os.close, self._file)

    def write(self, first: int, rows: Sequence[array[float]] | bytes) -> None:
        """Rows from the ordinal `first` on. Raises InputError where they cannot be written."""
        content = memoryview(rows if isinstance(rows, bytes) else b"".join(rows))
        place = first * self._size
        try:
            while content:
                written = os.pwrite(self._file, content, place)
                content, place = content[written:], place + written
        except OSError as error:
            raise no_room(error) from error

    def read(self, first: int, count: int) -> list[array[float]]:
        """`count` rows from the ordinal `first` on, which must have been written."""
        content = memoryview(os.pread(self._file, count * self._size, first * self._size))
        rows = []
        for start in range(0, count * self._size, self._size):
            row = array("f")
            row.frombytes(content[start : start + self._size])
            rows.append(row)
        return rows
