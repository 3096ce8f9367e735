"""What probes measured, beside their outcomes: crowds, orders of writing, filter modes."""

from __future__ import annotations

from collections.abc import Iterator

from retrieverbench.model import Artifact, ProbeResult, TargetResult
from retrieverbench.report.cells import DASH, figure
from retrieverbench.report.table import Table

_CROWD, _OWN, _MODE = "crowd ", "own ", "mode "
_SHARE = (
    "The share of the exact answer that came back, by the number of foreign chunks that answer "
    "the question better. It breaks at the first crowd that hides own chunks."
)

_MODES = (
    "The share of a small tenant's exact answer: in the target's own mode among 10,000 chunks, "
    "in the other modes of its backend among 2,000."
)


def fact_tables(artifact: Artifact) -> Iterator[Table]:
    """Empty tables where nothing of the kind was measured."""
    crowds = tuple(_found(artifact, "P08"))
    sizes = _columns(crowds, _CROWD)
    rows = tuple((*_name(r, p), *_cells(p, _CROWD, sizes), _break(p)) for r, p in crowds)
    yield Table("Crowds of foreign chunks", ("target", "arm", *sizes, "breaks at"), rows, (_SHARE,))
    tenths = tuple(_found(artifact, "P09"))
    orders = _columns(tenths, _OWN)
    rows = tuple((*_name(r, p), *_cells(p, _OWN, orders)) for r, p in tenths)
    titles = (f"own written {order}" for order in orders)
    yield Table("A tenant of 0.1 %", ("target", "arm", *titles), rows)
    columns = ("target", "filter mode", "share found")
    yield Table("Filter modes", columns, tuple(_modes(artifact)), (_MODES,))


def _found(artifact: Artifact, probe: str) -> Iterator[tuple[TargetResult, ProbeResult]]:
    for result in artifact.targets:
        for found in result.probes:
            if found.probe == probe and found.facts:
                yield result, found


def _columns(found: tuple[tuple[TargetResult, ProbeResult], ...], prefix: str) -> list[str]:
    names = (name for _result, probe in found for name in probe.facts if name.startswith(prefix))
    return list(dict.fromkeys(name.removeprefix(prefix) for name in names))


def _cells(probe: ProbeResult, prefix: str, columns: list[str]) -> Iterator[str]:
    for column in columns:
        value = probe.facts.get(f"{prefix}{column}")
        yield figure(value, 2, trim=True) if isinstance(value, int | float) else DASH


def _break(probe: ProbeResult) -> str:
    return str(probe.facts.get("breaks at", "never"))


def _name(result: TargetResult, probe: ProbeResult) -> tuple[str, str]:
    return result.target.label, probe.arm


def _modes(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    for result, probe in _found(artifact, "P10"):
        for name, value in probe.facts.items():
            shown = value if isinstance(value, str) else figure(value, 2, trim=True)
            yield result.target.label, name.removeprefix(_MODE), shown
