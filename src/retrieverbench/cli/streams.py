"""The standard streams, kept from what adapters make of them and of their descriptors."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

FAR = 500
"""Loops that close all descriptors usually begin with the lowest and end before this one."""

_Identity = tuple[int, int, int]


@contextmanager
def kept_streams() -> Iterator[None]:
    """Standard output and standard error are put back, and what their descriptors lead to.

    Foreign code runs inside. It may have replaced or closed a stream, or closed every
    descriptor there is: what was judged can be printed all the same.
    """
    streams = [_Kept.of(name) for name in ("stdout", "stderr")]
    try:
        yield
    finally:
        for stream in streams:
            stream.put_back()


def far_copy(descriptor: int) -> int:
    """A copy that programs we start do not get, out of reach of most loops that close all.

    Raises OSError where there is none.
    """
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = FAR if most == resource.RLIM_INFINITY else min(FAR, most // 2)
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(least, 3))


def identity(descriptor: int) -> _Identity | None:
    """What a descriptor leads to; None if to nothing. Its number may be another's by now."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_rdev


@dataclass(frozen=True)
class _Kept:
    """One of sys.stdout and sys.stderr: its descriptor, a copy of that, and where both lead."""

    name: str
    stream: TextIO | None
    number: int | None
    copy: int | None
    leads_to: _Identity | None

    @classmethod
    def of(cls, name: str) -> _Kept:
        stream: TextIO | None = getattr(sys, name)
        number = copy = None
        with suppress(OSError, ValueError, AttributeError):  # closed, or kept in memory
            number = stream.fileno() if stream is not None else None
        if number is not None:
            with suppress(OSError):
                copy = far_copy(number)
        return cls(name, stream, number, copy, None if copy is None else identity(copy))

    def put_back(self) -> None:
        """The stream and its descriptor, where they are not what they were."""
        if self.number is not None and self.copy is not None:
            self._put_back(self.number, self.copy)
        stream = self.stream
        if stream is not None and stream.closed and self.number is not None:
            with suppress(OSError):
                raw = io.FileIO(self.number, "w", closefd=False)
                stream = io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors)
        setattr(sys, self.name, stream)

    def _put_back(self, number: int, copy: int) -> None:
        if identity(copy) != self.leads_to:  # closed, and its number may be another's
            return
        if identity(number) != self.leads_to:
            os.dup2(copy, number)
        os.close(copy)
