"""What a table of a report is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names, rows of cells, and sentences that belong below it.

    `keys` are the columns that tell its rows apart. `appendix` are long lines that may stand
    away from the table, below all of them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ("target",)
    appendix: tuple[str, ...] = ()
