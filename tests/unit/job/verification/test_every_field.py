"""Every field of a real artifact, edited by somebody who writes a fitting checksum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from retrieverbench.model import Artifact
from retrieverbench.run import Suite

Accept = Callable[[Any], Artifact | tuple[str, ...]]
Steps = tuple[str | int, ...]
BY_THE_COMMAND = {"schema", "suite", "suite_file", "sha256"}
"""Judged before: the reader refuses another schema and checksum, the command another suite."""
UNVERIFIABLE = {
    "run_id", "suite_sha256", "command.compose", "targets.*.fidelity",
    *(f"harness.{name}" for name in ("python", "retrieverbench", "anyio", "numpy")),
    *(f"machine.{name}" for name in ("processor", "cores", "memory_mib")),
    *(f"machine.{name}" for name in ("system", "kernel", "architecture")),
    "targets.*.backend.distribution", "targets.*.backend.distribution_version",
    "targets.*.backend.server", "targets.*.backend.server_version",
    "targets.*.backend.client", "targets.*.backend.client_version",
    "targets.*.backend.settings", "targets.*.backend.settings.*",
    "targets.*.backend.properties", "targets.*.backend.properties.*",
    "targets.*.backend.unchecked", "targets.*.backend.weaknesses",
    "targets.*.backend.differs", "targets.*.backend.slow",
    "targets.*.plan", "targets.*.plan.lines", "targets.*.plan.lines.*",
    "targets.*.plan.vector_index", "targets.*.plan.caveat", "targets.*.plan.filtered",
    "targets.*.results.*.hits.*.*",
    "targets.*.timings.server_ms_p50", "targets.*.timings.per_round.*.drift",
    "targets.*.notes", "targets.*.remedy",
}  # fmt: skip
"""Where and by what it was run, what the backend says of itself, scores of hits whose order
stays: nothing that is kept can tell. README lists them for the user."""
BOUNDED = {
    "started",
    "targets.*.load_seconds", "targets.*.settle_seconds",
    *(f"targets.*.timings.service.{name}.{part}"
      for name in ("p50", "p95", "max") for part in ("value", "low", "high")),
    *(f"targets.*.timings.per_round.*.{name}" for name in ("p50", "p95")),
    *(f"targets.*.timings.signals.*.{name}" for name in ("value", "reason")),
    "targets.*.timings.client_cpu_us", "targets.*.timings.run_queue_wait",
    "targets.*.timings.warmup_requests", "targets.*.timings.void",
    "targets.*.leaks.hits", "targets.*.leaks.control_foreign",
}  # fmt: skip
"""Measured, and held only within what stands beside it: some other values are refused."""
OTHER_WORDS = {
    "engine": ("server", "stand-in"), "before": ("during", "after", "never"),
    "dense": ("lexical", "hybrid"), "filter": ("partition", "index", "rls"),
    "ok": ("missing", "error"), "clean": ("inconclusive", "not applicable"),
    "failed": ("absent",), "refused": ("pass", "fail", "not measured"), "pass": ("fail",),
    "not measured": ("pass",),
}  # fmt: skip
"""Of the words of closed lists, the others."""
KEYED = {"means", "cases", "counters", "settings"}
"""Fields whose keys are names of metrics, counters, cases or settings."""


def fields(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every field with its path, those of records within records after their own."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from fields(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from fields(inner, (*path, number))


def kind_of(path: Steps) -> str:
    """The path with a star for a place in a list, or a name that is data."""
    words = [
        "*"
        if isinstance(step, int)
        or (number and path[number - 1] in KEYED)
        or (number > 1 and path[number - 2] == "cases")
        else step
        for number, step in enumerate(path)
    ]
    return ".".join(words)


def edits(value: Any) -> Iterator[Any]:
    """Other values of the same type; where there is none, some that a field may allow."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, -value - 1)
        case float():
            yield from (value * 1.00001, value * 0.99999, -value - 1)
        case str():
            yield from OTHER_WORDS.get(value, ())
            yield from (f"{value}x", f"{value[:-1]}{int(value[-1:] != '1')}")
        case list():
            yield from (["x"], [*value, *value[-1:]], value[1:])
        case dict():
            yield from ({}, {**value, "x": next(iter(value.values()), 1)}, None)
        case None:
            yield from ("x", 1, 0.5, True)


def edited(raw: Any, path: Steps, value: Any) -> Any:
    """A copy with another value at the path."""
    if not path:
        return value
    copy = raw.copy()
    copy[path[0]] = edited(raw[path[0]], path[1:], value)
    return copy


def accepted(accept: Accept, raw: Any) -> Artifact | None:
    """The artifact, if it can be read and a baseline would be made of it."""
    try:
        found = accept(raw)
    except ValidationError:
        return None
    return found if isinstance(found, Artifact) else None


def test_every_field_is_verified_or_named_here(made: tuple[Suite, Any], accept: Accept) -> None:
    """A new field makes this fail until it is decided what can be told of it."""
    _suite, raw = made
    honest = accepted(accept, raw)
    assert honest is not None
    seen: set[tuple[str, str]] = set()
    taken: dict[str, str] = {}
    refused: set[str] = set()
    for path, value in fields(raw):
        kind = kind_of(path)
        if path[0] in BY_THE_COMMAND or (kind, f"{type(value)}") in seen:
            continue
        seen.add((kind, f"{type(value)}"))
        for edit in edits(value):
            found = accepted(accept, edited(raw, path, edit))
            if found is None:
                refused.add(kind)
            elif found != honest:
                taken[kind] = f"{path}: {value!r:.60} -> {edit!r:.60}"
    undecided = taken.keys() - UNVERIFIABLE - BOUNDED
    assert not undecided, [taken[kind] for kind in undecided]
    assert taken.keys() >= UNVERIFIABLE, "these are verified now: take them out of the list"
    assert refused >= BOUNDED & taken.keys()
