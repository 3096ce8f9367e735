"""Connections, and what is told when something goes wrong on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, conninfo, errors
from psycopg.pq import TransactionStatus

from retrieverbench.adapter import Secret, Settings
from retrieverbench.errors import (
    BackendError,
    Code,
    InputError,
    Refused,
    Rejected,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench_adapters.pgvector.options import Connect

Connection = AsyncConnection[tuple[Any, ...]]


class HeldConnections:
    """Connections held open, one per request in flight; a broken one is replaced when next used."""

    def __init__(
        self, dsn: str, prepare: Callable[[Connection], Awaitable[None]], timeout: float
    ) -> None:
        self._dsn, self._prepare, self._timeout = dsn, prepare, timeout
        self._idle: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        self._closed = False

    async def fill(self, count: int) -> None:
        """Open `count` connections, one after another."""
        for _ in range(count):
            self._idle.put_nowait(await self._connect())

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Connection]:
        """A connection for one request. Raises Unavailable when none gets free in time."""
        if self._closed:
            raise Unavailable("pgvector: this place was closed; open a new one")
        try:
            async with asyncio.timeout(self._timeout):
                connection = await self._idle.get()
        except TimeoutError as error:
            raise Unavailable(
                f"pgvector: no connection was free for {self._timeout:g} s; raise concurrency",
                code=Code.POOL_TIMEOUT,
            ) from error
        try:
            if connection.closed:
                connection = await self._connect()
            yield connection
        finally:
            # Whatever ended the request: no open transaction, no unread answer for the next.
            idle = connection.info.transaction_status == TransactionStatus.IDLE
            if self._closed or not idle:
                connection.pgconn.finish()
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        """Close those that are idle; nothing can be taken afterwards."""
        self._closed = True
        while not self._idle.empty():
            await self._idle.get_nowait().close()

    async def _connect(self) -> Connection:
        connection = await AsyncConnection.connect(self._dsn, autocommit=True)
        connection.prepared_max = 1_000  # in layout `index` each tenant has statements of its own
        try:
            await self._prepare(connection)
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection


async def is_pooled(connection: Connection) -> bool:
    """Whether something between us and the server lends us the sessions of others."""
    cursor = await connection.execute("SELECT pg_backend_pid()")
    return await cursor.fetchone() != (connection.info.backend_pid,)


async def set_for_session(connection: Connection, settings: dict[str, str]) -> None:
    """Set and check each setting. Raises Unsupported for one that this server does not know."""
    for name, value in settings.items():
        try:
            await connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        except (errors.UndefinedObject, errors.InvalidName) as error:
            raise Unsupported(
                f"pgvector: {_text(error)}; install pgvector 0.8 or later on the server"
            ) from error


@contextmanager
def mapped_errors(doing: str) -> Iterator[None]:
    """Raise every error of psycopg as the one of ours that fits, with PostgreSQL's words."""
    try:
        yield
    except psycopg.Error as error:
        kind, remedy = _kind(error)
        raise kind(f"pgvector: {doing}: {_text(error)}", remedy=remedy) from error
    except UnicodeError as error:
        raise Rejected(f"pgvector: {doing}: the text is not Unicode: {error}") from error


def make_dsn(settings: Settings, connect: Connect, role: Mapping[str, Secret]) -> str:
    """The endpoint with what it must not carry itself, as this role; never to be shown."""
    try:
        parts: dict[str, Any] = conninfo.conninfo_to_dict(settings.endpoint)
    except psycopg.ProgrammingError:
        raise InputError(
            "pgvector: endpoint: this is no address of PostgreSQL; "
            "write postgresql://host:port/database"
        ) from None
    secrets = {name: role[name].reveal() for name in ("user", "password") if name in role}
    own = {
        "application_name": "retrieverbench",
        "connect_timeout": connect.connect_timeout,
        "tcp_user_timeout": round(settings.timeout * 1000),
    }
    return conninfo.make_conninfo("", **(parts | own | secrets))


def deadline(seconds: float) -> dict[str, str]:
    """The setting that ends a statement after this time, on the server."""
    return {"statement_timeout": f"{max(1, round(seconds * 1000))}ms"}


def _text(error: psycopg.Error) -> str:
    """PostgreSQL's message and hint in one line; its details may quote what is stored."""
    parts = [error.diag.message_primary or str(error), error.diag.message_hint]
    return " ".join("; hint: ".join(part for part in parts if part).split())


_AUTHENTICATION = re.compile(r"authentication failed|no password supplied|pg_hba|role .* not exist")


_NO_DATABASE = re.compile(r'database ".*" does not exist')


def _kind(error: psycopg.Error) -> tuple[type[BackendError], str]:
    """What the reader can do about it, by SQLSTATE; failed connections carry none."""
    state = error.sqlstate or ""
    if isinstance(error, (errors.QueryCanceled, errors.ConnectionTimeout)):
        return TimedOut, ""
    if state.startswith("28") or state == "42501" or _AUTHENTICATION.search(str(error)):
        return Refused, "check the secrets user and password, and the role's rights"
    if _NO_DATABASE.search(str(error)):
        return Unavailable, "name a database of this server at the end of the endpoint"
    if state == "25006":
        return Rejected, "an attached table is only read"
    if state == "42P06":
        return Rejected, "choose another place, or drop this schema if nobody needs it"
    if state.startswith("0A"):
        return Unsupported, ""
    lost = not state and isinstance(error, psycopg.OperationalError)
    if lost or state[:2] in {"08", "53", "57"}:
        return Unavailable, (
            "check host, port and database of the endpoint, and that the server runs and takes "
            "this many connections"
        )
    return Rejected, ""
