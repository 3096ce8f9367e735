"""A place of our own in a backend: opened, loaded, counted and described."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import (
    OWN_PREFIX,
    Adapter,
    Description,
    Explains,
    Settings,
    Writable,
)
from retrieverbench.errors import AdapterError, BackendError, Code
from retrieverbench.model import Chunk, Fidelity, Plan, Query
from retrieverbench.remote import hide_secrets
from retrieverbench.run.attach import make_keys
from retrieverbench.run.connect import Connection
from retrieverbench.run.description import checked_description, checked_plan
from retrieverbench.run.guard import Step
from retrieverbench.run.registry import LoadedAdapter
from retrieverbench.run.suite import TargetEntry
from retrieverbench.run.text import hidden_values

PUT_BATCH = 500
CLOSE_SECONDS = 20.0
STEP_TIMEOUTS = 10
"""A step (open, describe, one batch) is given up after so many times the search timeout."""
SETTLE_TIMEOUTS = 120
"""The same for `settle`, which may have to build an index."""
_WEAKNESS: Mapping[Fidelity, int] = {"server": 0, "engine": 1, "stand-in": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """An opened and loaded place. Times are in seconds, None where nothing was loaded.

    `timeout` is the suite's, per search. `note` is what its reader should know, "" if nothing.
    `keys` translates the ids of an attached index to uids; None where hits carry uids.
    """

    entry: TargetEntry
    loaded: LoadedAdapter
    adapter: Adapter
    connection: Connection
    description: Description
    fidelity: Fidelity
    timeout: float
    keys: Mapping[str, str] | None = None
    load_seconds: float | None = None
    settle_seconds: float | None = None
    note: str = ""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Credentials that no text may show."""
        return hidden_values(self.connection.secrets)

    async def describe(self) -> Description:
        """What is there now; BackendError and AdapterError as when it was opened."""
        return await _describe(self.adapter, self._step("describe", STEP_TIMEOUTS))

    async def explain(self, query: Query) -> Plan:
        """The backend's plan of one query. Raises BackendError, AdapterError for the rest."""
        step = self._step("explain", STEP_TIMEOUTS)
        if not isinstance(self.adapter, Explains):
            raise AdapterError(f"adapter {step.adapter!r} claims 'explain' and lacks it")
        found = await step.call(partial(self.adapter.explain, query))
        return checked_plan(found, step.adapter, step.hidden)

    async def add(self, chunks: Sequence[Chunk], private: Sequence[str] = ()) -> None:
        """Put more chunks and wait until they are searchable.

        `private` are words of the chunks that no error text may repeat. Raises
        BackendError, and AdapterError for whatever else the adapter raises.
        """
        await _put(
            self.adapter,
            chunks,
            self._step("put", STEP_TIMEOUTS, private),
            self._step("settle", SETTLE_TIMEOUTS, private),
            lambda _done: None,
        )

    def _step(self, word: str, times: int, private: Sequence[str] = ()) -> Step:
        hidden = (*self.hidden, *private)
        return Step(self.loaded.name, word, times * self.timeout, hidden)


def place_name(run_id: str, entry: TargetEntry, arm: str = "") -> str:
    """A name that no other run and no other entry uses, in letters every backend allows.

    A name that had to be changed or cut gets a hash of the original.
    """
    words = "".join(c if c.isascii() and c.isalnum() else "_" for c in entry.name.lower())
    if words != entry.name or len(words) > 24:
        words = f"{words[:17]}_{hashlib.sha256(entry.name.encode()).hexdigest()[:6]}"
    return f"{OWN_PREFIX}{run_id}_{words}_{entry.layout}{arm}"


@dataclass(frozen=True, slots=True)
class Opened:
    """An adapter that is connected and has an empty place, or is bound to the user's own."""

    entry: TargetEntry
    loaded: LoadedAdapter
    adapter: Adapter
    connection: Connection
    settings: Settings

    def step(self, word: str, times: int) -> Step:
        """A guarded call that may take so many times the search timeout."""
        hidden = hidden_values(self.settings.secrets)
        return Step(self.loaded.name, word, times * self.settings.timeout, hidden)


@asynccontextmanager
async def open_adapter(
    entry: TargetEntry, loaded: LoadedAdapter, connection: Connection, settings: Settings
) -> AsyncIterator[Opened]:
    """Open an adapter; close it on the way out.

    Raises BackendError when the backend fails or does not end a step, and InputError for
    options that the adapter refuses. Whatever else an adapter raises becomes an
    AdapterError. A failure to close is raised, or told beside what went wrong before.
    """
    hidden = hidden_values(settings.secrets)
    step = Step(loaded.name, "open", STEP_TIMEOUTS * settings.timeout, hidden)
    adapter = await step.call(lambda: loaded.cls.open(settings))
    try:
        yield Opened(entry, loaded, adapter, connection, settings)
    except BaseException as error:
        try:
            await _close(adapter, loaded.name, hidden)
        except BackendError as second:
            if isinstance(error, BackendError):
                error.args = (f"{error}; and afterwards: {second}",)
        raise
    await _close(adapter, loaded.name, hidden)


async def load_place(
    opened: Opened, chunks: Sequence[Chunk], on_put: Callable[[int], None] = lambda _done: None
) -> Place:
    """Load, wait until searchable, count, describe; what cannot be loaded is only described.

    Raises AdapterError when the counts per tenant differ from what was sent, InputError for
    an attached index whose ids cannot be told apart, and otherwise as `open_adapter` does.
    """
    seconds = None
    if is_loaded(opened.entry, opened.loaded):
        put, settle = opened.step("put", STEP_TIMEOUTS), opened.step("settle", SETTLE_TIMEOUTS)
        seconds = await _put(opened.adapter, chunks, put, settle, on_put)
    description = await _describe(opened.adapter, opened.step("describe", STEP_TIMEOUTS))
    hidden = hidden_values(opened.settings.secrets)
    differing = hide_secrets(count_differences(description, chunks), hidden)
    if seconds is None and not description.chunks:
        differing = ""
    if opened.entry.attach is not None:
        _check_covered(description, chunks)
    if seconds is not None and differing:
        raise AdapterError(f"after loading, counts differ: {differing}")
    return Place(
        opened.entry,
        opened.loaded,
        opened.adapter,
        opened.connection,
        description,
        _fidelity(opened.connection, description),
        opened.settings.timeout,
        keys=keys_of(opened.entry, chunks),
        load_seconds=seconds[0] if seconds else None,
        settle_seconds=seconds[1] if seconds else None,
        note=f"its counts differ from the corpus: {differing}" if differing else "",
    )


def is_loaded(entry: TargetEntry, loaded: LoadedAdapter) -> bool:
    """Whether the harness loads it: the adapter can, and it is no index of the user's."""
    return "put" in loaded.cls.capabilities and entry.attach is None


def keys_of(entry: TargetEntry, chunks: Sequence[Chunk]) -> dict[str, str] | None:
    """`make_keys` of an entry; None where hits carry uids."""
    if entry.attach is None:
        return None
    return make_keys(entry.attach, chunks, f"target {entry.name!r}: attach")


def _check_covered(description: Description, chunks: Sequence[Chunk]) -> None:
    """Who owns a chunk that no record holds nobody can say, nor whether showing it is a leak."""
    known = Counter(chunk.tenant.value for chunk in chunks)
    more = [
        f"{tenant!r} has {count} chunks in the index and {known[tenant]} in the corpus"
        for tenant, count in sorted(description.chunks.items())
        if count > known[tenant]
    ]
    if more:
        raise AdapterError(
            f"the corpus does not cover the index: {'; '.join(more[:3])}"
            f"{f'; and {len(more) - 3} tenants more' if len(more) > 3 else ''}; "
            "export every chunk of the index, with its owner, as the corpus",
            code=Code.WRONG_COUNT,
        )


@asynccontextmanager
async def open_place(
    entry: TargetEntry,
    loaded: LoadedAdapter,
    connection: Connection,
    settings: Settings,
    chunks: Sequence[Chunk],
    on_put: Callable[[int], None] = lambda _done: None,
) -> AsyncIterator[Place]:
    """`open_adapter` and `load_place` in one."""
    async with open_adapter(entry, loaded, connection, settings) as opened:
        yield await load_place(opened, chunks, on_put)


async def _close(adapter: Adapter, name: str, hidden: tuple[str, ...]) -> None:
    """Shielded: what a run made is removed even when the run is cancelled."""
    with anyio.CancelScope(shield=True):
        await Step(name, "close", CLOSE_SECONDS, hidden).call(adapter.close)


async def _put(
    adapter: Adapter,
    chunks: Sequence[Chunk],
    put: Step,
    settle: Step,
    on_put: Callable[[int], None],
) -> tuple[float, float]:
    """Send everything and wait; seconds to send and seconds until searchable."""
    if not isinstance(adapter, Writable):
        raise AdapterError(f"adapter {put.adapter!r} claims 'put' and lacks put or settle")
    start = perf_counter_ns()
    for first in range(0, len(chunks), PUT_BATCH):
        batch = [_copy(chunk) for chunk in chunks[first : first + PUT_BATCH]]
        await put.call(partial(adapter.put, batch))
        on_put(first + len(batch))
    sent = perf_counter_ns()
    await settle.call(adapter.settle)
    return (sent - start) / 1e9, (perf_counter_ns() - sent) / 1e9


def _copy(chunk: Chunk) -> Chunk:
    """An adapter that overwrites what it is given spoils no other target's chunks."""
    vector = None if chunk.vector is None else chunk.vector[:]
    return replace(chunk, vector=vector, metadata=dict(chunk.metadata))


async def _describe(adapter: Adapter, step: Step) -> Description:
    """A checked copy of the description, without hidden values."""
    found = await step.call(adapter.describe)
    return checked_description(found, step.adapter, step.hidden)


def count_differences(description: Description, chunks: Sequence[Chunk]) -> str:
    """Where the backend's count per tenant differs from the chunks; "" if it does not.

    An adapter that is not loaded may leave its counts out; one that is may not.
    """
    sent = Counter(chunk.tenant.value for chunk in chunks)
    stored = {tenant: count for tenant, count in description.chunks.items() if count}
    lines = [
        f"{tenant!r} {sent.get(tenant, 0)} sent, {stored.get(tenant, 0)} counted"
        for tenant in sorted(sent.keys() | stored.keys())
        if sent.get(tenant, 0) != stored.get(tenant, 0)
    ]
    more = f"; and {len(lines) - 5} tenants more" if len(lines) > 5 else ""
    return f"{'; '.join(lines[:5])}{more}"


def _fidelity(connection: Connection, description: Description) -> Fidelity:
    """The weakest of what the launcher and the backend say; a foreign address is a server."""
    told = [f for f in (connection.fidelity, description.fidelity) if f is not None]
    if told:
        return max(told, key=_WEAKNESS.__getitem__)
    return "server" if connection.endpoint else "engine"
