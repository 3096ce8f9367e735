"""What answered, whether it was what one means to measure, and how it filtered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from retrieverbench.adapter import NOBODY
from retrieverbench.errors import plural
from retrieverbench.model import Artifact, BackendRecord, Plan, TargetResult
from retrieverbench.report.cells import DASH
from retrieverbench.report.table import Table

NOT_TOLD = "not told"
NOT_ASKED = "not asked"
APPROXIMATE = frozenset({"hnsw", "ivfflat"})
_EXPLAINED = {
    "run": "one measured query",
    "audit": "one query that was judged, beside the largest crowd of foreign chunks if any",
}
_BEFORE, _DURING, _AFTER = (f"{time} the search" for time in ("before", "during", "after"))
_PER_TENANT, _WHAT = " per tenant: ", frozenset({"rows", "chunks"})
"""How an adapter begins to say, among what could not be read, why it counted no chunks."""
_NEVER = "never"
_TIMES = {
    _BEFORE: "only chunks that meet it are compared",
    _DURING: "others are passed over, and the search goes on until enough are found",
    _AFTER: "others are taken from what was found, so that own may be missing",
    _NEVER: "the plan holds no condition on the tenant: nothing in it keeps others' chunks out",
}
MAX_SETTING = 60
"""Characters of one setting in a report; the artifact holds it whole."""


def validity(artifact: Artifact) -> Table:
    """One row per target that was reached; below it the settings as the servers tell them."""
    rows = tuple(
        (
            result.target.label,
            result.fidelity or DASH,
            f"{backend.server} {backend.server_version}",
            "; ".join(part for part in (_counted(backend), backend.differs) if part),
            *plan_cells(result.plan, NOT_TOLD if artifact.complete else NOT_ASKED),
            _weakened(result, backend),
        )
        for result in artifact.targets
        if (backend := result.backend) is not None
    )
    columns = (
        "target",
        "fidelity",
        "server",
        "chunks stored",
        "vector index",
        "tenant condition applied",
        "what weakens isolation or figures",
    )
    note = (
        "As the servers tell it, not as they were asked. Index and time of the tenant condition "
        f"come from the backend's own plan of {_EXPLAINED[artifact.kind]}; '{NOT_TOLD}' where it "
        "has none."
    )
    notes = (note, *_stand_ins(artifact), *_times(rows), *_unused(artifact), *_caveats(artifact))
    return Table("Validity", columns, rows, notes, appendix=tuple(_settings(artifact)))


def slowness(artifact: Artifact) -> Table:
    """What a target could do without; nothing of it weakens the isolation. None in an audit."""
    rows = tuple(
        (result.target.label, "; ".join(backend.slow))
        for result in artifact.targets
        if (backend := result.backend) is not None and backend.slow and artifact.kind == "run"
    )
    return Table("What makes questions slow", ("target", "what, and what to do"), rows)


def stored(chunks: Mapping[str, int]) -> str:
    """Rows per tenant by the backend's own count, as a range."""
    counts = [count for tenant, count in chunks.items() if count and tenant != NOBODY]
    if not counts:
        return NOT_TOLD
    least, most = min(counts), max(counts)
    each = str(least) if least == most else f"{least} to {most}"
    stored = sum(counts) + chunks.get(NOBODY, 0)
    return f"{stored}: {plural(len(counts), 'tenant')} with {each}"


def _counted(backend: BackendRecord) -> str:
    """The chunks of tenants; where the server does not tell them, why the adapter could not ask."""
    shown = stored(backend.chunks)
    pairs = (line.partition(_PER_TENANT) for line in backend.unchecked)
    reasons = [reason for what, _, reason in pairs if what in _WHAT]
    return f"{shown}: {reasons[0]}" if shown == NOT_TOLD and reasons else shown


def plan_cells(plan: Plan | None, absent: str = NOT_TOLD) -> tuple[str, str]:
    """The vector index and the time of the condition, `absent` where there is no plan."""
    if plan is None:
        return absent, absent
    index = NOT_TOLD if plan.vector_index is None else plan.vector_index or "none: exact"
    if plan.filtered == _NEVER:
        return index, _NEVER
    return index, f"{plan.filtered} the search" if plan.filtered else NOT_TOLD


def known_weaknesses(result: TargetResult) -> tuple[str, ...]:
    """What the adapter knows to weaken the isolation or the figures of this target."""
    told = result.backend.weaknesses if result.backend else ()
    return tuple(each for each in told if each != NOT_TOLD)


def _weakened(result: TargetResult, backend: BackendRecord) -> str:
    """What the adapter tells, and what follows from the properties that it declares."""
    told = list(backend.weaknesses)
    if "shared_idf" in backend.properties and result.target.mode != "dense":
        told.append("lexical scores depend on other tenants' chunks (shared_idf)")
    return "; ".join(told) or "nothing known"


def _stand_ins(artifact: Artifact) -> Iterator[str]:
    """What the fidelity of such a target means."""
    labels = [result.target.label for result in artifact.targets if result.fidelity == "stand-in"]
    if labels:
        yield (
            f"stand-in ({', '.join(labels)}): latency and absolute scores say nothing about the "
            "service; ask the service itself before you decide by them."
        )


def _times(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """What the times of the condition mean, of those that are shown."""
    shown = {cell for row in rows for cell in row}
    if told := [f"{time}: {meaning}" for time, meaning in _TIMES.items() if time in shown]:
        yield f"{'; '.join(told)}.".capitalize()


def unused_index(result: TargetResult) -> str:
    """The kind of the approximate index that the plan of a search did without; "" for none."""
    backend, plan = result.backend, result.plan
    kind = str(backend.settings.get("index", "")) if backend else ""
    if plan is None or plan.vector_index != "" or kind not in APPROXIMATE:
        return ""
    is_dense = result.target.mode != "lexical"
    return kind if is_dense and backend and "approximate" in backend.properties else ""


def _unused(artifact: Artifact) -> Iterator[str]:
    unused: dict[str, list[str]] = {}
    for result in artifact.targets:
        if kind := unused_index(result):
            unused.setdefault(kind, []).append(result.target.label)
    for kind, labels in unused.items():
        yield (
            f"An approximate index is set up ({kind}) and the plan of the question that was "
            "explained did not use it (a search setting can be the reason, such as a search so "
            f"wide that comparing all costs less): {', '.join(labels)}."
        )


def _caveats(artifact: Artifact) -> Iterator[str]:
    """How plans may differ from what was measured, each caveat once."""
    labels: dict[str, list[str]] = {}
    for result in artifact.targets:
        if result.plan is not None and result.plan.caveat:
            labels.setdefault(result.plan.caveat, []).append(result.target.label)
    for caveat, named in labels.items():
        yield f"Plan of {', '.join(named)}: {caveat}."


def _settings(artifact: Artifact) -> Iterator[str]:
    """A line per place, by the first of its modes that was measured."""
    told: dict[str, BackendRecord] = {}
    for result in artifact.targets:
        if result.backend is not None:
            told.setdefault(f"{result.target.name}/{result.target.layout}", result.backend)
    for name, backend in told.items():
        yield f"{name}: {_listed(backend)}"


def _listed(backend: BackendRecord) -> str:
    told = [f"{key} {_short(value)}" for key, value in sorted(backend.settings.items())]
    unread = [f"could not be read: {'; '.join(backend.unchecked)}"] if backend.unchecked else []
    return "; ".join([", ".join(told) or "no settings told", *unread])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SETTING else f"{text[: MAX_SETTING - 1]}…"
