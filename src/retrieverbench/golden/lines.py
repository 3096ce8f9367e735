"""Reads JSONL: one object a line, with the place of everything that is wrong.

*Why not a library:* the common readers stop at the first bad line, keep the last of two
equal keys without a word, and know nothing of a JSON array, a Git LFS pointer or a file in
Latin-1 that was handed over as JSONL.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol

from retrieverbench.errors import InputError, plural
from retrieverbench.files import LINE_LIMIT, open_file, read_whole
from retrieverbench.golden.faults import Faults, quote, type_of
from retrieverbench.golden.text import BOM, LFS, decode_line

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_REMEDY = "every line holds one complete JSON object"
_REWRITE = "write each object on a line of its own"
_BEGINNING = 1 << 28
"""Bytes of a file with a broken first line that are looked at, to say what it is instead."""
_TOLD_AFTER = 1 << 20
"""Bytes between two calls of who watches the reading."""

OnRead = Callable[[Path, int], Callable[[int], None]]
"""Told a file that is opened and its bytes; what it returns is told how many of them are read."""


class Digest(Protocol):
    """A checksum of hashlib's."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """One object and the line it stands on, counted from 1."""

    number: int
    data: dict[str, object]


def read_file(path: Path) -> bytes:
    """The bytes of a file; InputError if it cannot be read."""
    with _reading(path):
        return read_whole(path)


def check_readable(path: Path) -> None:
    """Raise InputError if the file cannot be read; no more than its beginning is."""
    with _reading(path), open_file(path) as file:
        file.read(1)


def read_lines(raw: bytes, faults: Faults, *, allow_nan: bool = False) -> list[Line]:
    """All objects of a JSONL file. Blank lines are passed over.

    `allow_nan` lets the words NaN and Infinity through, for readers that have a better
    message for them.
    """
    return list(_Parser(faults, allow_nan=allow_nan).lines(raw.split(b"\n"), lambda: raw))


def stream_lines(
    path: Path,
    faults: Faults,
    digest: Digest | None = None,
    *,
    allow_nan: bool = False,
    on_read: OnRead | None = None,
) -> Iterator[Line]:
    """As `read_lines`, one line at a time; `digest` is given every byte of a readable file.

    Raises InputError if the file cannot be read.
    """
    with _reading(path), open_file(path) as file:
        pieces = _digested(file, digest)
        if on_read is not None:
            pieces = _told(pieces, on_read(path, os.fstat(file.fileno()).st_size))
        parser = _Parser(faults, allow_nan=allow_nan)
        yield from parser.lines(pieces, lambda: _beginning(path))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _beginning(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read(_BEGINNING)


def _digested(file: BinaryIO, digest: Digest | None) -> Iterator[bytes]:
    """Lines without their ends; of one that is too long only as much as shows that it is."""
    for piece in iter(partial(file.readline, LINE_LIMIT + 2), b""):
        if digest is not None:
            digest.update(piece)
        yield piece.removesuffix(b"\n")


def _told(pieces: Iterable[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    """The same lines; `advance` is told the bytes so far, now and then and at the end."""
    done = told = 0
    for piece in pieces:
        yield piece
        done += len(piece) + 1
        if done - told >= _TOLD_AFTER:
            advance(told := done)
    advance(done)


class _Parser:
    """Holds the decoder and what its hook saw of repeated keys."""

    def __init__(self, faults: Faults, *, allow_nan: bool) -> None:
        self._faults = faults
        self._repeated: list[tuple[str, object, object]] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=float if allow_nan else _refuse_constant,
        )

    def lines(self, pieces: Iterable[bytes], whole: Callable[[], bytes]) -> Iterator[Line]:
        """The objects of a file's lines; `whole` reads all of it, if its first line is broken."""
        started = False
        for number, line in enumerate(pieces, 1):
            if len(line) > LINE_LIMIT:
                self._faults.error(
                    "G03", f"is longer than {LINE_LIMIT >> 20} MiB; {_REMEDY}", number
                )
                return
            if number == 1 and line.startswith(LFS):
                self._faults.error("G05", _lfs_message(whole()), 1)
                return
            piece = self._without_mark(line) if number == 1 else line
            if not piece.strip():
                continue
            if not started and self._is_one_document(piece, whole):
                return
            started = True
            data = self._parse(piece.removesuffix(b"\r"), number)
            if data is not None:
                yield Line(number, data)

    def _without_mark(self, piece: bytes) -> bytes:
        if not piece.startswith(BOM):
            return piece
        self._faults.warn(
            "G02", "starts with a byte order mark; it was ignored, save without BOM", 1
        )
        return piece.removeprefix(BOM)

    def _is_one_document(self, first: bytes, whole: Callable[[], bytes]) -> bool:
        """Whether the file is JSON over several lines, which is then noted."""
        if first.lstrip()[:1] not in {b"[", b"{"} or _loads(first) is not None:
            return False
        raw = whole().removeprefix(BOM).strip()
        document = _loads(raw) if b"\n" in raw else None
        if document is None:
            return False
        items = plural(len(document), "item" if isinstance(document, list) else "key")
        kind = "a JSON array" if isinstance(document, list) else "one JSON object over many lines"
        self._faults.error(
            "G04",
            f"holds {kind} ({items}); this looks like a JSON file, not JSONL: {_REWRITE}",
            1,
        )
        return True

    def _parse(self, piece: bytes, number: int) -> dict[str, object] | None:
        text = decode_line(piece, number, self._faults)
        if text is None:
            return None
        self._repeated.clear()
        try:
            data: object = self._decoder.decode(text)
        except json.JSONDecodeError as error:
            self._note_broken(text, error, number)
            return None
        except (ValueError, RecursionError) as error:
            self._faults.error("G03", f"not valid JSON: {_reason(error)}; {_REMEDY}", number)
            return None
        return self._checked(text, data, number)

    def _checked(self, text: str, data: object, number: int) -> dict[str, object] | None:
        if not isinstance(data, dict):
            self._faults.error("G04", _not_an_object(data), number)
            return None
        for key, first, second in self._repeated:
            self._faults.error(
                "G07",
                f"{key}: given twice in one object ({quote(first)} and {quote(second)}); keep one",
                number,
            )
        if _SURROGATE.search(text) and not _is_encodable(data):
            self._faults.error(
                "G01",
                "holds half of a surrogate pair, which is no character; "
                "write the character itself and save the file as UTF-8",
                number,
            )
            return None
        return data

    def _note_broken(self, text: str, error: json.JSONDecodeError, number: int) -> None:
        objects = self._count_objects(text) if error.msg == "Extra data" else 0
        if objects > 1:
            self._faults.error(
                "G04",
                f"holds {objects} objects without line breaks; "
                f"JSONL has one object per line: {_REWRITE}",
                number,
            )
            return
        self._faults.error(
            "G03",
            f"not valid JSON: {error.msg.removesuffix(' at')} at column {error.colno}; {_REMEDY}",
            number,
        )

    def _count_objects(self, text: str) -> int:
        """How many objects follow each other in a line, 0 if anything else is there too."""
        count, position = 0, 0
        while position < len(text):
            try:
                data, position = self._decoder.raw_decode(text, position)
            except ValueError:
                return 0
            if not isinstance(data, dict):
                return 0
            count += 1
            position += len(text[position:]) - len(text[position:].lstrip(" \t\r,"))
        return count

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        data = dict(pairs)
        if len(data) != len(pairs):
            seen: dict[str, object] = {}
            for key, value in pairs:
                if key in seen:
                    self._repeated.append((key, seen[key], value))
                seen[key] = value
        return data


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).partition(";")[0]


def _loads(raw: bytes) -> list[object] | dict[str, object] | None:
    try:
        data: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, (list, dict)) else None


def _not_an_object(data: object) -> str:
    if isinstance(data, list):
        items = plural(len(data), "item")
        return f"holds a JSON array ({items}); this looks like a JSON file, not JSONL: {_REWRITE}"
    return f"holds {type_of(data)} ({quote(data)}), not an object; {_REMEDY}"


def _is_encodable(data: dict[str, object]) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _lfs_message(raw: bytes) -> str:
    text = raw[:1024].decode("utf-8", errors="replace")
    fields = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    size = fields.get("size", "unknown")
    digest = fields.get("oid", "unknown").removeprefix("sha256:")[:8]
    return (
        f"is a Git LFS pointer ({size} bytes, sha256 {digest}…), not the data; run 'git lfs pull'"
    )
