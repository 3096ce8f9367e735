"""The report as Markdown, as a pull request or a job summary shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from retrieverbench.model import Artifact
from retrieverbench.report.cells import safe, safe_row
from retrieverbench.report.facts import remarks
from retrieverbench.report.table import Table
from retrieverbench.report.tables import headline, report_tables, summary

MAX_BYTES = 1_000_000
"""GitHub drops a job summary above 1,024 KiB as a whole."""

_ESCAPED = {character: f"\\{character}" for character in "\\|`*_[]~$#"} | {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
}
_MENTION = re.compile(r"(?<![A-Za-z0-9])@")
"""Where a name would be called; within a word, as in nDCG@10, `@` calls nobody."""


def render_markdown(artifact: Artifact, max_bytes: int = MAX_BYTES) -> str:
    """The whole report; equal artifacts give equal text.

    Longer than `max_bytes` it is cut after a whole line, with a note that says so.
    """
    kept: list[str] = []
    size = 0
    lines = list(_lines(artifact))
    for line in lines:
        size += len(line.encode()) + 1
        if size > max_bytes:
            left = len(lines) - len(kept)
            kept += ["", f"{left} more lines were cut; the artifact beside this file holds all."]
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _lines(artifact: Artifact) -> Iterator[str]:
    yield f"# {_text(headline(artifact))}"
    yield ""
    yield _text(summary(artifact))
    told = [*(artifact.verdict.reasons if artifact.verdict else ()), *remarks(artifact)]
    if told:
        yield ""
        yield from (f"- {_text(each)}" for each in told)
    for table in report_tables(artifact):
        yield ""
        yield from _table(table)
    yield ""
    yield "## Provenance"
    yield ""
    yield from (f"- {_text(line)}" for line in provenance(artifact))


def provenance(artifact: Artifact) -> Iterator[str]:
    """Where the numbers come from, a line each."""
    yield f"run {artifact.run_id}, started {artifact.started} UTC"
    golden = artifact.golden
    yield f"golden set sha256 {golden.sha256[:12]}, corpus {golden.corpus_sha256[:12]}"
    dirty = " with uncommitted changes" if artifact.dirty else ""
    yield f"commit {artifact.commit or 'unknown'}{dirty}"
    yield f"harness: {_plain(artifact.harness)}"
    yield f"machine: {_plain(artifact.machine)}"
    if artifact.embedding:
        yield f"embedding: {_plain(artifact.embedding)}"
    yield f"answer cache: {artifact.cache}; seeds: {_plain(artifact.seeds)}"
    yield from artifact.notes


def _plain(value: object) -> str:
    """A value in words: `cores 2, flags (a, b)`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_inner(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_inner(part) for part in value)
    return str(value)


def _inner(value: object) -> str:
    return f"({_plain(value)})" if isinstance(value, Mapping | list | tuple) else str(value)


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.title}"
    yield ""
    yield "| " + " | ".join(_text(column) for column in table.columns) + " |"
    yield "|" + "---|" * len(table.columns)
    for row in table.rows:
        yield "| " + " | ".join(_text(cell) for cell in safe_row(row)) + " |"
    for note in (*table.notes, *table.appendix):
        yield ""
        yield _text(note)


def _text(text: str) -> str:
    escaped = "".join(_ESCAPED.get(character, character) for character in safe(text))
    return _MENTION.sub("&#64;", escaped)
