"""A pooler before the server: it gives each session a number of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from pgvector_attach_support import shop_on
from pgvector_support import ACME, loaded, make_chunks, make_query, needs_server
from retrieverbench.engines import Started
from retrieverbench.errors import Unsupported

pytestmark = [pytest.mark.anyio, needs_server]

KEY_DATA = b"K\0\0\0\x0c"  # PostgreSQL's message with the session's process id


@asynccontextmanager
async def pooler_before(server: Started) -> AsyncIterator[Started]:
    """Passes everything on, and names another process id than the server's."""
    host, _, port = server.endpoint.removeprefix("postgresql://").partition("/")[0].partition(":")

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                before, key, after = data.partition(KEY_DATA)
                writer.write(before + key + (b"\0\0\0\1" + after[4:] if key else b""))
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pass_on(reader, back_writer), pass_on(back_reader, writer))

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    try:
        yield replace(server, endpoint=server.endpoint.replace(f"{host}:{port}", address))
    finally:
        proxy.close()
        await proxy.wait_closed()


async def test_a_pooler_before_our_own_place_is_a_weakness(server: Started) -> None:
    async with (
        pooler_before(server) as pooled,
        loaded(pooled, make_chunks(ACME, 3), concurrency=1) as adapter,
    ):
        assert (await adapter.search(make_query(ACME))).hits
        (weakness,) = (await adapter.describe()).weaknesses
        assert "a pooler stands before the server" in weakness


async def test_behind_a_pooler_nothing_is_attached(server: Started) -> None:
    async with pooler_before(server) as pooled, shop_on(server, []) as shop:
        with pytest.raises(Unsupported, match="settings of our sessions could reach others"):
            async with replace(shop, server=pooled).opened():
                pytest.fail("opened")
