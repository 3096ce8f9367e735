"""Room goes to targets, then to words, then to whole cells."""

from __future__ import annotations

from retrieverbench.report.widths import column_widths, least_room

COLUMNS = ("target", "reason", "n")
ROWS = [("store/dense/filter", "nobody answers at this address", "12")]


def test_with_room_every_cell_is_whole() -> None:
    assert column_widths(COLUMNS, ROWS, 100, 2) == [18, 30, 2]


def test_with_less_room_cells_break_at_blanks() -> None:
    assert column_widths(COLUMNS, ROWS, 40, 2) == [18, 14, 2]
    assert column_widths(COLUMNS, ROWS, 33, 2) == [18, 7, 2]


def test_words_break_before_targets_do() -> None:
    assert column_widths(COLUMNS, ROWS, 31, 2) == [18, 5, 2]


def test_too_little_room_is_said() -> None:
    assert column_widths(COLUMNS, ROWS, 20, 2) is None
    assert column_widths(("target",), [("store",)], 4, 2) is None


def test_a_huge_word_takes_what_is_left() -> None:
    assert column_widths(COLUMNS, [("store", "x" * 10_000_000, "1")], 40, 2) == [6, 27, 1]


def test_the_least_room_is_that_of_a_target_and_a_number() -> None:
    assert least_room(COLUMNS, ROWS, 2) == 18 + 2 + 12 + 2
    assert least_room(("probe", "n"), [("P01", "1")], 2) == 12 + 2
