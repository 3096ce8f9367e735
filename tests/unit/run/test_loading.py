"""A corpus is sent once, and again where the backend lost it; nothing is believed unasked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

import anyio
import anyio.lowlevel
import pytest

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import AdapterError, Refused, Rejected, Throttled, TimedOut, Unavailable
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.run import Connection, LoadedAdapter, Place, TargetEntry, open_place
from retrieverbench.run import loading as loading_module
from retrieverbench.run.endpoint import server_of
from retrieverbench.run.exclusive import Begun, only_run_at
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
        self.opened = 0
        self.is_removed = self.is_closed = False
        self.at_once = self.most_at_once = 0


class Kept:
    """An adapter whose chunks lie in a store of the test's."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "put"})
    store: ClassVar[Store]

    def __init__(self, *, resume: bool) -> None:
        self.resume, self.settled = resume, False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        if cls.store.is_closed:
            raise Unavailable("closed")
        cls.store.opened += 1
        return cls(resume=settings.resume)

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

    async def settle(self) -> None:
        self.settled = True

    async def search(self, query: Query) -> Response:
        return Response([])

    async def describe(self) -> Description:
        counts = Counter(chunk.tenant.value for chunk in self.store.chunks.values())
        return Description("fake", "1", "fake", "1", {}, counts)

    async def close(self) -> None:
        if self.resume and self.settled and self.store.is_removed:
            self.store.is_removed = False
            self.store.chunks.clear()


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
    store: Store,
    plan: Loading,
    *,
    reads: bool = True,
    chunks: Sequence[Chunk] = CHUNKS,
    name: str = "rb_x",
) -> Place:
    settings = Settings("", name, frozenset({"lexical"}), resume=plan.resume)
    cls = type("Bound", (Reading if reads else Kept,), {"store": store})
    loaded = LoadedAdapter("fake", cls, "dist", "1")
    entry = TargetEntry("fake", load=plan)
    async with open_place(entry, loaded, Connection("", {}, None), settings, chunks) as place:
        return place


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
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
    assert asked == {"acme", "globex"}, "of the third it holds nothing"
    assert f"texts of {len(there)} chunks that were there and of 20 after loading" in place.note


async def test_a_text_that_is_stored_below_its_title_is_the_same_text() -> None:
    titled = [replace(chunk, title="Title") for chunk in CHUNKS]
    store = Store()
    store.chunks = {c.uid: replace(c, text=c.searchable_text) for c in titled[:20]}
    place = await load(store, Loading(batch=4, resume=True), chunks=titled)
    assert "20 of 30 chunks were there already" in place.note


@pytest.mark.parametrize("spoiled", [CHUNKS[:1], CHUNKS])
async def test_chunks_with_another_text_are_replaced(spoiled: list[Chunk]) -> None:
    store = Store()
    store.chunks = {chunk.uid: replace(chunk, text="old") for chunk in spoiled}
    place = await load(store, Loading(resume=True))
    assert store.chunks == {chunk.uid: chunk for chunk in CHUNKS}
    assert "0 of 30 chunks were there already" in place.note


async def test_what_cannot_be_read_is_counted_and_said_to_be_compared_nowhere() -> None:
    store = Store()
    store.chunks = {chunk.uid: chunk for chunk in CHUNKS}
    place = await load(store, Loading(resume=True), reads=False)
    assert "30 of 30 chunks were there already" in place.note
    assert "texts of 0 chunks that were there and of 0 after loading" in place.note


async def test_a_place_with_canaries_of_a_killed_run_is_made_anew() -> None:
    store = Store()
    canaries = [Chunk("canary", tenant, "word") for tenant in TENANTS[:2]]
    store.chunks = {chunk.uid: chunk for chunk in [*CHUNKS, *canaries]}
    store.is_removed = True
    place = await load(store, Loading(resume=True))
    assert place.note.startswith("nothing was resumed: place 'rb_x' held canaries")
    assert place.load_seconds is not None
    assert len(all_of(store.puts)) == len(CHUNKS)
    assert store.opened == 2


@pytest.mark.parametrize(
    "theirs",
    [
        [Chunk("x", TenantId("umbrella"), "theirs")],
        [Chunk(f"x{n}", TENANTS[0], "theirs") for n in range(2)],
    ],
)
async def test_a_place_with_chunks_of_somebody_elses_is_left_alone(theirs: list[Chunk]) -> None:
    store = Store()
    store.chunks = {chunk.uid: chunk for chunk in [*CHUNKS, *theirs]}
    before = dict(store.chunks)
    with pytest.raises(Rejected, match="'rb_x' holds chunks that are not of this corpus"):
        await load(store, Loading(resume=True))
    assert store.chunks == before
    assert store.puts == []


async def test_two_runs_cannot_resume_one_place_at_once() -> None:
    store = Store()
    with only_run_at(Begun("rb_x", server_of(""))):
        with pytest.raises(Unavailable, match="another run is using this place: 'rb_x'"):
            await load(store, Loading(resume=True))
        assert store.opened == 0
    await load(store, Loading(resume=True))


async def test_resuming_what_never_began_is_an_ordinary_load() -> None:
    for _ in range(2):
        place = await load(Store(), Loading(resume=True))
        assert place.load_seconds is not None
        assert place.note == "", "nor is anything remembered of a place that was removed"


async def test_a_place_that_the_server_forgot_is_loaded_anew_and_said_to_be() -> None:
    with pytest.raises(Unavailable):
        await load(Store(Unavailable("gone")), Loading(batch=4, resume=True))
    place = await load(Store(), Loading(resume=True))
    assert place.note.startswith("nothing was resumed: the server holds nothing")
    assert place.load_seconds is not None


async def test_a_place_that_is_left_is_told_to_later_runs_at_that_server() -> None:
    with pytest.raises(Unavailable):
        await load(Store(Unavailable("gone")), Loading(batch=4, resume=True), name="rb_old")
    place = await load(Store(), Loading(resume=True))
    assert place.note.startswith("left by an earlier run at this machine:: 'rb_old' (begun on 20")


async def test_of_a_place_that_could_not_be_opened_nothing_is_remembered() -> None:
    closed = Store()
    closed.is_closed = True
    with pytest.raises(Unavailable, match="closed"):
        await load(closed, Loading(resume=True))
    assert (await load(Store(), Loading(resume=True))).note == ""
