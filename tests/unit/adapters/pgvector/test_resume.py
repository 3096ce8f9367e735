"""A server that is killed in the middle of a load: the load goes on, and the counts agree."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pgvector_support import DIMENSION, needs_server
from restartable_support import Restartable, restartable
from retrieverbench.adapter import Settings
from retrieverbench.errors import Rejected, Unavailable
from retrieverbench.model import MODES, Chunk, Layout, TenantId
from retrieverbench.run import Connection, LoadedAdapter, Place, TargetEntry, open_place
from retrieverbench.run.suite import Loading
from retrieverbench.storage import stored
from retrieverbench_adapters.pgvector import Pgvector

pytestmark = [pytest.mark.anyio, needs_server]
COUNTS = {"acme": 400, "globex": 400, "initech": 400}
RESUMING = Loading(batch=100, resume=True)


def corpus() -> list[Chunk]:
    rng = random.Random(3)
    tenants = [TenantId(name) for name in COUNTS]
    return [
        Chunk(f"c{n}", tenants[n % 3], f"text {n}", vector=_vector(rng))
        for n in range(sum(COUNTS.values()))
    ]


def _vector(rng: random.Random) -> array[float]:
    return array("f", [rng.gauss(0, 1) for _ in range(DIMENSION)])


CHUNKS = stored(corpus())


@pytest.fixture(scope="module")
def server() -> Iterator[Restartable]:
    with restartable() as started:
        yield started


@pytest.fixture(autouse=True)
def own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on another machine: no lock of this user's other runs is seen."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def loading(
    server: Restartable,
    plan: Loading,
    on_put: Callable[[int], None] = lambda _done: None,
    layout: Layout = "filter",
) -> AbstractAsyncContextManager[Place]:
    settings = Settings(
        server.endpoint,
        "rb_resumed",
        frozenset(MODES),
        layout,
        DIMENSION,
        secrets=server.secrets,
        resume=plan.resume,
    )
    entry = TargetEntry("pgvector", name="pgvector", layout=layout, load=plan)
    loaded = LoadedAdapter("pgvector", Pgvector, "retrieverbench", "1")
    connection = Connection(server.endpoint, server.secrets, "server")
    return open_place(entry, loaded, connection, settings, CHUNKS, on_put)


def schemas(server: Restartable) -> list[tuple[object, ...]]:
    return server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rb_%'")


async def test_within_a_run_what_the_server_lost_is_sent_again(server: Restartable) -> None:
    """`incoming` is unlogged: the crash empties it, and counting shows that."""

    crashes: list[int] = []

    def crash(done: int) -> None:
        if done == 600 and not crashes:
            crashes.append(done)
            server.kill()
            server.start()

    async with loading(server, Loading(batch=100, patience=60.0), crash) as place:
        assert place.description.chunks == COUNTS
        assert place.load_seconds is None
        assert "loaded in parts" in place.note
    assert schemas(server) == []


@pytest.mark.parametrize("layout", ["filter", "index", "rls"])
async def test_the_next_run_goes_on_where_the_server_died(
    server: Restartable, layout: Layout
) -> None:
    def crash(done: int) -> None:
        if done == 600:
            server.kill()

    with pytest.raises(Unavailable):
        async with loading(server, RESUMING, crash, layout):
            pytest.fail("was loaded")
    server.start()
    sent: list[int] = []
    async with loading(server, RESUMING, sent.append, layout) as place:
        assert place.description.chunks == COUNTS
        assert "600 of 1200 chunks were there already" in place.note
        chunk = CHUNKS[700]
        [hit] = await place.adapter.get(chunk.tenant, [chunk.uid])  # type: ignore[attr-defined]
        assert (hit.uid, hit.text) == (chunk.uid, chunk.text)
    assert sent[-1] == 1200
    assert schemas(server) == [], "a place that was loaded whole goes as ever"


async def test_a_load_that_its_user_broke_off_stays_too(server: Restartable) -> None:
    with anyio.CancelScope() as scope:
        async with loading(server, RESUMING, lambda done: scope.cancel() if done == 300 else None):
            pytest.fail("was loaded")
    assert schemas(server) == [("rb_resumed",)]
    async with loading(server, RESUMING) as place:
        assert "300 of 1200 chunks were there already" in place.note
    assert schemas(server) == []


async def test_a_run_of_another_machine_cannot_use_the_place_meanwhile(
    server: Restartable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with loading(server, RESUMING):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        with pytest.raises(Unavailable, match="another run is using this place: schema"):
            async with loading(server, RESUMING):
                pytest.fail("was taken")
        assert schemas(server) == [("rb_resumed",)]
    assert schemas(server) == []


async def test_canaries_of_a_killed_run_are_removed_with_their_place(server: Restartable) -> None:
    canary = Chunk("canary", TenantId("acme"), "word", vector=_vector(random.Random(4)))

    async def die_in_the_leak_check() -> None:
        async with loading(server, RESUMING) as place:
            await place.add([canary])
            server.kill()

    with pytest.raises(Unavailable):
        await die_in_the_leak_check()
    server.start()
    async with loading(server, RESUMING) as place:
        assert "nothing was resumed" in place.note
        assert place.description.chunks == COUNTS
    assert schemas(server) == []


async def test_a_schema_of_somebody_elses_is_not_taken(server: Restartable) -> None:
    server.execute("CREATE SCHEMA rb_resumed; CREATE TABLE rb_resumed.theirs (x int)")
    try:
        with pytest.raises(Rejected, match="is no place of ours to resume"):
            async with loading(server, RESUMING):
                pytest.fail("was taken")
        with pytest.raises(Rejected, match="already exists"):
            async with loading(server, replace(RESUMING, resume=False)):
                pytest.fail("was taken")
    finally:
        server.execute("DROP SCHEMA rb_resumed CASCADE")
