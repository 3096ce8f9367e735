"""The chunks of a corpus in a database without a name, and look-ups in it.

*Why SQLite and not a dictionary:* a million chunks with their ids take more than a gigabyte
as objects. A temporary database holds what is small in memory and the rest in a file that
the system removes with this process, however it ends.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import unicodedata
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast, overload

from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, TenantId, make_uid
from retrieverbench.storage.places import no_room
from retrieverbench.storage.vectors import VectorFile

_CACHE_KB = 8_192
_PAGE = 500
"""Rows that are read at once."""

_TABLE = """
CREATE TABLE {name} (
    ordinal INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT NOT NULL,
    line INTEGER NOT NULL, folded TEXT, doc_id TEXT, superseded INTEGER NOT NULL,
    title TEXT NOT NULL, text TEXT NOT NULL, rest TEXT)
"""
_READ = "SELECT ordinal, tenant, id, doc_id, superseded, title, text, rest FROM chunks"
_SEARCHABLE = "CASE title WHEN '' THEN text ELSE title || char(10) || text END"

Place = tuple[TenantId, str, int]
"""Owner, id and line of a chunk."""


class ChunkStore(Sequence[Chunk]):
    """Chunks in the order of their file, with vectors once there are some.

    Every access makes new Chunk objects: nobody can spoil another's. One thread at a time may
    use a store. Raises InputError when the temporary file cannot be written.
    """

    def __init__(self, chunks: Iterable[tuple[Chunk, int]]) -> None:
        """Take chunks with the lines they stand on, one by one."""
        self.vectors: VectorFile | None = None
        self._tenants = _Tenants()
        self._numbers: dict[str, int] = {}
        self._length = 0
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self._tenants, self._connection.close)
        self._connection.create_function("text_key", 1, _text_key, deterministic=True)
        with _writing():
            self._fill(chunks)
        self._count()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            chosen = range(*index.indices(self._length))
            if chosen.step != 1:
                return [self[i] for i in chosen]
            condition = "WHERE ordinal >= ? AND ordinal < ? ORDER BY ordinal"
            return self._found(condition, chosen.start, chosen.stop)
        ordinal = range(self._length)[index]
        return self._found("WHERE ordinal = ?", ordinal)[0]

    def __iter__(self) -> Iterator[Chunk]:
        """In pages, so that no statement stays open while others are made."""
        for first in range(0, self._length, _PAGE):
            yield from self[first : first + _PAGE]

    @property
    def per_tenant(self) -> Mapping[TenantId, int]:
        """How many chunks each tenant has, in the order of their first ones."""
        return self._per_tenant

    @property
    def superseded(self) -> int:
        """How many chunks were replaced by newer ones."""
        return cast("int", self._one("SELECT count(*) FROM chunks WHERE superseded")[0])

    def superseded_of(self, tenants: Collection[TenantId]) -> int:
        """How many chunks of these tenants were replaced by newer ones."""
        counts = "SELECT tenant, count(*) FROM chunks WHERE superseded GROUP BY tenant"
        rows = self._connection.execute(counts)
        return sum(n for number, n in rows if self._tenants[number] in tenants)

    def superseded_among(self, uids: Iterable[str]) -> frozenset[str]:
        """Those of these uids whose chunks were replaced by newer ones."""
        if not self.superseded:
            return frozenset()
        return frozenset(uid for uid in set(uids) if self._is_superseded(uid))

    def with_vectors(self, vectors: VectorFile) -> ChunkStore:
        """The same chunks and look-ups, with these vectors."""
        other = ChunkStore.__new__(ChunkStore)
        other.__dict__.update(self.__dict__, vectors=vectors)
        return other

    def take_out(self, lines: Iterable[int]) -> list[str]:
        """Remove the chunks of these lines; the later ones move up. Their ids."""
        with _writing():
            execute = self._connection.execute
            execute("CREATE TEMPORARY TABLE gone (line INTEGER PRIMARY KEY)")
            self._connection.executemany("INSERT OR IGNORE INTO gone VALUES (?)", zip(lines))
            found = "FROM chunks WHERE line IN (SELECT line FROM gone)"
            ids = [chunk_id for (chunk_id,) in execute(f"SELECT id {found}")]
            execute(f"DELETE {found}")
            execute(_TABLE.format(name="kept"))
            columns = "tenant, id, line, folded, doc_id, superseded, title, text, rest"
            execute(
                f"INSERT INTO kept (ordinal, {columns}) "  # noqa: S608 - our own names
                f"SELECT row_number() OVER (ORDER BY ordinal) - 1, {columns} FROM chunks"
            )
            execute("DROP TABLE chunks")
            execute("ALTER TABLE kept RENAME TO chunks")
            execute("CREATE INDEX by_id ON chunks (id, tenant)")
        self._count()
        return ids

    def first_line(self, tenant: TenantId) -> int:
        """The line of the tenant's first chunk."""
        return cast("int", self._first_lines[tenant])

    def own(self, tenant: TenantId, chunk_id: str) -> Chunk | None:
        """The tenant's chunk of that id, the first where there are several."""
        ordinal = self.ordinal(tenant, chunk_id)
        return None if ordinal is None else self[ordinal]

    def ordinal(self, tenant: TenantId, chunk_id: str) -> int | None:
        """The place of the tenant's chunk of that id, the first where there are several."""
        (found,) = self._one(
            "SELECT min(ordinal) FROM chunks WHERE id = ? AND tenant = ?",
            chunk_id,
            self._numbers.get(tenant.value),
        )
        return cast("int | None", found)

    def by_uid(self, uid: str) -> Chunk | None:
        """The chunk of that uid; None where there is none."""
        _, ordinal = self._place_of(uid)
        return None if ordinal is None else self[ordinal]

    def owner(self, uid: str) -> TenantId | None:
        """Who owns the chunk of that uid; None where there is none."""
        tenant, ordinal = self._place_of(uid)
        return None if ordinal is None else tenant

    def owners(self, chunk_id: str) -> list[TenantId]:
        """Everybody who has a chunk of that id."""
        rows = self._connection.execute(
            "SELECT tenant FROM chunks WHERE id = ? ORDER BY ordinal", (chunk_id,)
        )
        return [self._tenants[number] for (number,) in rows]

    def ids(self, tenant: TenantId) -> list[str]:
        """All ids of a tenant."""
        rows = self._connection.execute(
            "SELECT id FROM chunks WHERE tenant = ?", (self._numbers.get(tenant.value),)
        )
        return [chunk_id for (chunk_id,) in rows]

    def of_document(self, doc_id: str) -> list[Chunk]:
        """A document's chunks; one without document is a document of its own id."""
        self._need_index("by_document", "coalesce(doc_id, id)")
        return self._found("WHERE coalesce(doc_id, id) = ? ORDER BY ordinal", doc_id)

    def owners_of_text(self, text: str) -> frozenset[TenantId]:
        """Everybody with a chunk of exactly this text, with its title or without."""
        return frozenset(self.with_text(text).values())

    def with_text(self, text: str) -> Mapping[str, TenantId]:
        """Uid → owner of the chunks of exactly this text, with their titles or without."""
        if not _is_text(text):
            return {}
        found = {}
        for name, expression in (("by_text", "text"), ("by_searchable", _SEARCHABLE)):
            self._need_index(name, f"text_key({expression})")
            rows = self._connection.execute(
                f"SELECT tenant, id FROM chunks WHERE text_key({expression}) = ? "  # noqa: S608 - ours
                f"AND {expression} = ?",
                (_text_key(text), text),
            )
            for number, chunk_id in rows:
                owner = self._tenants[number]
                found[make_uid(owner, chunk_id)] = owner
        return found

    def holds(self, tenant: TenantId, text: str) -> bool:
        """Whether a chunk of the tenant's has this within its title or text; looks at all of them.

        Of a name that owns nothing no chunk has.
        """
        (found,) = self._one(
            f"SELECT count(*) FROM chunks WHERE tenant = ? AND instr({_SEARCHABLE}, ?) > 0",  # noqa: S608 - ours
            self._numbers.get(tenant.value),
            text,
        )
        return bool(found)

    def repeated_ids(self) -> Iterator[tuple[Place, int]]:
        """Every chunk whose tenant has an earlier one of that id, and the line of the first."""
        rows = self._connection.execute(
            "SELECT tenant, id, line, first FROM (SELECT tenant, id, line, ordinal, "
            "min(line) OVER same AS first, min(ordinal) OVER same AS kept FROM chunks "
            "WINDOW same AS (PARTITION BY id, tenant)) WHERE ordinal <> kept ORDER BY ordinal"
        )
        for number, chunk_id, line, first in rows:
            yield (self._tenants[number], chunk_id, line), first

    def twins(self) -> Iterator[Place]:
        """By tenant and line, chunks whose ids are equal once `folded` and different before."""
        if not self._one("SELECT EXISTS (SELECT 1 FROM chunks WHERE folded IS NOT NULL)")[0]:
            return
        rows = self._connection.execute(
            "SELECT tenant, id, min(line) FROM chunks WHERE (tenant, coalesce(folded, id)) IN ("
            "SELECT tenant, coalesce(folded, id) FROM chunks GROUP BY 1, 2 "
            "HAVING count(DISTINCT id) > 1) GROUP BY tenant, id ORDER BY tenant, min(line)"
        )
        for number, chunk_id, line in rows:
            yield self._tenants[number], chunk_id, line

    def equal_texts(self) -> tuple[int, list[str]]:
        """The number of groups of one tenant's chunks with one text; the ids of the first."""
        groups, first = self._one(
            "SELECT count(*), min(first) FROM (SELECT min(ordinal) AS first FROM chunks "  # noqa: S608 - ours
            f"GROUP BY tenant, {_SEARCHABLE} HAVING count(*) > 1)"
        )
        if not groups:
            return 0, []
        tenant, text = self._one(
            f"SELECT tenant, {_SEARCHABLE} FROM chunks WHERE ordinal = ?",  # noqa: S608 - ours
            first,
        )
        rows = self._connection.execute(
            f"SELECT id FROM chunks WHERE tenant = ? AND {_SEARCHABLE} = ? ORDER BY ordinal",  # noqa: S608 - ours
            (tenant, text),
        )
        return groups, [chunk_id for (chunk_id,) in rows]

    def _place_of(self, uid: str) -> tuple[TenantId | None, int | None]:
        """The inverse of `make_uid`; whatever that cannot have made is no chunk's."""
        escaped, _, chunk_id = uid.partition("/")
        number = self._numbers.get(escaped.replace("%2F", "/").replace("%25", "%"))
        if number is None or not _is_text(uid):
            return None, None
        tenant = self._tenants[number]
        ordinal = self.ordinal(tenant, chunk_id) if make_uid(tenant, chunk_id) == uid else None
        return tenant, ordinal

    def _is_superseded(self, uid: str) -> bool:
        chunk = self.by_uid(uid)
        return chunk is not None and chunk.status == "superseded"

    def _fill(self, chunks: Iterable[tuple[Chunk, int]]) -> None:
        execute = self._connection.execute
        execute("PRAGMA journal_mode = OFF")
        execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        execute(_TABLE.format(name="chunks"))
        execute("BEGIN")
        rows = (self._row(n, chunk, line) for n, (chunk, line) in enumerate(chunks))
        marks = ", ".join("?" * 10)
        self._connection.executemany(f"INSERT INTO chunks VALUES ({marks})", rows)  # noqa: S608 - ours
        execute("COMMIT")
        execute("CREATE INDEX by_id ON chunks (id, tenant)")

    def _count(self) -> None:
        (self._length,) = self._one("SELECT count(*) FROM chunks")
        rows = self._connection.execute(
            "SELECT tenant, count(*), min(line) FROM chunks GROUP BY tenant ORDER BY tenant"
        )
        found = [(self._tenants[number], count, line) for number, count, line in rows]
        self._per_tenant = {tenant: count for tenant, count, _ in found}
        self._first_lines = {tenant: line for tenant, _, line in found}

    def _row(self, ordinal: int, chunk: Chunk, line: int) -> tuple[object, ...]:
        number = self._numbers.setdefault(chunk.tenant.value, len(self._tenants))
        if number == len(self._tenants):
            self._tenants.append(chunk.tenant)
        key = folded(chunk.id)
        rest = None
        if chunk.heading_path or chunk.section or chunk.span or chunk.metadata:
            rest = json.dumps([chunk.heading_path, chunk.section, chunk.span, dict(chunk.metadata)])
        return (
            ordinal,
            number,
            chunk.id,
            line,
            None if key == chunk.id else key,
            chunk.doc_id,
            chunk.status == "superseded",
            chunk.title,
            chunk.text,
            rest,
        )

    def _found(self, condition: str, *values: object) -> list[Chunk]:
        rows = self._connection.execute(f"{_READ} {condition}", values).fetchall()
        if self.vectors is None or not rows:
            return [self._chunk(row) for row in rows]
        first, last = rows[0][0], rows[-1][0]
        if last - first == len(rows) - 1:
            vectors = self.vectors.read(first, len(rows))
        else:
            vectors = [self.vectors.read(row[0], 1)[0] for row in rows]
        return [self._chunk(row, vector) for row, vector in zip(rows, vectors, strict=True)]

    def _chunk(self, row: tuple[Any, ...], vector: array[float] | None = None) -> Chunk:
        _, tenant, chunk_id, doc_id, superseded, title, text, rest = row
        heading_path, section, span, metadata = json.loads(rest) if rest else ((), None, None, {})
        return Chunk(
            chunk_id,
            self._tenants[tenant],
            text,
            title,
            doc_id,
            tuple(heading_path),
            section,
            None if span is None else tuple(span),
            "superseded" if superseded else "current",
            metadata,
            vector,
        )

    def _need_index(self, name: str, expression: str) -> None:
        with _writing():
            self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON chunks ({expression})")

    def _one(self, statement: str, *values: object) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self._connection.execute(statement, values).fetchone()
        return row


class _Tenants(list[TenantId]):
    """What a store shares with those made from it: the database goes with the last of them."""


def stored(chunks: Sequence[Chunk]) -> ChunkStore:
    """The chunks as a store: themselves if they are one."""
    if isinstance(chunks, ChunkStore):
        return chunks
    store = ChunkStore((chunk, 0) for chunk in chunks)
    lengths = {0 if chunk.vector is None else len(chunk.vector) for chunk in chunks} or {0}
    if len(lengths) > 1:
        raise InputError(
            f"vectors of {' and '.join(map(str, sorted(lengths)))} numbers in one corpus; "
            "give every chunk one of the same model, or none"
        )
    (dimension,) = lengths
    if not dimension:
        return store
    vectors = VectorFile(dimension)
    vectors.write(0, [chunk.vector for chunk in chunks if chunk.vector is not None])
    return store.with_vectors(vectors)


def folded(value: str) -> str:
    """Without differences in case and in Unicode normalisation."""
    return (value if value.isascii() else unicodedata.normalize("NFC", value)).casefold()


def _text_key(text: str) -> int:
    """64 bits of a text; what they find is compared in full."""
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True
    )


def _is_text(value: str) -> bool:
    """Whether it can stand in a file; half of a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise no_room(error) from error
