"""PostgreSQL with pgvector, over psycopg 3 with binary vectors and held connections.

Differences from the other backends:
- score: dense 1 - cosine distance, -1..1 (or the inner product, or the negative distance);
  lexical `ts_rank_cd` (or `ts_rank`), which is not BM25: it knows no inverse document
  frequency, so common words weigh as much as rare ones; hybrid Σ weight / (rrf_k + rank)
  over the two legs, fused by the server in one statement.
- words: the text search configuration makes lexemes of the question, of which a chunk must
  hold at least one. None of the question's text reaches the parser of tsquery.
- ties: by uid among what was found. Which of several equal chunks an HNSW scan finds first
  is its own affair; with `exact = true` and in lexical mode ties are by uid throughout.
- visibility: `put` copies into a table aside; `settle` merges it into the searched one.
- filter: the planner decides between the HNSW index, filtering afterwards, and the tenant's
  rows, sorted exactly. With `hnsw.iterative_scan = off` small tenants starve.
- statistics: lexical scores depend on the chunk alone, never on other tenants.
- layout `partition`: a LIST partition, with an HNSW graph of its own, per tenant.
- layout `index`: the same tables, but a question names its tenant's table itself and has no
  tenant condition; a tenant without a table is answered without a request.
- layout `rls`: the questions have no tenant condition either; a forced policy adds it, for a
  login role of this place. `@@` is not leakproof, so under a policy the server cannot use the
  GIN index: it reads the tenant's rows by the index on the tenant and tests their words.
- a place is a schema, and in layout `rls` a role; both go when it is closed. With `resume` they
  stay until they were settled, and `put` writes to a logged table, which takes longer.
- an attached table is read in sessions whose transactions are read-only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, Self

from pgvector.psycopg import register_vector_async
from psycopg.errors import QueryCanceled
from psycopg.sql import SQL, Composed, Literal

from retrieverbench.adapter import NOBODY, Description, Settings
from retrieverbench.errors import AdapterError, Rejected, Unsupported
from retrieverbench.model import Chunk, Hit, Plan, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench.remote import NAME_IT
from retrieverbench_adapters.pgvector.attach import bind, find
from retrieverbench_adapters.pgvector.catalog import Catalog, read_catalog
from retrieverbench_adapters.pgvector.connections import (
    Connection,
    HeldConnections,
    deadline,
    is_pooled,
    make_dsn,
    mapped_errors,
    set_for_session,
)
from retrieverbench_adapters.pgvector.describing import describe, server_settings
from retrieverbench_adapters.pgvector.explaining import explain
from retrieverbench_adapters.pgvector.loading import OwnPlace
from retrieverbench_adapters.pgvector.options import Options, check_settings
from retrieverbench_adapters.pgvector.requests import Sender, TenantVariable
from retrieverbench_adapters.pgvector.statements import (
    Statement,
    check_vector,
    count_statement,
    get_statement,
    search_parameters,
    search_statement,
    words_of,
)
from retrieverbench_adapters.pgvector.table import (
    Parameters,
    Table,
    checked_tenant,
    is_storable,
    own_table,
    schema_name,
    search_condition,
    tenant_predicate,
)
from retrieverbench_adapters.pgvector.weaknesses import Usable

__all__ = ["Options", "Pgvector"]

_READ_BACK = "SELECT name, current_setting(name) FROM unnest(%s::text[]) name"


class Pgvector:
    """A place of our own, or a table of the user's; and connections that search it."""

    options: ClassVar[type] = Options
    address: ClassVar[str] = "postgresql://USER@HOST:5432/DATABASE"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {
            "dense", "lexical", "hybrid", "filter", "partition", "index", "rls", "put", "attach",
            "get", "delete", "move", "explain", "total", "record", "where", "exact", "resume",
            "remove",
        }
    )  # fmt: skip
    filter_modes: ClassVar[Mapping[str, Mapping[str, Mapping[str, object]]]] = {
        f"index forced, iterative scan {scan}": {
            "search": {"force_index": True, "iterative_scan": scan}
        }
        for scan in ("off", "strict_order", "relaxed_order")
    }

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings, self._options = settings, options
        self._sender = Sender(settings.recorder)
        self._own = None if settings.attached else OwnPlace(settings, options, self._sender)
        self._table = own_table(settings, options)
        self._usable, self._pooled = Usable(), False
        self._statements: dict[tuple[object, ...], Statement] = {}  # by shape, without values
        self._searchers = self._connections()

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Make the schema, which must not exist, or check the user's table; connect.

        One connection is opened for each search in flight.
        """
        options = parse_options(Options, settings.options, "pgvector: options")
        check_settings(settings, options, cls.capabilities)
        adapter = cls(settings, options)
        try:
            with mapped_errors("open"):
                await adapter._open()
        except BaseException:
            await adapter.close()
            raise
        return adapter

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """The schema, and in layout `rls` the role, of this place."""
        options = parse_options(Options, settings.options, "pgvector: options")
        place = OwnPlace(settings, options, Sender(settings.recorder))
        with mapped_errors("remove"):
            await place.remove()

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Binary COPY into the table aside; all of them or none."""
        with mapped_errors("put"):
            await self._writable("put").put(chunks)

    async def settle(self) -> None:
        """Merge what was put, the latest of each uid; build the indexes; gather statistics."""
        with mapped_errors("settle"):
            await self._writable("settle").settle()

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """At once and in one transaction, also of what is not settled yet."""
        with mapped_errors("delete"):
            await self._writable("delete").delete(tenant, uids)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """An UPDATE of the owner; in layouts with a table per tenant the row changes tables."""
        with mapped_errors("move"):
            await self._writable("move").move(uid, source, target)

    async def search(self, query: Query) -> Response:
        """One prepared statement with a custom plan; each leg has the tenant's condition."""
        check_vector(query, self._settings.dimension, self._options.place.metric)
        table = self._table_of(query.tenant)
        counted = "total" in query.want
        if table is None:
            return Response([], total=0 if counted else None)
        statement, parameters, condition = self._question(table, query)
        variable, total = self._variable(table, query.tenant), None
        with mapped_errors("search"):
            async with self._searchers.take() as connection:
                rows = await self._sender.ask(
                    connection, "search", statement, parameters, table, variable
                )
                if counted:
                    total = await self._total(connection, table, query, condition)
        return Response(self._hits(rows), total=total)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """Under the same condition as a search, in the order of uids."""
        table = self._table_of(tenant)
        if table is None:
            return []
        condition, parameters = tenant_predicate(table, tenant)
        statement = get_statement(table, condition)
        parameters["uids"] = [uid for uid in uids if is_storable(uid)]
        variable = self._variable(table, tenant)
        with mapped_errors("get"):
            async with self._searchers.take() as connection:
                rows = await self._sender.ask(
                    connection, "get", statement, parameters, table, variable
                )
        return self._hits(rows)

    async def explain(self, query: Query) -> Plan:
        """The plan of the statement that a search has prepared on the same connection."""
        check_vector(query, self._settings.dimension, self._options.place.metric)
        table = self._table_of(query.tenant)
        if table is None:
            return Plan(("this tenant has no table: answered without a request",))
        statement, parameters, _ = self._question(table, query)
        variable = self._variable(table, query.tenant)
        with mapped_errors("explain"):
            async with self._searchers.take() as connection:
                await self._sender.ask(
                    connection, "explain", statement, parameters, table, variable
                )
                return await explain(
                    self._sender,
                    connection,
                    statement,
                    parameters,
                    variable,
                    self._options.search,
                    tenant=self._tenant_column,
                    tables=self._own.tables_of_one_tenant() if self._own else (),
                )

    async def describe(self) -> Description:
        """Settings of every connection, indexes, columns and rights, as the server tells them."""
        settings, attached = self._settings, self._settings.attached
        with mapped_errors("describe"):
            told = await self._settings_of_searchers()
            async with self._searchers.take() as connection:
                found = await self._catalog(connection)
                chunks = await (self._own.count() if self._own else self._counted(connection))
            if self._own:
                told["maintenance_work_mem"] = await self._own.build_memory()
        return describe(
            found,
            settings,
            self._options,
            tenant=self._tenant_column,
            vector=attached.vector if attached else "vector",
            told=told,
            chunks=chunks,
            usable=self._usable,
            pooled=self._pooled,
        )

    async def close(self) -> None:
        """Close every connection; drop the schema and the role if we made them."""
        await self._searchers.close()
        if self._own:
            await self._own.close()

    @property
    def _tenant_column(self) -> str:
        return self._settings.attached.tenant if self._settings.attached else "tenant"

    async def _open(self) -> None:
        if self._own:
            await self._own.make()
            self._searchers = self._connections()  # as the role that was made
        await self._searchers.fill(1)
        if self._settings.attached:
            async with self._searchers.take() as connection:
                self._table, self._usable = await bind(
                    self._sender, connection, self._settings, self._options
                )
        await self._searchers.fill(self._settings.concurrency - 1)

    def _connections(self) -> HeldConnections:
        role = self._own.role if self._own else self._settings.secrets
        dsn = make_dsn(self._settings, self._options.connect, role)
        return HeldConnections(dsn, self._prepare, self._settings.timeout)

    async def _prepare(self, connection: Connection) -> None:
        if await is_pooled(connection):
            if self._settings.attached:
                raise Unsupported(
                    "pgvector: open: a pooler stands before the server, so settings of our "
                    "sessions could reach others; give the address of the server itself"
                )
            self._pooled = True
        if self._settings.attached:
            await set_for_session(connection, {"default_transaction_read_only": "on"})
        if self._settings.dimension:
            await register_vector_async(connection)
            await connection.execute("SELECT '[1]'::vector")  # loads the library, and its settings
        await set_for_session(connection, self._session_settings())
        await set_for_session(connection, deadline(self._settings.timeout))

    def _session_settings(self) -> dict[str, str]:
        return server_settings(self._options.search, vectors=self._settings.dimension > 0)

    def _writable(self, doing: str) -> OwnPlace:
        if self._own is None:
            raise Rejected(f"pgvector: {doing}: an attached table is only read")
        return self._own

    def _table_of(self, tenant: TenantId) -> Table | None:
        """What this tenant's questions read; None in layout `index` if there is no such table."""
        value = checked_tenant(tenant)
        if self._own and self._table.boundary == "table":
            return self._own.tables.get(value)
        return self._table

    def _hits(self, rows: Sequence[tuple[Any, ...]]) -> list[Hit]:
        if self._settings.attached and not all(row[0] for row in rows):
            field = self._settings.attached.id
            raise AdapterError(f"pgvector: attach.id: a row has no {field!r}", remedy=NAME_IT)
        return [Hit(*row) for row in rows]

    def _variable(self, table: Table, tenant: TenantId) -> TenantVariable | None:
        if table.boundary != "policy":
            return None
        return TenantVariable(self._options.search.tenant_setting, checked_tenant(tenant))

    def _question(self, table: Table, query: Query) -> tuple[Statement, Parameters, Composed]:
        """The statement of this shape, made once, and what this question binds."""
        condition, parameters = search_condition(table, query)
        parameters |= search_parameters(self._options.search, query)
        own = query.tenant.value if table.boundary == "table" else ""
        shape = query.mode, "text" in query.want, tuple(query.where), own
        if shape not in self._statements:
            self._statements[shape] = search_statement(table, self._options, condition, query)
        return self._statements[shape], parameters, condition

    async def _total(
        self, connection: Connection, table: Table, query: Query, condition: Composed
    ) -> int:
        statement = count_statement(table, self._options, condition, query)
        _, parameters = search_condition(table, query)
        if query.mode == "lexical":
            parameters["text"] = words_of(query)
        variable = self._variable(table, query.tenant)
        rows = await self._sender.ask(connection, "total", statement, parameters, table, variable)
        return int(rows[0][0])

    async def _catalog(self, connection: Connection) -> Catalog:
        if self._settings.attached:
            return await find(self._sender, connection, self._settings.attached)
        name = schema_name(self._settings.place)
        found = await read_catalog(self._sender, connection, name, "chunks")
        if found is None:
            raise AdapterError(f"pgvector: describe: schema {name!r} is gone")
        return found

    async def _counted(self, connection: Connection) -> dict[str, int] | None:
        """Rows per tenant of an attached table; None if that takes too long or is hidden."""
        if self._table.boundary == "policy":
            return None
        count = SQL("SELECT coalesce({}::text, {}), count(*) FROM {} AS t GROUP BY 1")
        statement = count.format(self._table.tenant, Literal(NOBODY), self._table.relation)
        try:
            return dict(await self._sender.execute(connection, "describe", statement))
        except QueryCanceled:
            return None

    async def _settings_of_searchers(self) -> dict[str, str]:
        """Each setting's value; when connections differ, all values."""
        names = list(self._session_settings())
        found: dict[str, set[str]] = {name: set() for name in names}
        async with AsyncExitStack() as stack:
            for _ in range(self._settings.concurrency):
                connection = await stack.enter_async_context(self._searchers.take())
                rows = await self._sender.execute(connection, "describe", _READ_BACK, [names])
                for name, value in rows:
                    found[name].add(value)
        return {name: " and ".join(sorted(values)) for name, values in found.items()}
