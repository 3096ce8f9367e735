"""A place of our own, on the connection that makes, fills and removes it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pgvector.psycopg import register_vector_async
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Composed, Identifier

from retrieverbench.adapter import Leg, Secret, Settings
from retrieverbench.errors import BackendError, Refused, Rejected, Unavailable
from retrieverbench.model import Chunk, TenantId
from retrieverbench_adapters.pgvector import own_place
from retrieverbench_adapters.pgvector.connections import (
    Connection,
    HeldConnections,
    deadline,
    make_dsn,
    mapped_errors,
    set_for_session,
)
from retrieverbench_adapters.pgvector.options import Options
from retrieverbench_adapters.pgvector.requests import Sender, shown_condition
from retrieverbench_adapters.pgvector.table import (
    Parameters,
    Table,
    checked_tenant,
    is_storable,
    own_table,
    partition_name,
    role_name,
    schema_name,
    tenant_predicate,
)

_HAS_EXTENSION = "SELECT 1 FROM pg_extension WHERE extname = 'vector'"
_HAS_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
_READ_MEMORY = "SELECT current_setting('maintenance_work_mem')"
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"
_LOCK_ATTEMPTS, _LOCK_PAUSE = 20, 0.1
"""A session whose client is gone keeps its lock until the server sees that."""


class OwnPlace:
    """A schema with one table of chunks, or one for each tenant, and perhaps a role.

    `role` are the credentials that searches use. `tables` are those of single tenants, by
    the tenant's value; they are filled where the layout has them.
    """

    def __init__(self, settings: Settings, options: Options, sender: Sender) -> None:
        self.role: Mapping[str, Secret] = settings.secrets
        self.tables: dict[str, Table] = {}
        self._settings, self._options, self._sender = settings, options, sender
        self._name = schema_name(settings.place)
        self._schema = Identifier(self._name)
        # Row security does not bind the loading role: it keeps to one tenant by condition.
        self._written = replace(own_table(settings, options), boundary="query", barrier="")
        self._made, self._made_role, self._settled = False, False, False
        self._locked = False
        dsn = make_dsn(settings, options.connect, settings.secrets)
        self._held = HeldConnections(dsn, self._prepare, settings.timeout)

    async def make(self) -> None:
        """Connect and make the schema, or take the one of a load that was broken off.

        Without `resume` the schema must not exist.
        """
        await self._held.fill(1)
        settings = self._settings
        async with self._held.take() as connection, connection.transaction():
            if settings.resume and await self._is_there(connection):
                await self._take_over(connection)
            else:
                statements = own_place.place_statements(self._schema, settings, self._options.place)
                await self._execute_all(connection, "open", statements)
                if settings.layout == "rls":
                    await self._secure(connection)
        self._made = True

    async def remove(self) -> None:
        """Drop what a run that was killed left here, unless a session holds its lock."""
        secured = self._settings.layout == "rls" and "search_user" not in self._settings.secrets
        await self._held.fill(1)
        self._made, self._made_role, self._settled = True, secured, True
        await self.close()

    def tables_of_one_tenant(self) -> list[str]:
        """Their names in the schema."""
        return [partition_name(tenant) for tenant in self.tables]

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Binary COPY into the table aside; all of them or none."""
        dimension = self._settings.dimension
        for chunk in chunks:
            checked_tenant(chunk.tenant)
        copy_in = own_place.copy_statement(self._schema, dimension)
        shown = {"uids": [chunk.uid for chunk in chunks]} if self._sender.recorder else None
        async with (
            self._held.take() as connection,
            self._sender.recorded(connection, "put", copy_in.as_string(), shown),
            connection.cursor() as cursor,
            cursor.copy(copy_in) as copy,
        ):
            for chunk in chunks:
                await copy.write_row(own_place.copy_row(chunk, with_vector=dimension > 0))

    async def settle(self) -> None:
        """Merge what was put, the latest of each uid; build the indexes; gather statistics."""
        settings = self._settings
        async with self._held.take() as connection:
            async with connection.transaction():
                await self._merge(connection, "settle")
            build = own_place.index_statements(self._schema, settings, self._options)
            await self._execute_all(connection, "settle", build)
        self._settled = True

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Remove the tenant's own among these, whether settled or not."""
        condition, bound = tenant_predicate(self._written, tenant)
        statements = own_place.delete_statements(self._schema, condition)
        bound["uids"] = [uid for uid in uids if is_storable(uid)]
        await self._write("delete", statements, condition, bound)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Give a chunk of `source` to `target`, whether settled or not."""
        condition, bound = tenant_predicate(self._written, source)
        bound |= {"uid": uid if is_storable(uid) else None, "target": checked_tenant(target)}
        if own_place.has_partitions(self._settings):
            async with self._held.take() as connection:
                await self._make_table(connection, "move", checked_tenant(target))
        statements = own_place.move_statements(self._schema, condition)
        await self._write("move", statements, condition, bound)

    async def count(self) -> dict[str, int]:
        """Rows per tenant, by the tenant column."""
        count = SQL("SELECT tenant, count(*) FROM {}.chunks GROUP BY tenant").format(self._schema)
        async with self._held.take() as connection:
            return dict(await self._sender.execute(connection, "describe", count))

    async def build_memory(self) -> str:
        """`maintenance_work_mem` as the connection has it that builds the indexes."""
        async with self._held.take() as connection:
            rows = await self._sender.execute(connection, "describe", _READ_MEMORY)
        return str(rows[0][0])

    async def close(self) -> None:
        """Drop what was made, and close the connection; leave what can be resumed."""
        try:
            if self._made and (self._settled or not self._settings.resume):
                role = role_name(self._settings.place) if self._made_role else ""
                drop = own_place.drop_statements(self._schema, role)
                left = f"schema {self._name!r}" + (f" and role {role!r}" if role else "")
                with mapped_errors(f"close: {left} may be left"):
                    async with self._held.take() as connection, connection.transaction():
                        await self._execute_all(connection, "close", drop)
            if self._locked:
                await self._unlock()
        finally:
            self._made = self._locked = False
            await self._held.close()

    async def _lock(self, connection: Connection) -> None:
        """Keep this place to this session, also from runs on other machines."""
        for _ in range(_LOCK_ATTEMPTS):
            [(is_ours,)] = await self._sender.execute(connection, "open", _LOCK, [self._name])
            if is_ours:
                self._locked = True
                return
            await asyncio.sleep(_LOCK_PAUSE)
        raise Unavailable(
            f"pgvector: open: another run is using this place: schema {self._name!r} is locked by "
            "another session of this server",
            remedy="wait until it has ended, or give this suite another name",
        )

    async def _unlock(self) -> None:
        """At once: the end of a session is seen by the server only later, but frees it too."""
        with suppress(BackendError), mapped_errors("close"):
            async with self._held.take() as connection:
                await self._sender.execute(connection, "close", _UNLOCK, [self._name])

    async def _is_there(self, connection: Connection) -> bool:
        found = await self._sender.execute(connection, "open", _HAS_TABLES, [self._name])
        tables = {name for (name,) in found}
        if tables and not tables >= {"chunks", "incoming"}:
            raise Rejected(
                f"pgvector: open: schema {self._name!r} is no place of ours to resume; "
                "drop it if nobody needs it"
            )
        return bool(tables)

    async def _take_over(self, connection: Connection) -> None:
        """What was put becomes readable by id; tables and role of the place become ours."""
        if own_place.has_partitions(self._settings):
            tenants = SQL("SELECT DISTINCT tenant FROM {}.chunks").format(self._schema)
            for (tenant,) in await self._sender.execute(connection, "open", tenants):
                self.tables[tenant] = own_table(self._settings, self._options, tenant)
        await self._merge(connection, "open")
        if self._settings.layout == "rls":
            if "search_user" in self._settings.secrets:
                self._take_given_role()
            else:
                await self._make_role(connection, own_place.reset_role)

    async def _merge(self, connection: Connection, operation: str) -> None:
        if own_place.has_partitions(self._settings):
            await self._make_tables(connection, operation)
        merge = own_place.merge_statements(self._schema, self._settings)
        await self._execute_all(connection, operation, merge)

    async def _secure(self, connection: Connection) -> None:
        """Row security for the role that the user named, or for one that is made here."""
        if "search_user" in self._settings.secrets:
            role = self._take_given_role()
        else:
            role = await self._make_role(connection, own_place.create_role)
        setting = self._options.search.tenant_setting
        statements = own_place.security_statements(self._schema, role, setting)
        await self._execute_all(connection, "open", statements)

    def _take_given_role(self) -> Identifier:
        given = self._settings.secrets
        self.role = {"user": given["search_user"], "password": given["search_password"]}
        return Identifier(given["search_user"].reveal())

    async def _make_role(
        self, connection: Connection, statement: Callable[[Identifier, str], Composed]
    ) -> Identifier:
        """A password for the role of this place, which `statement` makes or changes."""
        name, password = role_name(self._settings.place), secrets.token_urlsafe(24)
        # The password itself never reaches the server, where its log could keep it.
        verifier = connection.pgconn.encrypt_password(
            password.encode(), name.encode(), b"scram-sha-256"
        ).decode()
        create = statement(Identifier(name), verifier)
        shown = statement(Identifier(name), "***").as_string()
        try:
            await self._sender.execute(connection, "open", create, shown=shown)
        except InsufficientPrivilege as error:
            raise Refused(
                "pgvector: open: this role may not create the one that searches under row-level "
                "security",
                remedy="grant it CREATEROLE, or name a role by search_user and search_password",
            ) from error
        self.role = {"user": Secret(name), "password": Secret(password)}
        self._made_role = True
        return Identifier(name)

    async def _make_tables(self, connection: Connection, operation: str) -> None:
        tenants = SQL("SELECT DISTINCT tenant FROM {}.incoming").format(self._schema)
        for (tenant,) in await self._sender.execute(connection, operation, tenants):
            await self._make_table(connection, operation, tenant)

    async def _make_table(self, connection: Connection, operation: str, tenant: str) -> None:
        create = own_place.partition_statement(self._schema, tenant)
        await self._sender.execute(connection, operation, create)
        self.tables[tenant] = own_table(self._settings, self._options, tenant)

    async def _write(
        self, operation: str, statements: Sequence[Composed], condition: Composed, bound: Parameters
    ) -> None:
        kept = shown_condition(self._written, condition.as_string(), bound, None)
        async with self._held.take() as connection, connection.transaction():
            for statement in statements:
                await self._sender.execute(
                    connection, operation, statement, bound, legs=[Leg(operation, kept)]
                )

    async def _execute_all(
        self, connection: Connection, operation: str, statements: Sequence[Composed]
    ) -> None:
        for statement in statements:
            await self._sender.execute(connection, operation, statement)

    async def _prepare(self, connection: Connection) -> None:
        if self._settings.resume:
            await self._lock(connection)
        limit = self._options.connect.settle_timeout
        memory = self._options.place.maintenance_work_mem
        await set_for_session(connection, {"maintenance_work_mem": memory, **deadline(limit)})
        if not await self._sender.execute(connection, "open", _HAS_EXTENSION):
            await self._sender.execute(connection, "open", own_place.CREATE_EXTENSION)
        await register_vector_async(connection)
