"""Progress of a job: bars with time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

from retrieverbench.cli.output import is_terminal, tell, unbroken

if TYPE_CHECKING:
    import rich.progress

    from retrieverbench.job import Advance, Progress

PLAIN_SECONDS = 10.0
"""A plain line is written when a step begins, and again no sooner than this."""


def shown_progress(*, plain: bool = False) -> AbstractContextManager[Progress]:
    """As `show_progress`: in plain lines wherever nobody watches, or as asked for."""
    return show_progress(plain=plain or not is_terminal(sys.stderr))


@contextmanager
def show_progress(*, plain: bool) -> Iterator[Progress]:
    """A Progress that writes to standard error; `plain` for logs and pipes."""
    if plain:
        yield Lines(sys.stderr)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        refresh_per_second=2,
        transient=True,
    )
    with unbroken(sys.stderr):
        bars.start()
    try:
        yield Bars(bars)
    finally:
        with unbroken(sys.stderr):
            bars.stop()


class Lines:
    """One line per step, on a stream of its own: adapters may replace the standard ones."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def begin(self, what: str, total: int, unit: str = "") -> Advance:
        """Write the step's name; report again only if it takes long."""
        whole = f"{total} {unit}".rstrip()
        tell(f"{what} ({whole})", self._stream)
        start = last = perf_counter()

        def advance(done: int) -> None:
            nonlocal last
            if done < total and perf_counter() - last > PLAIN_SECONDS:
                last = perf_counter()
                left = _time_left(done, total, last - start)
                tell(f"{what}: {done} of {whole}{left}", self._stream)

        return advance

    def note(self, text: str) -> None:
        """Write the line."""
        tell(text, self._stream)


def _time_left(done: int, total: int, spent: float) -> str:
    """At the rate so far, e.g. `, 41,000 a second, 0:01:20 left`."""
    if not done:
        return ""
    rate = done / spent
    left = timedelta(seconds=round((total - done) / rate))
    return f", {rate:,.0f} a second, {left} left" if rate >= 10 else f", {left} left"


class Bars:
    """A bar per running step, drawn twice a second."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        self._bars = bars

    def begin(self, what: str, total: int, unit: str = "") -> Advance:
        """Add a bar; it goes away when the step is complete."""
        with unbroken(sys.stderr):
            task = self._bars.add_task(f"{what}, {unit}" if unit else what, total=total)

        def advance(done: int) -> None:
            with unbroken(sys.stderr):
                self._bars.update(task, completed=done)
                if done >= total:
                    self._bars.remove_task(task) if task in self._bars.task_ids else None

        return advance

    def note(self, text: str) -> None:
        """Write the line above the bars."""
        with unbroken(sys.stderr):
            self._bars.console.print(text, markup=False, highlight=False)
