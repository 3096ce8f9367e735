"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from retrieverbench.errors import plural
from retrieverbench.model import Artifact
from retrieverbench.report.cells import safe, safe_row
from retrieverbench.report.facts import remarks
from retrieverbench.report.table import Table
from retrieverbench.report.tables import headline, report_tables, summary
from retrieverbench.report.widths import column_widths, least_room, parts

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as Drawn

GRAVEST = 3
"""Reasons that stand above all tables; they come gravest first."""
LONGEST_REASON = 480
"""Characters of these; whole they stand below the tables."""
LEAST_ROOM = 40
"""Characters of a line; on a terminal that is narrower it is broken."""
GAP = 2
"""What a column takes beside its text: a blank and its border."""


def print_report(artifact: Artifact, console: Console, written: Path | None = None) -> None:
    """The verdict with its gravest reasons, the tables, settings, and the verdict with all.

    Below the first reasons stands what the verdict does not cover.
    """
    from rich.text import Text

    tables = report_tables(artifact)
    reasons = artifact.verdict.reasons if artifact.verdict else ()
    brief = _without_details(artifact)
    room = max(console.width, LEAST_ROOM) - 2
    gravest = [
        line
        for reason in reasons[:GRAVEST]
        for line in _lines(safe(brief.get(reason, reason)), room)
    ]
    _print_verdict(artifact, gravest, console)
    if len(reasons) > GRAVEST:
        more = plural(len(reasons) - GRAVEST, "more reason")
        _line(console, f"  and {more}, below all tables")
    for line in (each for remark in remarks(artifact) for each in _lines(safe(remark), room)):
        _line(console, f"  {line}")
    for table in tables:
        _line(console, "")
        _print_table(table, console)
    appendix = [line for table in tables for line in table.appendix]
    if appendix:
        _line(console, "")
        heading = "Settings, as the servers tell them; what cannot be read, as it is sent"
        _line(console, heading, "italic")
    for line in appendix:
        console.print(Text(safe(line), style="dim"))
    _line(console, "")
    _line(console, summary(artifact))
    _print_verdict(artifact, reasons, console)
    if written is not None:
        _line(console, f"written: {written} and {written.with_suffix('.md').name}")


def _lines(reason: str, room: int) -> list[str]:
    """A reason in lines of whole words; of a long one the beginning, and where the rest stands."""
    if len(reason) > LONGEST_REASON:
        reason = f"{reason[:LONGEST_REASON].rpartition(' ')[0]} … (whole below all tables)"
    return wrap(
        reason, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _without_details(artifact: Artifact) -> dict[str, str]:
    """A rule's reason by the same with its details, which would push the numbers out of a line."""
    rules = artifact.verdict.rules if artifact.verdict else ()
    told = ((rule, f"{rule.word}: {rule.rule} on {rule.target}: ") for rule in rules)
    return {f"{where}{rule.text}": f"{where}{rule.reason}" for rule, where in told if rule.reason}


def _print_verdict(artifact: Artifact, reasons: Sequence[str], console: Console) -> None:
    word = artifact.verdict.word if artifact.verdict else ""
    style = {"pass": "bold green", "inconclusive": "bold yellow"}.get(word, "bold red")
    _line(console, headline(artifact), style)
    for reason in reasons:
        _line(console, f"  {reason}")


def _print_table(table: Table, console: Console) -> None:
    """The table; on a narrow terminal in parts, one below the other."""
    from rich.text import Text

    rows = [safe_row(row) for row in table.rows]
    room = max(console.width, least_room(table.columns, rows, GAP))
    for number, part in enumerate(parts(table.columns, rows, table.keys, room, GAP)):
        title = f"{table.title}, continued" if number else table.title
        columns = [table.columns[at] for at in part]
        _draw(title, columns, [[row[at] for at in part] for row in rows], room, console)
    for note in table.notes:
        console.print(Text(safe(note), style="dim"))


def _draw(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int,
    console: Console,
) -> None:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    widths = column_widths(columns, rows, room, GAP)
    for at, column in enumerate(columns):
        drawn.add_column(Text(column), overflow="fold", width=widths[at] if widths else None)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console.print(_Wide(drawn, room), crop=False)


@dataclass(frozen=True, slots=True)
class _Wide:
    """Drawn in so much room: a terminal that is narrower breaks the lines, and loses nothing."""

    drawn: Drawn
    room: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.drawn, options.update(width=self.room))


def _line(console: Console, text: str, style: str = "") -> None:
    """One line as it is: a Text, in which `[bold]` and `:name:` mean nothing to rich."""
    from rich.text import Text

    console.print(Text(safe(text), style=style), soft_wrap=True)
