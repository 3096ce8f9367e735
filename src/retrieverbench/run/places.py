"""A place of our own in a backend: opened, loaded, counted and described."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread

from retrieverbench.adapter import (
    OWN_PREFIX,
    Adapter,
    Description,
    Settings,
    Writable,
)
from retrieverbench.errors import AdapterError, BackendError, Rejected, plural
from retrieverbench.model import Chunk, Fidelity, Plan, Query
from retrieverbench.remote import hide_secrets
from retrieverbench.run.attach import make_keys
from retrieverbench.run.connect import Connection
from retrieverbench.run.covering import LookedUp, differences
from retrieverbench.run.description import checked_description, plan_of
from retrieverbench.run.endpoint import server_of
from retrieverbench.run.exclusive import Begun, Held, Unremembered, only_run_at
from retrieverbench.run.found_vectors import check_found_vectors
from retrieverbench.run.guard import Step
from retrieverbench.run.leftovers import left_line
from retrieverbench.run.loading import Sender, count_differences, count_per_tenant
from retrieverbench.run.misplaced import Misplaced, looked_up
from retrieverbench.run.registry import LoadedAdapter
from retrieverbench.run.suite import TargetEntry
from retrieverbench.run.text import hidden_values

CLOSE_SECONDS = 20.0
STEP_TIMEOUTS = 10
"""A step (open, describe, one batch) is given up after so many times the search timeout."""
SETTLE_TIMEOUTS = 120
"""The same for `settle`, which may have to build an index."""
_ANEW = "run it again: the place is removed now, and the next run loads it anew"
_NO_TEXTS = (
    "attach.text names no field: a text of another tenant's under an own id would not be seen"
)
_BEGUN_ANEW = (
    "nothing was resumed: the server holds nothing of what an earlier run began to load, so the "
    "load began anew"
)
_WEAKNESS: Mapping[Fidelity, int] = {"server": 0, "engine": 1, "stand-in": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """An opened and loaded place. Times are in seconds, None where nothing was loaded.

    `timeout` is the suite's, per search. `note` is what its reader should know, "" if nothing.
    `differs` says how what is only read differs from the corpus, by the backend's own count.
    `keys` translates the ids of an attached index to uids; None where hits carry uids.
    `misplaced` chunks were read by id by others than their owners.
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
    differs: str = ""
    misplaced: Sequence[Misplaced] = ()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Credentials that no text may show."""
        return hidden_values(self.connection.secrets)

    async def describe(self) -> Description:
        """What is there now; BackendError and AdapterError as when it was opened."""
        return await _describe(self.adapter, self._step("describe", STEP_TIMEOUTS))

    async def explain(self, query: Query) -> Plan:
        """The backend's plan of one query. Raises BackendError, AdapterError for the rest."""
        return await plan_of(self.adapter, query, self._step("explain", STEP_TIMEOUTS))

    async def add(self, chunks: Sequence[Chunk], private: Sequence[str] = ()) -> None:
        """Put more chunks and wait until they are searchable.

        `private` are words of the chunks that no error text may repeat. Raises
        BackendError, and AdapterError for whatever else the adapter raises.
        """
        sender = Sender(
            self.adapter,
            self.entry.load,
            put=self._step("put", STEP_TIMEOUTS, private),
            settle=self._step("settle", SETTLE_TIMEOUTS, private),
            get=self._step("get", STEP_TIMEOUTS, private),
        )
        await sender.send(chunks)
        await sender.settled()

    def _step(self, word: str, times: int, private: Sequence[str] = ()) -> Step:
        hidden = (*self.hidden, *private)
        return Step(self.loaded.name, word, times * self.timeout, hidden)


def place_name(run_id: str, entry: TargetEntry) -> str:
    """A name that no other run and no other entry uses, in letters every backend allows.

    A name that had to be changed or cut gets a hash of the original.
    """
    words = "".join(c if c.isascii() and c.isalnum() else "_" for c in entry.name.lower())
    if words != entry.name or len(words) > 24:
        words = f"{words[:17]}_{hashlib.sha256(entry.name.encode()).hexdigest()[:6]}"
    return f"{OWN_PREFIX}{run_id}_{words}_{entry.layout}"


@dataclass(slots=True)
class Opened:
    """An adapter that is connected and has an empty place, or is bound to the user's own.

    `note` is what its reader should know of the opening, "" if nothing. `was_begun` where an
    earlier run began to load this place. Once the place `is_settled` its adapter removes it, also
    where it could have been resumed before.
    """

    entry: TargetEntry
    loaded: LoadedAdapter
    adapter: Adapter
    connection: Connection
    settings: Settings
    note: str = ""
    was_begun: bool = False
    is_settled: bool = False

    def step(self, word: str, times: int) -> Step:
        """A guarded call that may take so many times the search timeout."""
        hidden = hidden_values(self.settings.secrets)
        return Step(self.loaded.name, word, times * self.settings.timeout, hidden)


@asynccontextmanager
async def open_adapter(
    entry: TargetEntry,
    loaded: LoadedAdapter,
    connection: Connection,
    settings: Settings,
    expected: Mapping[str, int],
) -> AsyncIterator[Opened]:
    """Open an adapter; close it on the way out.

    A place that outlives a killed run is locked before. `expected` are the chunks per tenant
    that one which is resumed will hold: with a canary more it is removed and made anew. Raises
    BackendError when the backend fails or does not end a step, and InputError for options that
    the adapter refuses. Whatever else an adapter raises becomes an AdapterError. A failure to
    close is raised, or told beside what went wrong before.
    """
    async with AsyncExitStack() as locks:
        held, note = await _remembered(locks, entry, loaded, settings)
        held.removed = not held.was_begun  # of what could not be opened nothing stays
        opened = Opened(entry, loaded, await _open(loaded, settings), connection, settings)
        held.removed = False
        opened.note, opened.was_begun = note, held.was_begun
        try:
            if settings.resume:
                await _without_canaries(opened, expected)
            yield opened
        except BaseException as error:
            try:
                await _close(opened)
            except BackendError as second:
                if isinstance(error, BackendError):
                    error.args = (f"{error.reason}; and afterwards: {second.reason}",)
            else:
                held.removed = opened.is_settled or not settings.resume
            raise
        await _close(opened)
        held.removed = opened.is_settled or not settings.resume


async def _remembered(
    locks: AsyncExitStack, entry: TargetEntry, loaded: LoadedAdapter, settings: Settings
) -> tuple[Held, str]:
    """The place's lock, and what is left beside it; a run that is killed leaves it, too.

    Not of a place in an engine that ends with this run, or in this process, or of the user's.
    """
    nothing = Held(was_begun=False, left=())
    outlives = settings.endpoint and not entry.engine_name and is_loaded(entry, loaded)
    if not (settings.resume or outlives):
        return nothing, ""
    server = await anyio.to_thread.run_sync(server_of, settings.endpoint)
    begun = Begun(settings.place, server, entry.adapter, settings.layout, settings.resume)
    try:
        held = locks.enter_context(only_run_at(begun))
    except Unremembered as error:
        if settings.resume:
            raise
        return nothing, str(error)
    return held, left_line(held.left)


async def _open(loaded: LoadedAdapter, settings: Settings) -> Adapter:
    hidden = hidden_values(settings.secrets)
    step = Step(loaded.name, "open", STEP_TIMEOUTS * settings.timeout, hidden)
    return await step.call(lambda: loaded.cls.open(settings))


async def _without_canaries(opened: Opened, expected: Mapping[str, int]) -> None:
    """Make a place anew whose last run ended, without closing it, during its leak check.

    That run had put one canary per tenant, whose ids nobody knows any more. A place with still
    other chunks may be of use to somebody: raises Rejected, and it is left as it is.
    """
    held = (await _describe(opened.adapter, opened.step("describe", STEP_TIMEOUTS))).chunks
    surplus = {tenant: held[tenant] - expected.get(tenant, 0) for tenant in sorted(held)}
    surplus = {tenant: count for tenant, count in surplus.items() if count > 0}
    if not surplus:
        return
    place, adapter = opened.settings.place, opened.adapter
    if not surplus.keys() <= expected.keys() or max(surplus.values()) > 1:
        found = ", ".join(f"{count} of {tenant!r}" for tenant, count in list(surplus.items())[:5])
        raise Rejected(
            f"place {place!r} holds chunks that are not of this corpus ({found}"
            f"{' and more' if len(surplus) > 5 else ''}) and was left as it is",
            remedy="remove it if nobody needs it, or give this suite another name",
        )
    if isinstance(adapter, Writable):  # what was settled is removed by `close`
        await opened.step("settle", SETTLE_TIMEOUTS).call(adapter.settle)
    await _close(opened)
    opened.adapter = await _open(opened.loaded, opened.settings)
    opened.was_begun = False
    anew = (
        f"nothing was resumed: place {place!r} held canaries of a run that ended during its leak "
        "check, and was removed and made anew"
    )
    opened.note = "; ".join(note for note in (anew, opened.note) if note)


async def load_place(
    opened: Opened, chunks: Sequence[Chunk], on_put: Callable[[int], None] = lambda _done: None
) -> Place:
    """Load, wait until searchable, count, describe; what cannot be loaded is only described.

    Raises AdapterError when the counts per tenant differ from what was sent, InputError for
    an attached index whose ids cannot be told apart, and otherwise as `open_adapter` does.
    """
    if is_loaded(opened.entry, opened.loaded):
        loaded = await _load(opened, chunks, on_put)
    else:
        loaded = await _looked_at(opened, chunks)
    description = loaded.description
    return Place(
        opened.entry,
        opened.loaded,
        opened.adapter,
        opened.connection,
        description,
        _fidelity(opened.connection, description),
        opened.settings.timeout,
        keys=keys_of(opened.entry, chunks),
        load_seconds=loaded.seconds,
        settle_seconds=loaded.settle_seconds,
        note="; ".join(note for note in (opened.note, loaded.note) if note),
        differs=loaded.differs,
        misplaced=loaded.misplaced,
    )


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is there; times in seconds, None for what was not done, or not all at once."""

    description: Description
    seconds: float | None = None
    settle_seconds: float | None = None
    note: str = ""
    differs: str = ""
    misplaced: Sequence[Misplaced] = ()


async def _load(opened: Opened, chunks: Sequence[Chunk], on_put: Callable[[int], None]) -> _Loaded:
    """Send, settle, count; once more what is lacking, of a load that may be in parts."""
    describe = opened.step("describe", STEP_TIMEOUTS)
    plan, resumes = opened.entry.load, opened.settings.resume
    sender = Sender(
        opened.adapter,
        plan,
        put=opened.step("put", STEP_TIMEOUTS),
        settle=opened.step("settle", SETTLE_TIMEOUTS),
        get=opened.step("get", STEP_TIMEOUTS),
        on_put=on_put,
    )
    held = (await _describe(opened.adapter, describe)).chunks if resumes else {}
    await sender.send(chunks, held, compare=True)
    found, compared, sample = sender.found, sender.compared, tuple(sender.sample.chunks)
    settle_seconds = await sender.settled()
    opened.is_settled = True
    again = partial(_describe, opened.adapter, describe)
    description, expected = await sender.patiently(again), count_per_tenant(chunks)
    in_parts = bool(sender.waits or any(held.values()))
    # A server may lose what it acknowledged and be back before the next batch: nobody sees that.
    if count_differences(description, expected) and (plan.patience or resumes):
        in_parts = True
        await sender.send(chunks, description.chunks or {"": 0})
        settle_seconds += await sender.settled()
        description = await sender.patiently(again)
    differing = hide_secrets(
        count_differences(description, expected), hidden_values(opened.settings.secrets)
    )
    if differing:
        raise AdapterError(
            f"after loading, counts differ: {differing}", remedy=_ANEW if any(held.values()) else ""
        )
    if not in_parts:
        note = _BEGUN_ANEW if opened.was_begun else ""
        return _Loaded(description, sender.seconds, settle_seconds, note)
    remedy = _ANEW if resumes else ""
    sampled = await sender.check_sample(chunks, remedy)
    vectors = await check_found_vectors(
        opened.adapter, opened.settings, sample, chunks, expected, remedy
    )
    note = (
        f"loaded in parts, so without a time: {found} of {len(chunks)} chunks were there already, "
        f"{plural(sender.waits, 'attempt')} failed; compared were the texts of {compared} chunks "
        f"that were there and of {sampled} after loading, and by searching the vectors of "
        f"{vectors} that were"
    )
    return _Loaded(description, note=note)


async def _looked_at(opened: Opened, chunks: Sequence[Chunk]) -> _Loaded:
    """What is there of a place that is not loaded."""
    description = await _describe(opened.adapter, opened.step("describe", STEP_TIMEOUTS))
    attach, found, misplaced = opened.entry.attach, LookedUp(), tuple[Misplaced, ...]()
    if attach is not None:
        step = opened.step("get", STEP_TIMEOUTS)
        found, misplaced = await looked_up(opened.adapter, attach, chunks, description, step)
    told = differences(description, count_per_tenant(chunks), found)
    hidden = hidden_values(opened.settings.secrets)
    texts = _NO_TEXTS if attach is not None and not attach.text else ""
    notes = "; ".join(note for note in (found.note, texts) if note)
    note, differs = hide_secrets(notes, hidden), hide_secrets(told, hidden)
    return _Loaded(description, note=note, differs=differs, misplaced=misplaced)


def is_loaded(entry: TargetEntry, loaded: LoadedAdapter) -> bool:
    """Whether the harness loads it: the adapter can, and it is no index of the user's."""
    return "put" in loaded.cls.capabilities and entry.attach is None


def keys_of(entry: TargetEntry, chunks: Sequence[Chunk]) -> dict[str, str] | None:
    """`make_keys` of an entry; None where hits carry uids."""
    if entry.attach is None:
        return None
    return make_keys(entry.attach, chunks, f"target {entry.name!r}: attach")


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
    expected = count_per_tenant(chunks)
    async with open_adapter(entry, loaded, connection, settings, expected) as opened:
        yield await load_place(opened, chunks, on_put)


async def _close(opened: Opened) -> None:
    """Shielded: what a run made is removed even when the run is cancelled."""
    hidden = hidden_values(opened.settings.secrets)
    with anyio.CancelScope(shield=True):
        await Step(opened.loaded.name, "close", CLOSE_SECONDS, hidden).call(opened.adapter.close)


async def _describe(adapter: Adapter, step: Step) -> Description:
    """A checked copy of the description, without hidden values."""
    found = await step.call(adapter.describe)
    return checked_description(found, step.adapter, step.hidden)


def _fidelity(connection: Connection, description: Description) -> Fidelity:
    """The weakest of what the launcher and the backend say; a foreign address is a server."""
    told = [f for f in (connection.fidelity, description.fidelity) if f is not None]
    if told:
        return max(told, key=_WEAKNESS.__getitem__)
    return "server" if connection.endpoint else "engine"
