"""Writing where the reader may be gone, the disk full or the stream closed.

What a run found is decided before anything of it is written: a fault of the output is told
where that is still possible, and never changes what was found.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click


def open_streams() -> None:
    """Let every text be written in every encoding, what it lacks as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def close_streams() -> bool:
    """Write what is buffered, and whether the last of standard output could be.

    Without this Python itself ends with 120 where it cannot.
    """
    with unbroken(sys.stderr):
        if sys.stderr is not None:
            sys.stderr.flush()
    with unbroken(sys.stdout) as faults:
        if sys.stdout is not None:
            sys.stdout.flush()
    return not faults


@contextmanager
def unbroken(stream: TextIO | None) -> Iterator[list[str]]:
    """A failure to write to `stream` ends what is inside and nothing else.

    From then on the stream leads nowhere. On standard output any failure but a reader that
    left, as `head` does, is told on standard error and in the list that is yielded.
    """
    faults: list[str] = []
    try:
        yield faults
    except (OSError, ValueError, SystemExit) as error:  # rich exits when its reader left
        _silence(stream)
        if stream is sys.stdout and not isinstance(error, BrokenPipeError | SystemExit):
            faults.append(f"standard output cannot be written: {reason(error)}")
            tell(f"error: {faults[0]}")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """As `head` does, which ends what is inside; any other fault of the output is raised."""
    try:
        yield
    except BrokenPipeError:
        _silence(sys.stdout)


def tell(text: str, stream: TextIO | None = None) -> None:
    """One line on standard error, or on another stream, if anybody can read it."""
    stream = stream or sys.stderr
    with unbroken(stream):
        click.echo(text, stream, err=True)


def printable(text: str) -> str:
    """With escapes for whatever a name of a file, or a text of others, can do to a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody watches; a closed stream is None."""
    return stream is not None and not stream.closed and stream.isatty()


def is_fault_of_writing(error: BaseException) -> bool:
    """Whether a stream could take no more; errors of named files name them."""
    codes = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
    return isinstance(error, OSError) and error.errno in codes and error.filename is None


def reason(error: BaseException) -> str:
    """The system's words for what went wrong, or the exception's own."""
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or " ".join(str(error).split()) or type(error).__name__


def _silence(stream: TextIO | None) -> None:
    """What is buffered or still comes goes nowhere, so that flushing it cannot fail."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
