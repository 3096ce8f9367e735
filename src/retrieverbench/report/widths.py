"""How wide the columns of a table are drawn, so that words are broken last of all."""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 4
"""Below this a column is not worth drawing."""


def column_widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, gap: int
) -> list[int] | None:
    """Widths whose sum with a gap per column fits `room`; None if that cannot be.

    Columns of targets are as wide as their longest cell. The others are at least as wide as
    their longest word, as far as there is room, and share what is left by need.
    """
    cells = [[column, *(row[at] for row in rows)] for at, column in enumerate(columns)]
    longest = [max(map(_width, column)) for column in cells]
    widths = [
        longest[at] if column == "target" else max(_width(w) for c in cells[at] for w in _words(c))
        for at, column in enumerate(columns)
    ]
    room -= gap * len(columns)
    widths = [
        width if columns[at] == "target" else min(width, room) for at, width in enumerate(widths)
    ]
    while sum(widths) > room:
        widest = max(
            (at for at, column in enumerate(columns) if column != "target"),
            key=lambda at: widths[at],
            default=None,
        )
        if widest is None or widths[widest] <= LEAST:
            return None
        widths[widest] -= 1
    while sum(widths) < room:
        needy = [at for at, width in enumerate(widths) if width < longest[at]]
        if not needy:
            break
        widths[min(needy, key=lambda at: widths[at])] += 1
    return widths


def _words(cell: str) -> list[str]:
    return cell.split() or [""]


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
