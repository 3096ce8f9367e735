"""Reading regular files and no others, and writing them whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from retrieverbench.errors import InputError

LINE_LIMIT = 64 << 20
"""Bytes of a line: a longer one is no line of a text file, and would fill the memory."""
WHOLE_LIMIT = 1 << 30
"""Bytes of a file that is read whole: golden sets, suites, artifacts, baselines."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_GZIP = b"\x1f\x8b"
_UNPACK = "compressed with {0}; unpack it and name what it holds"
_ENCODED = "text in {0}; save it as UTF-8"
_FORMS = (
    (_GZIP, _UNPACK.format("gzip")),
    (b"PK\x03\x04", _UNPACK.format("zip")),
    (b"\x28\xb5\x2f\xfd", _UNPACK.format("zstd")),
    (b"BZh", _UNPACK.format("bzip2")),
    (b"\xfd7zXZ\x00", _UNPACK.format("xz")),
    (b"\xff\xfe\x00\x00", _ENCODED.format("UTF-32")),
    (b"\x00\x00\xfe\xff", _ENCODED.format("UTF-32")),
    (b"\xff\xfe", _ENCODED.format("UTF-16")),
    (b"\xfe\xff", _ENCODED.format("UTF-16")),
)
_HEAD = 8
_BEGINNING = 4096


def open_file(path: Path, *, gzip: bool = False) -> BufferedReader:
    """Open a regular file, or a link to one, for reading.

    Raises InputError for anything else, on which reading would wait or never end (files are
    read more than once, so a pipe would not do either), and for what is compressed or not
    UTF-8 by its first bytes; with `gzip` that form is let through. Raises OSError where it
    cannot be opened.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  # the caller closes it
    try:
        refuse_other(path, os.fstat(file.fileno()).st_mode)
        _refuse_form(path, file.peek(_HEAD), gzip=gzip)
    except BaseException:
        file.close()
        raise
    return file


def _refuse_form(path: Path, head: bytes, *, gzip: bool) -> None:
    for start, what in _FORMS:
        if head.startswith(start) and not (gzip and start == _GZIP):
            raise InputError(f"{path}: is {what}")


def _without_waiting(path: str, flags: int) -> int:
    """Opening a pipe that nobody writes to would wait."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_whole(path: Path) -> bytes:
    """The bytes of a file that `open_file` opens; InputError beyond WHOLE_LIMIT."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(WHOLE_LIMIT + 1) if size <= WHOLE_LIMIT else b""
    if max(size, len(data)) > WHOLE_LIMIT:
        raise InputError(f"{path}: is larger than {WHOLE_LIMIT >> 30} GiB; name another file")
    return data


def refuse_other(path: Path, mode: int) -> None:
    """Raise InputError for what is no regular file, by its mode."""
    for is_kind, word in _KINDS:
        if is_kind(mode):
            raise InputError(
                f"{path}: is {word}, not a regular file; name a file (what a pipe or a device "
                "gives can be saved as one)"
            )


def whole_path(path: Path) -> Path:
    """The path from the root and without links.

    A loop of links is left as it is: who opens it is told so. Raises InputError for a path seen
    from a folder that is gone.
    """
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:
        raise InputError(
            f"{path}: the folder that this was started in is gone; change to one that is there"
        ) from None


def seen_from_here(path: Path) -> str:
    """A path as it can be typed in the folder one is in; as it is where that is gone."""
    try:
        return os.path.relpath(path)
    except FileNotFoundError:
        return str(path)


def holds_other(path: Path, *marks: bytes) -> bool:
    """Whether a file holds anything in whose beginning one of these marks lacks.

    Who writes only what has all of them would destroy it. Raises OSError where it cannot be read.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            head = file.read(_BEGINNING)
    except FileNotFoundError:
        return False
    return bool(head) and not all(mark in head for mark in marks)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of it.

    A link stays a link: what it leads to is written. Raises InputError where it cannot be
    written, and for a device or pipe, which would be replaced.
    """
    target = whole_path(path)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")  # of no other process
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            refuse_other(path, target.stat().st_mode)
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; make room or name another folder"
        ) from None
