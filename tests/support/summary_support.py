"""What the tests tell at their end, also where they run in processes of their own.

A test tells a line by `record_property(TOLD, line)`; the matrix of the contract and the score of
the Azure stand-in are read off the outcomes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from retrieverbench.engines import engine_names, load_engine
from retrieverbench.model import MODES
from retrieverbench.run import LAYOUTS, adapter_names

TOLD = "told"
LEGEND = (
    "not claimed: the adapter does not promise it (retrieverbench adapters), and no test ran",
    "-: the contract has no test of that kind; skipped: cannot run here, with the reason above",
)
OUTCOMES = ("passed", "failed", "error", "skipped")


def write_told(terminal: Any) -> None:
    """The lines of the tests that have something to tell."""
    reports = [report for outcome in OUTCOMES for report in terminal.getreports(outcome)]
    for report in reports:
        properties = getattr(report, "user_properties", ())  # a failed collection has none
        lines = [value for key, value in properties if key == TOLD]
        if lines and report.when == "call":
            terminal.section(report.nodeid.partition("::")[2])
            for line in lines:
                terminal.write_line(line)


def write_azure_score(terminal: Any) -> None:
    """The mutation score of the stand-in that is broken on purpose."""

    def count(outcome: str, name: str) -> int:
        reports = terminal.getreports(outcome)
        return len({report.nodeid for report in reports if f"::{name}[" in report.nodeid})

    caught, missed = (count(o, "test_a_mutant_is_caught") for o in ("passed", "failed"))
    if caught or missed:
        unseen = count("passed", "test_a_mutant_that_the_right_adapter_does_not_meet")
        terminal.write_line(
            f"Azure stand-in broken on purpose: {caught} of {caught + missed} ways caught through "
            f"the right adapter; {unseen} that it does not meet, counted apart"
        )


def write_matrix(terminal: Any) -> None:
    """What of the contract passed, failed or is not claimed, without a hole."""
    cells: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for outcome in OUTCOMES:
        for report in terminal.getreports(outcome):
            _name, found, parameters = report.nodeid.rstrip("]").partition("[")
            words = set(parameters.split("-"))
            names = words & set(adapter_names())
            if "::TestInstalledAdapters::" not in report.nodeid or not found or not names:
                continue
            layout = next((word for word in LAYOUTS if word in words), "any")
            mode = next((word for word in MODES if word in words), "any")
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            told = "not claimed" if "not applicable" in reason else outcome
            row = cells.setdefault((names.pop(), layout), {})
            row.setdefault(mode, Counter())[told] += 1
    if not cells:
        return
    terminal.section("contract: adapter, engine, layout, mode")
    table = [("adapter", "engine", "layout", *MODES, "no mode")]
    for (name, layout), row in sorted(cells.items()):
        results = (_cell(row.get(mode)) for mode in (*MODES, "any"))
        shown = "no layout" if layout == "any" else layout
        table.append((name, _engine(name), shown, *results))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        text = "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True))
        terminal.write_line(text.rstrip())
    for told in LEGEND:
        terminal.write_line(told)


def _engine(name: str) -> str:
    """How faithful the engine is that is started here; none where a fixture or nothing answers."""
    return load_engine(name).FIDELITY if name in engine_names() else "none"


def _cell(counts: Counter[str] | None) -> str:
    """What is not claimed is said only where nothing ran."""
    if counts is None:
        return "-"
    words = ("failed", "error", "passed", "skipped")
    return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "not claimed"
