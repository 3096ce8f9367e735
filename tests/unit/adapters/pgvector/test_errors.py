"""What fails is told and leaves nothing behind, on a real server with pgvector."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest

from pgvector_support import (
    ACME,
    DIMENSION,
    EXACT,
    GLOBEX,
    ask,
    connect,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    opened,
    settings_for,
    uids,
)
from retrieverbench.adapter import Attached, Secret
from retrieverbench.engines import Started, pgvector
from retrieverbench.errors import Refused, RetrieverBenchError, TimedOut, Unavailable, Unsupported
from retrieverbench_adapters.pgvector import Pgvector

pytestmark = [pytest.mark.anyio, needs_server]


async def test_a_cancelled_search_leaves_the_connection_clean(server: Started) -> None:
    options = {**EXACT, "place": {"index": "none"}}
    async with loaded(server, make_chunks(ACME, 2_000), options=options, concurrency=1) as adapter:
        query = make_query(ACME, "hybrid", k=2_000)
        expected = await adapter.search(query)
        for delay in (0, 0.0005, 0.002, 0.005):
            with anyio.move_on_after(delay):
                await adapter.search(make_query(GLOBEX, "hybrid", k=2_000))
            assert await adapter.search(query) == expected


async def test_an_open_transaction_never_reaches_the_next_search(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=1) as adapter:
        async with adapter._searchers.take() as connection:
            await connection.execute("BEGIN; SET LOCAL work_mem = '1MB'")
        async with adapter._searchers.take() as connection:
            cursor = await connection.execute("SHOW work_mem")
            assert await cursor.fetchone() == ("64MB",)


async def test_a_connection_in_use_while_the_place_is_closed_is_closed_after(
    server: Started,
) -> None:
    async with opened(server, concurrency=1) as adapter:
        async with adapter._searchers.take() as connection:
            await adapter.close()
        assert connection.closed


async def test_a_timeout_is_told_and_the_next_answer_is_right(server: Started) -> None:
    chunks = make_chunks(ACME, 20)
    async with loaded(server, chunks, timeout=0.3, concurrency=1) as adapter:
        async with await connect(server) as lock:
            await lock.execute("LOCK TABLE rb_test.chunks")
            with pytest.raises(TimedOut, match="canceling statement due to statement timeout"):
                await adapter.search(make_query(ACME))
            await lock.rollback()
        assert uids(await adapter.search(make_query(ACME, k=20)))


async def test_more_searches_than_connections_wait_and_then_fail(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), timeout=0.2, concurrency=1) as adapter:
        async with adapter._searchers.take():
            with pytest.raises(Unavailable, match="no connection was free") as caught:
                await adapter.search(make_query(ACME))
            assert caught.value.code.word == "pool_timeout"
        assert (await adapter.search(make_query(ACME))).hits


async def test_a_lost_connection_is_an_error_once_and_replaced(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=1) as adapter:
        await ask(
            server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'retrieverbench'",
        )
        with pytest.raises(Unavailable, match="terminating connection"):
            await adapter.search(make_query(ACME))
        assert (await adapter.search(make_query(ACME))).hits
        with pytest.raises(Unavailable):
            await adapter.describe()
        assert (await adapter.describe()).chunks == {"acme": 3}


async def test_a_wrong_password_is_refused_and_not_shown(server: Started) -> None:
    secrets = {**server.secrets, "password": Secret("open-sesame")}
    with pytest.raises(Refused, match="password authentication failed") as caught:
        await Pgvector.open(settings_for(server, secrets=secrets))
    assert "open-sesame" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_dead_server_is_unavailable() -> None:
    async with pgvector.start({}) as server:
        adapter = await Pgvector.open(settings_for(server))
    with pytest.raises(Unavailable):
        await adapter.search(make_query(ACME))
    with pytest.raises(Unavailable, match="refused"):
        await adapter.search(make_query(ACME))
    with pytest.raises(Unavailable, match="'rb_test' may be left"):
        await adapter.close()
    await adapter.close()
    with pytest.raises(Unavailable, match="refused"):
        await Pgvector.open(settings_for(server))


async def test_a_server_with_too_few_connections_is_told_at_open() -> None:
    async with pgvector.start({"max_connections": 10}) as server:
        with pytest.raises(Unavailable, match="too many clients"):
            await Pgvector.open(settings_for(server, concurrency=32))
        left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'rb_test'"
        assert await ask(server, left) == [(0,)]


@pytest.fixture
async def bare(server: Started) -> AsyncIterator[Started]:
    """A database of the same server without the extension."""
    async with await connect(server) as connection:
        await connection.set_autocommit(True)
        await connection.execute("CREATE DATABASE bare")
        yield replace(server, endpoint=server.endpoint.replace("/postgres", "/bare"))
        await connection.execute("DROP DATABASE bare")


async def test_a_server_without_the_extension_says_so(
    bare: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "retrieverbench_adapters.pgvector.own_place.CREATE_EXTENSION", "CREATE EXTENSION vectorr"
    )
    with pytest.raises(Unsupported, match='extension "vectorr" is not available'):
        await Pgvector.open(settings_for(bare))


async def test_words_of_an_attached_table_need_no_extension(bare: Started) -> None:
    await ask(
        bare,
        "CREATE TABLE docs AS SELECT 'acme' AS owner, 'refund policy' AS body, 1 AS id",
    )
    words = {"modes": frozenset({"lexical"}), "dimension": 0}
    docs = Attached("docs", "id", "owner", ("body",))
    async with opened(bare, place="", attached=docs, **words) as adapter:
        assert uids(await adapter.search(make_query(ACME, "lexical", vector=None))) == ["1"]
        description = await adapter.describe()
        assert description.server == "PostgreSQL"
        assert description.server_version.endswith("pgvector absent")
        assert len(description.slow["lexical"]) == 2


async def test_errors_show_no_stored_text(server: Started) -> None:
    secret_text = "merger with Initech"
    zero = array("f", [0.0] * DIMENSION)
    async with opened(server) as adapter:
        await adapter.put([replace(make_chunks(ACME, 1)[0], text=secret_text, vector=zero)])
        with pytest.raises(RetrieverBenchError) as caught:
            await adapter.settle()
        assert "Initech" not in str(caught.value)
