"""The lines of a text file: UTF-8, ended by LF or CRLF, without control characters.

Other tools end a line or a column at a carriage return, a form feed or a zero byte, each at
others of them. A file is read in one way or not at all.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from itertools import compress, count, pairwise
from operator import ne
from pathlib import Path

from retrieverbench.errors import InputError
from retrieverbench.files import LINE_LIMIT, open_file
from retrieverbench.golden.faults import Faults

BLOCK = 1 << 15
"""Bytes read at once: few enough that the words of a block stay in the cache of a processor."""
LF = b"\n"
_GZIP = b"\x1f\x8b"
_TOO_LONG = f"is longer than {LINE_LIMIT >> 20} MiB; end every line with LF"
BOM = b"\xef\xbb\xbf"
LFS = b"version https://git-lfs.github.com/spec/"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols of Unicode that are drawn as nothing."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PLAIN = bytes({*b"\t\n", *range(0x20, 0x7F)})


def read_blocks(path: Path, faults: Faults) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some thousands at once, with the number of the first of them.

    Gzip, a byte order mark and CRLF are undone; every line ends in LF. Raises InputError
    for a file that cannot be read; a Git LFS pointer is noted and yields nothing.
    """
    number = 1
    try:
        with open_file(path, gzip=True) as raw, _unpacked(raw) as file:
            while block := file.read(BLOCK):
                block += file.readline(LINE_LIMIT)
                if len(block) >= LINE_LIMIT:
                    raise InputError(f"{path}:{number + block.count(LF)}: {_TOO_LONG}")
                if number == 1:
                    block = _beginning(block, faults)
                if b"\r" in block:
                    block = block.replace(b"\r\n", b"\n")
                if not block.endswith(b"\n"):
                    block += b"\n"
                yield number, block
                number += block.count(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); check the path") from error


def _unpacked(file: BufferedReader) -> BufferedReader | gzip.GzipFile:
    is_packed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if is_packed:
        return gzip.open(file)
    return file


def _beginning(block: bytes, faults: Faults) -> bytes:
    if block.startswith(LFS):
        faults.error("G05", "is a Git LFS pointer, not the data; run 'git lfs pull'")
        return b""
    if block.startswith(BOM):
        faults.warn("G02", "starts with a byte order mark; it was ignored, save without BOM", 1)
        return block.removeprefix(BOM)
    return block


def read_columns(block: bytes, count: int) -> list[list[bytes]] | None:
    """The columns of a block of ASCII lines, None unless every line has exactly `count`.

    A zero byte, which no line holds, marks where lines end: it must stand after every
    `count` words and nowhere else. Nothing is done line by line, which is what makes it fast;
    most words are looked at and thrown away, so that decoding them would be for nothing.
    """
    if block.translate(None, _PLAIN) or block.startswith(b"#") or b"\n#" in block:
        return None
    words = block.replace(b"\n", b" \0 ").split()
    lines = block.count(b"\n")
    if len(words) != lines * (count + 1) or words[count :: count + 1].count(b"\0") != lines:
        return None
    return [words[column :: count + 1] for column in range(count)]


def decode_words(words: Iterable[bytes]) -> list[str]:
    """Words of such a column as text, all at once."""
    return b" ".join(words).decode("ascii").split(" ")


def read_rows(first: int, block: bytes, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """The words of each line of a block, numbered; what is no text is noted and left out.

    Words are separated by blanks and tabs only: another blank of Unicode is part of a word.
    Empty lines and those that begin with `#` are passed over.
    """
    for number, piece in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
        if not piece.strip() or piece.startswith(b"#"):
            continue
        line = plain_line(piece, number, faults)
        if line is not None:
            yield number, [word for word in line.replace("\t", " ").split(" ") if word]


def columns_of(path: Path) -> int:
    """How many words the first line of a file has, 0 where none can be read."""
    ignored = Faults(str(path))
    with suppress(InputError):
        for number, block in read_blocks(path, ignored):
            for _, words in read_rows(number, block, ignored):
                return len(words)
    return 0


def plain_line(piece: bytes, number: int, faults: Faults) -> str | None:
    """The text of a line, None with the fault noted if it holds a control character but tab."""
    line = decode_line(piece, number, faults)
    if line is None:
        return None
    found = _CONTROL.search(line.replace("\t", " "))
    if found is None:
        return line
    what = f"the control character U+{ord(found[0]):04X}"
    remedy = "remove it, an id is plain text"
    if found[0] == "\r":
        what, remedy = "a carriage return that ends no line", "end every line with LF or CRLF"
    faults.error("G03", f"holds {what} at column {found.start() + 1}; {remedy}", number)
    return None


def decode_line(piece: bytes, number: int, faults: Faults) -> str | None:
    """The text of a line, None with the fault noted if it is not UTF-8."""
    try:
        return piece.decode()
    except UnicodeDecodeError as error:
        column = len(piece[: error.start].decode()) + 1
        byte = piece[error.start]
        faults.error(
            "G01",
            f"byte 0x{byte:02X} at column {column} is not UTF-8; save the file as UTF-8",
            number,
        )
        return None


def stretches(words: Sequence[bytes]) -> Iterable[tuple[int, int]]:
    """Start and end of every stretch of equal neighbours."""
    changes = compress(count(1), map(ne, words, words[1:]))
    return pairwise([0, *changes, len(words)] if words else ())


def is_blank(text: str) -> bool:
    """Whether there is nothing to read in a text: blanks, marks without a letter, fillers."""
    return all(
        character in _FILLERS or unicodedata.category(character) in _UNSEEN for character in text
    )


def control_character(value: str) -> str | None:
    """The first control character of an id as `U+0000`, None if it holds none."""
    found = _CONTROL.search(value)
    return None if found is None else f"U+{ord(found[0]):04X}"
