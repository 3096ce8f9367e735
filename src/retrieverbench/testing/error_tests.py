"""Failures are errors of the protocol, of the class that says what to do, without a secret."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

import anyio
import pytest

from retrieverbench.adapter import Secret
from retrieverbench.errors import (
    InputError,
    Refused,
    RetrieverBenchError,
    TimedOut,
    Unavailable,
)
from retrieverbench.model import Layout, TenantId
from retrieverbench.testing.corpus import make_chunk
from retrieverbench.testing.outcomes import not_on_a_server
from retrieverbench.testing.place import Filled, Subject, make_query

MARKER = "s3cret-that-nobody-may-print"
_DEAD = (Unavailable, TimedOut)


class ErrorTests:
    """Whatever goes wrong, the text says what, and never with which credential."""

    @pytest.mark.anyio
    @pytest.mark.parametrize("group", ["connect", "place", "search"])
    async def test_unknown_options_are_refused_by_name(
        self, subject: Subject, any_layout: Layout, group: str
    ) -> None:
        """An option that the adapter does not know is an InputError that names it.

        If it fails, use `retrieverbench.options.parse_options`: an option passed over looks
        like one in force.
        """
        options = {**subject.options, group: {**subject.options.get(group, {}), "exakt": True}}
        with pytest.raises(InputError, match="exakt"):
            async with subject.opened(any_layout, options=options):
                pass

    @pytest.mark.anyio
    async def test_wrong_dimensions_are_named(self, place: Filled) -> None:
        """A question of another dimension is refused, not cut, padded or answered.

        If it fails, look at what the backend makes of a short vector.
        """
        place.subject.need("dense")
        asked = place.query(place.chunks[0].text, place.tenants[0], "dense")
        with pytest.raises(RetrieverBenchError):
            await place.adapter.search(replace(asked, vector=array("f", [0.5, 0.5, 0.5])))

    @pytest.mark.anyio
    async def test_wrong_dimensions_are_not_stored(
        self, subject: Subject, any_layout: Layout
    ) -> None:
        """A chunk whose vector has another dimension is refused by `put` or `settle`.

        If it fails, look at errors of single items in the answer of a bulk write.
        """
        subject.need("put", "dense")
        wrong = replace(make_chunk("acme", "short", "short"), vector=array("f", [0.5, 0.5]))
        async with subject.opened(any_layout) as adapter:
            place = Filled(subject, any_layout, adapter, subject.settings(any_layout))
            with pytest.raises(RetrieverBenchError):
                await place.add([wrong])

    @pytest.mark.anyio
    async def test_wrong_credentials_are_refused(
        self, subject: Subject, any_layout: Layout
    ) -> None:
        """Credentials that the server does not know: Refused, and the text shows none.

        If it fails, look at how 401, 403 and the backend's own words are mapped.
        """
        if not subject.secrets:
            pytest.skip("not applicable: the fixture `secrets` holds none")
        wrong: Mapping[str, Secret] = {
            name: secret if name == "user" else Secret(MARKER)
            for name, secret in subject.secrets.items()
        }
        with pytest.raises(Refused) as caught:
            async with subject.opened(any_layout, secrets=wrong):
                pass
        _no_secret(caught.value, subject)

    @pytest.mark.anyio
    async def test_a_dead_server_is_unavailable(self, subject: Subject, any_layout: Layout) -> None:
        """Nobody listens at the port: Unavailable, in seconds, and the text shows no secret.

        If it fails, look for retries of the client, and at what it raises for a refused
        connection.
        """
        async with _port() as (port, server):
            server.close()
            await server.wait_closed()
            await _fails(subject, any_layout, _at(subject, port))

    @pytest.mark.anyio
    async def test_a_silent_server_is_a_timeout(self, subject: Subject, any_layout: Layout) -> None:
        """A server that accepts and never answers is given up after `Settings.timeout`.

        If it fails, look whether the timeout reaches the client's reading, not its connecting
        alone, and for retries.
        """
        async with _port() as (port, _server):
            await _fails(subject, any_layout, _at(subject, port))


async def _fails(subject: Subject, layout: Layout, endpoint: str) -> None:
    with anyio.fail_after(60), pytest.raises(_DEAD) as caught:
        async with subject.opened(layout, endpoint=endpoint, timeout=1.0) as adapter:
            # Some services can be asked questions and nothing else.
            await adapter.search(make_query("nobody there", TenantId("acme"), subject.modes[0]))
    _no_secret(caught.value, subject)


def _no_secret(error: BaseException, subject: Subject) -> None:
    shown: list[str] = []
    current: BaseException | None = error
    while current is not None:
        shown.append(str(current))
        current = current.__cause__
    values = [s.reveal() for name, s in subject.secrets.items() if name != "user"]
    for value in (MARKER, *values):
        assert not value or value not in "\n".join(shown), "the text shows a credential"


def _at(subject: Subject, port: int) -> str:
    """The endpoint with another port of this machine."""
    parts = urlsplit(subject.endpoint)
    if not parts.netloc:
        not_on_a_server()
    return urlunsplit(parts._replace(netloc=f"127.0.0.1:{port}"))


@asynccontextmanager
async def _port() -> AsyncIterator[tuple[int, asyncio.Server]]:
    """A port of this machine that accepts and says nothing."""
    writers: list[asyncio.StreamWriter] = []

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], server
    finally:
        server.close()
        for writer in writers:
            writer.close()
