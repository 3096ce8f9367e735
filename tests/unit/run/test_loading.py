"""A corpus is sent once, and again where the backend lost it; nothing is believed unasked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import anyio
import anyio.lowlevel
import pytest

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import AdapterError, Refused, Throttled, TimedOut, Unavailable
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.run import Connection, LoadedAdapter, Place, TargetEntry, open_place
from retrieverbench.run import loading as loading_module
from retrieverbench.run.suite import Loading
from retrieverbench.storage import stored

pytestmark = pytest.mark.anyio
TENANTS = [TenantId(name) for name in ("acme", "globex", "initech")]
CHUNKS = [Chunk(f"d{n}", TENANTS[n % 3], f"text {n}") for n in range(30)]
PATIENT = Loading(batch=4, patience=30.0)


class Store:
    """What outlives the adapters of a test; `down` are the errors of the next puts."""

    def __init__(self, *down: BaseException) -> None:
        self.chunks: dict[str, Chunk] = {}
        self.down = list(down)
        self.puts: list[list[str]] = []
        self.gets: list[list[str]] = []
        self.forgets = False
        self.at_once = self.most_at_once = 0


class Kept:
    """An adapter whose chunks lie in a store of the test's."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "put"})
    store: ClassVar[Store]

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        return cls()

    async def put(self, chunks: Sequence[Chunk]) -> None:
        store = self.store
        store.at_once += 1
        store.most_at_once = max(store.at_once, store.most_at_once)
        await anyio.lowlevel.checkpoint()
        store.at_once -= 1
        store.puts.append([chunk.uid for chunk in chunks])
        if store.down and len(store.puts) > 2:
            if store.forgets:
                store.chunks.clear()
            raise store.down.pop()
        store.chunks |= {chunk.uid: chunk for chunk in chunks}

    async def settle(self) -> None: ...

    async def search(self, query: Query) -> Response:
        return Response([])

    async def describe(self) -> Description:
        counts = Counter(chunk.tenant.value for chunk in self.store.chunks.values())
        return Description("fake", "1", "fake", "1", {}, counts)

    async def close(self) -> None: ...


class Reading(Kept):
    """It can also read by id."""

    capabilities = Kept.capabilities | {"get"}

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        self.store.gets.append(list(uids))
        found = (self.store.chunks[uid] for uid in uids if uid in self.store.chunks)
        return [Hit(c.uid, 1.0, c.tenant.value, c.text) for c in found if c.tenant == tenant]


def all_of(lists: Iterable[Sequence[str]]) -> list[str]:
    return [uid for uids in lists for uid in uids]


async def load(
    store: Store, plan: Loading, *, reads: bool = True, chunks: Sequence[Chunk] = CHUNKS
) -> Place:
    settings = Settings("", "rb_x", frozenset({"lexical"}), resume=plan.resume)
    cls = type("Bound", (Reading if reads else Kept,), {"store": store})
    loaded = LoadedAdapter("fake", cls, "dist", "1")
    entry = TargetEntry("fake", load=plan)
    async with open_place(entry, loaded, Connection("", {}, None), settings, chunks) as place:
        return place


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading_module, "FIRST_WAIT", 0.001)


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_every_chunk_is_sent_once_from_memory_or_disk(concurrency: int) -> None:
    plan = Loading(batch=4, concurrency=concurrency)
    for chunks in (CHUNKS, stored(CHUNKS)):
        store = Store()
        place = await load(store, plan, chunks=chunks)
        assert place.load_seconds is not None
        assert place.note == ""
        assert sorted(all_of(store.puts)) == sorted(chunk.uid for chunk in CHUNKS)
        assert store.chunks == {chunk.uid: chunk for chunk in CHUNKS}
        assert store.most_at_once == concurrency


async def test_without_patience_the_first_failure_ends_it() -> None:
    store = Store(Unavailable("gone"))
    with pytest.raises(Unavailable, match="gone"):
        await load(store, Loading(batch=4))
    assert len(store.puts) == 3


@pytest.mark.parametrize("error", [Unavailable("gone"), TimedOut("silent"), Throttled("busy")])
async def test_a_patient_load_sends_the_batch_again_and_tells(error: BaseException) -> None:
    store = Store(error, error)
    place = await load(store, PATIENT)
    assert len(store.chunks) == len(CHUNKS)
    assert store.puts[2] == store.puts[3] == store.puts[4]
    assert place.load_seconds is None
    assert "0 of 30 chunks were there already, 2 attempts failed" in place.note


async def test_no_patience_for_what_waiting_does_not_mend() -> None:
    with pytest.raises(Refused):
        await load(Store(Refused("no right")), PATIENT)


async def test_patience_ends() -> None:
    with pytest.raises(Unavailable):
        await load(Store(*[Unavailable("gone")] * 10_000), replace(PATIENT, patience=0.05))


@pytest.mark.parametrize("reads", [True, False])
async def test_what_a_backend_lost_that_was_waited_for_is_sent_again(reads: bool) -> None:
    store = Store(Unavailable("gone"))
    store.forgets = True
    await load(store, PATIENT, reads=reads)
    assert len(store.chunks) == len(CHUNKS)
    assert max(Counter(all_of(store.puts)).values()) == (2 if reads else 3)


async def test_counts_that_stay_different_are_an_error_however_patient() -> None:
    store = Store(Unavailable("gone"))
    store.chunks["ghost/1"] = Chunk("1", TenantId("ghost"), "")
    with pytest.raises(AdapterError, match="counts differ: 'ghost' 0 sent, 1 counted"):
        await load(store, PATIENT)


async def test_a_resumed_load_asks_what_is_there_and_sends_the_rest() -> None:
    store = Store()
    there = [c for c in CHUNKS if c.tenant == TENANTS[0]] + CHUNKS[1:8:3]
    store.chunks = {chunk.uid: chunk for chunk in there}
    place = await load(store, Loading(batch=4, resume=True))
    assert len(store.chunks) == len(CHUNKS)
    assert set(all_of(store.puts)) == {c.uid for c in CHUNKS} - {c.uid for c in there}
    assert f"{len(there)} of 30 chunks were there already" in place.note
    assert place.load_seconds is None
    asked = {uid.partition("/")[0] for uid in all_of(store.gets[:-3])}
    assert asked == {"globex"}, "counts tell of the others"


async def test_a_text_that_is_stored_below_its_title_is_the_same_text() -> None:
    titled = [replace(chunk, title="Title") for chunk in CHUNKS]
    store = Store()
    store.chunks = {c.uid: replace(c, text=c.searchable_text) for c in titled[:20]}
    place = await load(store, Loading(batch=4, resume=True), chunks=titled)
    assert "20 of 30 chunks were there already" in place.note


async def test_a_chunk_with_another_text_is_replaced() -> None:
    store = Store()
    store.chunks = {"acme/d0": replace(CHUNKS[0], text="old")}
    await load(store, Loading(resume=True))
    assert store.chunks["acme/d0"] == CHUNKS[0]


async def test_a_whole_load_of_other_contents_is_found_by_its_sample() -> None:
    store = Store()
    store.chunks = {chunk.uid: replace(chunk, text="old") for chunk in CHUNKS}
    with pytest.raises(AdapterError, match="'acme/d0' is not as it was sent"):
        await load(store, Loading(resume=True))


async def test_resuming_what_never_began_is_an_ordinary_load() -> None:
    place = await load(Store(), Loading(resume=True))
    assert place.load_seconds is not None
    assert place.note == ""
