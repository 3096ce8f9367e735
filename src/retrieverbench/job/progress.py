"""How a long job tells what it is doing; the command decides how that looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

LONG_READING = 10_000_000
"""Bytes of a file whose reading is shown: about two seconds of work."""

Advance = Callable[[int], None]
"""Call with how many units are done in all, of the total that was announced."""


class Progress(Protocol):
    """What a job reports to while it works. Never called from the timed loop."""

    def begin(self, what: str, total: int, unit: str = "") -> Advance:
        """A step begins: a name in a few words, and how many of which units it has."""
        ...

    def note(self, text: str) -> None:
        """One line that the reader should see, such as a target that cannot run."""
        ...


class Quiet:
    """Reports to nobody."""

    # The names are the protocol's: callers give them by name.
    def begin(self, what: str, total: int, unit: str = "") -> Advance:  # noqa: ARG002
        """Nothing is shown."""
        return lambda _done: None

    def note(self, text: str) -> None:
        """Nothing is shown."""


def counting(advance: Advance) -> Callable[..., None]:
    """A function that advances by one at every call, whatever it is called with."""
    done = 0

    def count(*_ignored: object) -> None:
        nonlocal done
        done += 1
        advance(done)

    return count


def fetching(progress: Progress) -> Callable[[str, int, int], None]:
    """What an engine's download reports to: one step per engine, in MB."""
    steps: dict[str, Advance] = {}

    def on_fetch(name: str, done: int, total: int) -> None:
        if name not in steps:
            steps[name] = progress.begin(f"{name}: fetching", _megabytes(total), "MB")
        steps[name](_megabytes(done))

    return on_fetch


def reading(progress: Progress) -> Callable[[Path, int], Advance]:
    """What the reading of a file reports to: one step per long file, in MB."""

    def on_read(path: Path, size: int) -> Advance:
        if size < LONG_READING:
            return lambda _done: None
        advance = progress.begin(f"reading {path.name}", _megabytes(size), "MB")
        return lambda done: advance(_megabytes(done))

    return on_read


def _megabytes(size: int) -> int:
    return -(-size // 1_000_000)
