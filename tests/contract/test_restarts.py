"""A server is killed in the middle of a load: the next run goes on, and the counts agree.

Of PostgreSQL, which does not speak HTTP, `tests/unit/adapters/pgvector/test_resume.py` tells more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from engine_support import DIMENSION, chunk, need_engine
from killable_support import Killable, killable
from retrieverbench.adapter import Settings
from retrieverbench.engines import engine_names, load_engine
from retrieverbench.errors import BackendError, Unavailable
from retrieverbench.run import (
    Connection,
    Place,
    TargetEntry,
    adapter_names,
    load_adapter,
    open_place,
)
from retrieverbench.run.suite import Loading

pytestmark = pytest.mark.anyio
COUNTS = {"acme": 40, "globex": 40, "initech": 40}
CHUNKS = [chunk(tenant, f"c{n}", f"text {n} of {tenant}") for n in range(40) for tenant in COUNTS]
RESUMING = Loading(batch=20, resume=True)


def resumable() -> list[str]:
    """Adapters that can resume and whose engine speaks HTTP, by name."""
    return [
        name
        for name in adapter_names()
        if name in engine_names()
        and "resume" in load_adapter(name).cls.capabilities
        and not hasattr(load_engine(name), "PostgresOptions")
    ]


def loading(
    name: str, server: Killable, on_put: Callable[[int], None] = lambda _done: None
) -> AbstractAsyncContextManager[Place]:
    entry = TargetEntry(name, name=name, load=RESUMING)
    connection = Connection(server.endpoint, server.secrets, "engine")
    settings = Settings(
        server.endpoint,
        "rb_killed",
        frozenset(entry.modes),
        dimension=DIMENSION,
        secrets=server.secrets,
        resume=True,
    )
    return open_place(entry, load_adapter(name), connection, settings, CHUNKS, on_put)


@pytest.mark.parametrize("name", resumable())
async def test_the_next_run_goes_on_or_says_that_the_server_kept_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    need_engine(name)
    keeps_data = hasattr(load_engine(name), "NODE")

    def die_in_the_middle(done: int) -> None:
        if done == 60:
            server.kill()

    async with killable(name) as server:
        with pytest.raises(BackendError) as caught:
            async with loading(name, server, die_in_the_middle):
                pytest.fail("was loaded")
        assert isinstance(caught.value, Unavailable)
        await server.start()
        sent: list[int] = []
        async with loading(name, server, sent.append) as place:
            assert place.description.chunks == COUNTS
            assert sent[-1] == len(CHUNKS)
            if keeps_data:
                assert "60 of 120 chunks were there already" in place.note
                assert "by searching the vectors of 20 that were" in place.note
                assert place.load_seconds is None
            else:
                assert place.note.startswith("nothing was resumed: the server holds nothing")
                assert place.load_seconds is not None
