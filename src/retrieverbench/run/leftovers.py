"""What runs that were killed left at servers: told by the next run, removed by a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import anyio.to_thread

from retrieverbench.adapter import Removes, Settings
from retrieverbench.errors import BackendError, InputError, RetrieverBenchError
from retrieverbench.model import Layout
from retrieverbench.run.connect import Engines, connect
from retrieverbench.run.endpoint import server_of
from retrieverbench.run.exclusive import Begun, left_places, only_run_at
from retrieverbench.run.guard import Step
from retrieverbench.run.registry import load_adapter
from retrieverbench.run.suite import Suite, TargetEntry
from retrieverbench.run.text import hidden_values, one_line

MOST_NAMED = 3
REMOVE_TIMEOUTS = 10
"""A removal is given up after so many times the search timeout."""
State = Literal["left", "can go on", "removed", "not removed"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A place that was left, what became of it, and why or what to do, "" if nothing."""

    begun: Begun
    state: State
    why: str = ""


def left_line(left: Sequence[Begun]) -> str:
    """What the next run at a server says of the places that are left there; "" if none."""
    if not left:
        return ""
    named = ", ".join(f"{one.place!r} (begun on {one.since})" for one in left[:MOST_NAMED])
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return (
        f"left by an earlier run at {left[0].server}: {named}{more}; "
        "'retrieverbench leftovers SUITE' shows what is left, and with --remove removes it"
    )


def all_left() -> Iterator[Leftover]:
    """Everything that runs of this user on this machine left, at whatever server."""
    for begun in left_places():
        yield Leftover(begun, "can go on" if begun.resumes else "left")


async def left_at(
    suite: Suite, environ: Mapping[str, str], *, remove: bool, named: frozenset[str]
) -> tuple[list[Leftover], list[str]]:
    """What is left at the servers of a suite's targets, removed if `remove`; and what failed.

    Without `named` places those that a run can go on with stay; with them nothing else goes.
    A server that fails keeps its places, and the reason is told. Raises InputError for a name
    of which nothing is left at these servers.
    """
    found: dict[Begun, Leftover] = {}
    faults: list[str] = []
    for entry in suite.targets:
        try:
            server = await _server_of(entry, environ)
        except BackendError as error:
            faults.append(f"{entry.name}: {error}")
            continue
        for begun in left_places():
            state: State = "can go on" if begun.resumes else "left"
            if begun.server != server or begun.adapter != entry.adapter or begun in found:
                continue
            found[begun] = Leftover(begun, state)
            if remove and (begun.place in named if named else not begun.resumes):
                found[begun] = await _removed(suite, entry, environ, begun)
    unknown = sorted(named - {begun.place for begun in found}) if not faults else []
    if unknown:
        raise InputError(
            *(f"--place: no {name!r:.80} is left at the servers of this suite" for name in unknown)
        )
    faults += [
        f"{each.begun.place}: {each.why}" for each in found.values() if each.state == "not removed"
    ]
    return list(found.values()), faults


async def _server_of(entry: TargetEntry, environ: Mapping[str, str]) -> str | None:
    """Which server a target names, None for none; NotConfigured where it cannot be told."""
    if entry.attach is not None or not (entry.endpoint or entry.endpoint_env):
        return None
    connection = await connect(entry, environ, Engines())
    return await anyio.to_thread.run_sync(server_of, connection.endpoint)


async def _removed(
    suite: Suite, entry: TargetEntry, environ: Mapping[str, str], begun: Begun
) -> Leftover:
    """Removed under its lock, so that no run that begins meanwhile loses it."""
    try:
        loaded = load_adapter(entry.adapter, suite.path.parent)
        if "remove" not in loaded.cls.capabilities:
            why = f"adapter {entry.adapter!r} cannot remove it: remove it at the server"
            return Leftover(begun, "not removed", why)
        cls = cast("type[Removes]", loaded.cls)
        connection = await connect(entry, environ, Engines())
        settings = Settings(
            endpoint=connection.endpoint,
            place=begun.place,
            modes=frozenset(),
            layout=_layout(begun),
            timeout=suite.timeout,
            options=entry.options,
            secrets=connection.secrets,
            resume=begun.resumes,
        )
        hidden = hidden_values(connection.secrets)
        step = Step(loaded.name, "remove", REMOVE_TIMEOUTS * suite.timeout, hidden)
        with only_run_at(begun) as held:
            await step.call(lambda: cls.remove(settings))
            held.removed = True
    except RetrieverBenchError as error:
        return Leftover(begun, "not removed", one_line(error))
    return Leftover(begun, "removed")


def _layout(begun: Begun) -> Layout:
    layouts: tuple[Layout, ...] = get_args(Layout)
    return next(layout for layout in layouts if layout == begun.layout)
