"""The engines of all contract tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fuzz_support import TRIED
from retrieverbench.model import MODES
from retrieverbench.run import LAYOUTS, Engines, adapter_names


@pytest.fixture(scope="package")
async def engines() -> AsyncIterator[Engines]:
    """Each engine is started once, when the first test asks for it."""
    async with Engines() as started:
        yield started


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TRIED] = []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What was tried with drawn names, and the matrix of the contract."""
    tried: list[str] = config.stash[TRIED]
    if tried:
        terminalreporter.section("drawn names and texts")
    for line in tried:
        terminalreporter.write_line(line)
    _write_matrix(terminalreporter)


def _write_matrix(terminalreporter: Any) -> None:
    """What of the contract passed, failed or is not claimed, without a hole."""
    cells: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(outcome):
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
    terminalreporter.section("contract: adapter, layout, mode")
    table = [("adapter", "layout", *MODES, "any mode")]
    for (name, layout), row in sorted(cells.items()):
        table.append((name, layout, *(_cell(row.get(mode)) for mode in (*MODES, "any"))))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        text = "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True))
        terminalreporter.write_line(text.rstrip())


def _cell(counts: Counter[str] | None) -> str:
    """What is not claimed is said only where nothing ran."""
    if counts is None:
        return "-"
    words = ("failed", "error", "passed", "skipped")
    return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "not claimed"
