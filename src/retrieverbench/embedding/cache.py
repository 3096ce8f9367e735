"""Vectors on disk, so that the same text is embedded once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from retrieverbench.errors import InputError

Role = Literal["document", "query"]
_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, dimension INTEGER NOT NULL, checksum INTEGER NOT NULL,
    vector BLOB NOT NULL)"""
_WAIT_SECONDS = 60.0
_KEYS_PER_QUERY = 500


class VectorCache:
    """One SQLite file per embedder identity; keys are the sha256 of role and text.

    `folder` defaults to the user's cache folder. Every call opens and closes its own
    connection, so threads and processes may share a folder; a writer waits for another.
    What cannot be read as it was written counts as missing: a row with a wrong checksum,
    and a whole file that is no database, which is replaced. Calls block: run them in a
    thread.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            from platformdirs import user_cache_path

            folder = user_cache_path("retrieverbench") / "vectors"
        self.folder = folder

    def path(self, identity: Mapping[str, str]) -> Path:
        """The file of that identity, whether or not it is there."""
        name = json.dumps([sys.byteorder, sorted(identity.items())])
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.sqlite3"

    def get(
        self, identity: Mapping[str, str], role: Role, texts: Sequence[str]
    ) -> dict[str, array[float]]:
        """The known vectors by text; a text that is missing must be embedded."""
        keys = {_key(role, text): text for text in texts}
        path = self.path(identity)
        try:
            with self._connect(path) as connection:
                rows = _select(connection, list(keys))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise self._fault(path, error) from error
            path.unlink(missing_ok=True)
            return {}
        found = ((keys[key], _vector(*values)) for key, *values in rows)
        return {text: vector for text, vector in found if vector is not None}

    def put(
        self, identity: Mapping[str, str], role: Role, vectors: Mapping[str, array[float]]
    ) -> None:
        """Keep vectors by text, all or none; what was there is replaced."""
        path = self.path(identity)
        rows = [
            (_key(role, text), len(vector), zlib.crc32(vector.tobytes()), vector.tobytes())
            for text, vector in vectors.items()
        ]
        try:
            with self._connect(path) as connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
        except sqlite3.DatabaseError as error:
            raise self._fault(path, error) from error

    @contextmanager
    def _connect(self, path: Path) -> Iterator[sqlite3.Connection]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._fault(path, error) from error
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
        try:
            with connection:  # one transaction: committed at the end, or rolled back
                connection.execute(_TABLE)
                yield connection
        finally:
            connection.close()

    def _fault(self, path: Path, error: Exception) -> InputError:
        return InputError(
            f"{path}: the cache of vectors cannot be used: {error}; name another folder in "
            "`cache` of the suite's [embedding], or remove the file"
        )


def _select(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> list[tuple[bytes, object, object, object]]:
    rows: list[tuple[bytes, object, object, object]] = []
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        some = keys[start : start + _KEYS_PER_QUERY]
        marks = ", ".join("?" * len(some))
        query = f"SELECT key, dimension, checksum, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608 - marks only
        rows.extend(connection.execute(query, some))
    return rows


def _key(role: Role, text: str) -> bytes:
    return hashlib.sha256(f"{role}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _vector(dimension: object, checksum: object, content: object) -> array[float] | None:
    """None for what was not written so: other type, other length, other bytes."""
    vector = array("f")
    if not isinstance(dimension, int) or not isinstance(content, bytes):
        return None
    if len(content) != dimension * vector.itemsize or zlib.crc32(content) != checksum:
        return None
    vector.frombytes(content)
    return vector
