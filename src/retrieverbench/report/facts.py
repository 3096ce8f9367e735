"""What probes measured, beside their outcomes: crowds, orders of writing, filter modes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from retrieverbench.leaks import ORDERS
from retrieverbench.model import Artifact, FilterMode, ProbeResult, TargetResult
from retrieverbench.report.cells import DASH, figure
from retrieverbench.report.table import Table
from retrieverbench.report.validity import known_weaknesses, plan_cells, unused_index

Facts = Mapping[str, int | float | str]
_CROWD, _OWN = "crowd ", "own "
_TARGETS_OWN = "of the target"
_BESIDE_CROWDS = frozenset({"P07", "P08", "P09", "P10", "P34"})
"""What asks in the place whose plan is told."""
_RULED = "rls"
"""The layout whose isolation is a rule of the server."""
_SHARE = (
    "The share of the exact answer that came back, by the number of foreign chunks that answer "
    "the question better. It breaks at the first crowd that hides own chunks. Only the filter "
    f"mode '{_TARGETS_OWN}' is judged; of others what is foreign alone, which is a leak."
)
_ORDERS = (
    "The share of the exact answer by when the tenant's chunks were written, seen from the "
    "others'; and how many chunks one connection found before and after it had answered a large "
    "tenant 25 times."
)
_MODES = (
    "Each way to filter that the adapter names: what sets it, and the backend's plan beside the "
    "largest crowd. The share found is that of a tenant's ten best chunks there, written among "
    "the others' ('own written shuffled' above, and what P10 judges of the target's own mode). "
    "Short are the answers with fewer chunks than they should have, of one question beside each "
    "crowd and one for each order of writing. The target's own mode alone is judged; of the "
    "others what is foreign alone, which is a leak. In hybrid mode words may find what the "
    "vectors' leg misses. An approximate index is built anew for each mode and differs each "
    "time, also under the same --seed: small differences between rows may be those of the build."
)


def fact_tables(artifact: Artifact) -> Iterator[Table]:
    """Empty tables where nothing of the kind was measured."""
    crowds = tuple(_found(artifact, "P08"))
    sizes = _sizes(facts for *_name, facts in crowds)
    rows = tuple(
        (*name, *(_share(facts, f"{_CROWD}{size}") for size in sizes), _break(facts))
        for *name, facts in crowds
    )
    columns = ("target", "arm", "filter mode", *sizes, "breaks at")
    yield Table("Crowds of foreign chunks", columns, rows, (_SHARE, *_exact(artifact)))
    rows = tuple(
        (*name, *(_share(facts, f"{_OWN}{order}") for order in ORDERS), _again(facts))
        for *name, facts in _found(artifact, "P09")
    )
    titles = (f"own written {order}" for order in ORDERS)
    columns = ("target", "arm", "filter mode", *titles, "found before, after")
    yield Table("A tenant of 0.1 %", columns, rows, (_ORDERS,))
    columns = (
        "target",
        "filter mode",
        "set by",
        "vector index",
        "tenant condition applied",
        "share found beside the largest crowd",
        "short answers, all crowds and orders",
    )
    yield Table("Filter modes", columns, tuple(_modes(artifact)), (_MODES,))


def exact_probes(result: TargetResult) -> tuple[tuple[ProbeResult, ...], str]:
    """Those that judged exact search though an approximate index is there, and a line on it."""
    kind = unused_index(result)
    probes = tuple(
        probe
        for probe in result.probes
        if kind and probe.probe in _BESIDE_CROWDS and probe.outcome in {"pass", "fail"}
    )
    caveat = result.plan.caveat if result.plan else ""
    source = f"the plan ({caveat})" if caveat else "the backend's own plan"
    return probes, (
        f"starvation by the approximate index ({kind}): by {source} the searches "
        "judged were exact, and likely those of P37 and P42, among fewer chunks, too; "
        f"{_remedy(result)}"
    )


def remarks(artifact: Artifact) -> Iterator[str]:
    """What a verdict does not cover and a reader of its first lines would think that it does."""
    labels = [result.target.label for result in artifact.targets if exact_probes(result)[0]]
    if labels:
        yield f"searches of {', '.join(labels)} were exact: the approximate index was not judged"
    yield from _known(artifact)


def _known(artifact: Artifact) -> Iterator[str]:
    """What is known to weaken a target, and the probe that would have judged it, if left out."""
    reasons = artifact.verdict.reasons if artifact.verdict else ()
    labels: dict[tuple[str, str], list[str]] = {}
    for result in artifact.targets:
        for weakness in known_weaknesses(result):
            if not any(weakness in reason for reason in reasons):
                key = (weakness, _left_to_judge(artifact, result))
                labels.setdefault(key, []).append(result.target.label)
    for (weakness, judge), named in labels.items():
        yield f"known of {', '.join(named)}{judge}: {weakness}"


def _left_to_judge(artifact: Artifact, result: TargetResult) -> str:
    """That no probe judged whether the server's own rule binds the role; "" if one did."""
    place = (result.target.name, _RULED)
    judged = {
        (other.target.name, other.target.layout)
        for other in artifact.targets
        for probe in other.probes
        if probe.probe == "P43" and probe.outcome in {"pass", "fail"}
    }
    if result.target.layout != _RULED or place in judged:
        return ""
    return " and not judged (`retrieverbench leaks SUITE.toml --probe P43` judges it)"


def _remedy(result: TargetResult) -> str:
    """How to have the approximate index judged."""
    asked = [probe for probe in result.probes if probe.probe == "P10" and probe.filter_modes]
    using = [
        mode
        for probe in asked
        for mode in probe.filter_modes
        if mode.name and mode.plan and mode.plan.vector_index
    ]
    if using:
        first, *others = [_settings(mode) for mode in using]
        shared = [each for each in first if all(each in other for other in others)]
        return (
            f"what it hides is told, not judged, under {', '.join(repr(m.name) for m in using)}; "
            f"set {', '.join(shared) or 'what sets one of these'} in the target to have it judged"
        )
    if asked:
        return "no filter mode that the adapter names makes the backend use it here"
    return "P10 tries it where the adapter names a filter mode that uses it"


def _exact(artifact: Artifact) -> Iterator[str]:
    told: dict[str, list[str]] = {}
    for result in artifact.targets:
        probes, line = exact_probes(result)
        if probes:
            told.setdefault(line, []).append(result.target.label)
    for line, labels in told.items():
        yield f"Not judged of {', '.join(labels)}: {line}."


def _found(artifact: Artifact, number: str) -> Iterator[tuple[str, str, str, Facts]]:
    """Target, arm, filter mode and what was measured; other modes' facts are those of P10."""
    for result in artifact.targets:
        for probe in result.probes:
            if probe.probe == number and probe.facts:
                facts = {**_of(result, "P34", probe.arm), **probe.facts}
                yield result.target.label, probe.arm, _TARGETS_OWN, facts
        for probe in result.probes:
            for mode in probe.filter_modes:
                if mode.name and mode.facts:
                    yield result.target.label, probe.arm, mode.name, mode.facts


def _of(result: TargetResult, number: str, arm: str) -> Facts:
    found = (p.facts for p in result.probes if (p.probe, p.arm) == (number, arm))
    return next(found, {})


def _sizes(found: Iterator[Facts]) -> Sequence[str]:
    names = {name.removeprefix(_CROWD) for facts in found for name in facts if _CROWD in name}
    return sorted(names, key=int)


def _share(facts: Facts, name: str) -> str:
    value = facts.get(name)
    return figure(value, 2, trim=True) if isinstance(value, int | float) else DASH


def _break(facts: Facts) -> str:
    return str(facts.get("breaks at", "never"))


def _again(facts: Facts) -> str:
    if "own after" not in facts:
        return DASH
    return f"{facts['own before']}, {facts['own after']}"


def _modes(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    for result in artifact.targets:
        for probe in result.probes:
            for mode in probe.filter_modes:
                name, share = mode.name or _TARGETS_OWN, _share(mode.facts, "own shuffled")
                shown = share if mode.facts else f"not measured: {mode.note}"
                short = str(mode.facts.get("short answers", DASH))
                yield (
                    result.target.label,
                    name,
                    ", ".join(_settings(mode)) or DASH,
                    *plan_cells(mode.plan),
                    shown,
                    short,
                )


def _settings(mode: FilterMode) -> list[str]:
    """The options that set it, as a suite writes them."""
    return [
        f"{group}.{key} = {json.dumps(value)}"
        for group, values in mode.options.items()
        for key, value in values.items()
    ]
