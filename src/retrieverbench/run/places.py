"""A place of our own in a backend: opened, loaded, counted and described."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import OWN_PREFIX, Adapter, Description, Settings, Writable
from retrieverbench.errors import AdapterError, RetrieverBenchError
from retrieverbench.model import Chunk, Fidelity
from retrieverbench.run.connect import Connection
from retrieverbench.run.registry import LoadedAdapter
from retrieverbench.run.suite import TargetEntry

PUT_BATCH = 500
CLOSE_SECONDS = 20.0
_WEAKNESS: Mapping[Fidelity, int] = {"server": 0, "engine": 1, "stand-in": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """An opened and loaded place. Times are in seconds, None where nothing was loaded."""

    entry: TargetEntry
    loaded: LoadedAdapter
    adapter: Adapter
    connection: Connection
    description: Description
    fidelity: Fidelity
    load_seconds: float | None
    settle_seconds: float | None


def check_capabilities(entry: TargetEntry, loaded: LoadedAdapter, where: str) -> list[str]:
    """One line per thing the entry asks for that the adapter does not claim."""
    wanted = [*entry.modes, entry.layout]
    return [
        f"{where}: adapter {loaded.name!r} does not support {word!r}; "
        f"it supports {', '.join(sorted(loaded.cls.capabilities))}"
        for word in wanted
        if word not in loaded.cls.capabilities
    ]


def place_name(run_id: str, entry: TargetEntry, arm: str = "") -> str:
    """A name that no other run uses, in letters every backend allows."""
    words = "".join(c if c.isascii() and c.isalnum() else "_" for c in entry.name.lower())
    return f"{OWN_PREFIX}{run_id}_{words[:24]}_{entry.layout}{arm}"


@asynccontextmanager
async def open_place(
    entry: TargetEntry,
    loaded: LoadedAdapter,
    connection: Connection,
    settings: Settings,
    chunks: Sequence[Chunk],
    on_put: Callable[[int], None] = lambda _done: None,
) -> AsyncIterator[Place]:
    """Open, load, wait until searchable, count, describe; close on the way out.

    Raises BackendError when the backend fails and AdapterError when the counts per tenant
    differ from what was sent. Whatever else an adapter raises becomes an AdapterError.
    """
    with _adapter_faults(loaded.name, "open"):
        adapter = await loaded.cls.open(settings)
    try:
        seconds = await _load(adapter, loaded, chunks, on_put)
        with _adapter_faults(loaded.name, "describe"):
            description = await adapter.describe()
        if seconds is not None:
            check_counts(description, chunks)
        yield Place(
            entry,
            loaded,
            adapter,
            connection,
            description,
            _fidelity(connection, description),
            *(seconds or (None, None)),
        )
    finally:
        # Shielded: what a run made is removed even when the run is cancelled.
        with anyio.move_on_after(CLOSE_SECONDS, shield=True), _adapter_faults(loaded.name, "close"):
            await adapter.close()


async def _load(
    adapter: Adapter,
    loaded: LoadedAdapter,
    chunks: Sequence[Chunk],
    on_put: Callable[[int], None],
) -> tuple[float, float] | None:
    """Seconds to send and seconds until searchable; None for an adapter that is not loaded."""
    if "put" not in loaded.cls.capabilities:
        return None
    if not isinstance(adapter, Writable):
        raise AdapterError(f"adapter {loaded.name!r} claims 'put' and lacks put or settle")
    start = perf_counter_ns()
    with _adapter_faults(loaded.name, "put"):
        for first in range(0, len(chunks), PUT_BATCH):
            batch = chunks[first : first + PUT_BATCH]
            await adapter.put(batch)
            on_put(first + len(batch))
    sent = perf_counter_ns()
    with _adapter_faults(loaded.name, "settle"):
        await adapter.settle()
    return (sent - start) / 1e9, (perf_counter_ns() - sent) / 1e9


def check_counts(description: Description, chunks: Sequence[Chunk]) -> None:
    """AdapterError unless the backend counts, per tenant, exactly what was sent."""
    sent = Counter(chunk.tenant.value for chunk in chunks)
    stored = {tenant: count for tenant, count in description.chunks.items() if count}
    if stored == dict(sent):
        return
    differing = sorted(sent.keys() | stored.keys())
    lines = [
        f"{tenant!r} {sent.get(tenant, 0)} sent, {stored.get(tenant, 0)} counted"
        for tenant in differing
        if sent.get(tenant, 0) != stored.get(tenant, 0)
    ]
    raise AdapterError(f"after loading, counts differ: {'; '.join(lines[:5])}")


def _fidelity(connection: Connection, description: Description) -> Fidelity:
    """The weakest of what the launcher and the backend say; a foreign address is a server."""
    told = [f for f in (connection.fidelity, description.fidelity) if f is not None]
    if told:
        return max(told, key=_WEAKNESS.__getitem__)
    return "server" if connection.endpoint else "engine"


@contextmanager
def _adapter_faults(name: str, step: str) -> Iterator[None]:
    """Turn whatever an adapter raises, beyond the errors it promised, into AdapterError."""
    try:
        yield
    except RetrieverBenchError:
        raise
    except Exception as error:  # an adapter may raise anything; it is the adapter's fault
        raise AdapterError(
            f"adapter {name!r}: {step} raised {type(error).__name__}: {error}"
        ) from error
