"""How wide the columns of a table are drawn, so that words are broken last of all."""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 4
"""Below this a column is not worth drawing."""
NUMBER = 12
"""Room for a mean with its error, or for any other number."""
PROSE = 20
"""Sentences are not drawn narrower than this where they can have a part to themselves."""


def parts(
    columns: Sequence[str], rows: Sequence[Sequence[str]], keys: Sequence[str], room: int, gap: int
) -> list[list[int]]:
    """Which columns are drawn side by side: all of them, or parts in which no word is broken.

    Every part begins anew with the `keys`, so that its rows can be told apart; with the target
    alone where that is too wide. `room` is at least that of `least_room`.
    """
    needed = [gap + _least(column, [row[at] for row in rows]) for at, column in enumerate(columns)]
    every = list(range(len(columns)))
    if sum(needed) <= room:
        return [every]
    head = [at for at in every if columns[at] in keys]
    if sum(needed[at] for at in head) > room / 2:
        head = [at for at in every if columns[at] == "target"]
    others = [at for at in every if at not in head]
    left = room - sum(needed[at] for at in head)
    if not others:
        return [every]
    found: list[list[int]] = [[]]
    for at in others:
        if found[-1] and sum(needed[n] for n in (*found[-1], at)) > left:
            found.append([])
        found[-1].append(at)
    return [sorted([*head, *part]) for part in found]


def least_room(columns: Sequence[str], rows: Sequence[Sequence[str]], gap: int) -> int:
    """What a target and one column of numbers take: a number in pieces would be another one."""
    targets = [[column, *(row[at] for row in rows)] for at, column in enumerate(columns)]
    longest = [max(map(_width, cells)) for cells in targets if cells[0] == "target"]
    return sum(longest, NUMBER + gap * (1 + len(longest)))


def _least(column: str, cells: Sequence[str]) -> int:
    """The width below which a column breaks a word, or is too narrow to be read."""
    longest = max(map(_width, (column, *cells)))
    if column == "target":
        return longest
    word = max(_width(word) for cell in (column, *cells) for word in _words(cell))
    return max(word, min(longest, PROSE))


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
