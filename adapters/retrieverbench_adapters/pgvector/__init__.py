"""PostgreSQL with pgvector, over psycopg 3 with binary vectors and held connections.

Differences from the other backends:
- score: dense 1 - cosine distance, -1..1; lexical `ts_rank_cd` (or `ts_rank`), which is not
  BM25: it knows no inverse document frequency, so common words weigh as much as rare ones;
  hybrid Σ 1 / (rrf_k + rank) over the two legs, fused by the server in one statement.
- words: the text search configuration makes lexemes of the question, of which a chunk must
  hold at least one. None of the question's text reaches the parser of tsquery.
- ties: by uid among what was found. Which of several equal chunks an HNSW scan finds first
  is its own affair; with `exact = true` and in lexical mode ties are by uid throughout.
- visibility: `put` copies into a table aside; `settle` merges it into the searched one.
- filter: the planner decides between the HNSW index, filtering afterwards, and the tenant's
  rows, sorted exactly. With `hnsw.iterative_scan = off` small tenants starve.
- statistics: lexical scores depend on the chunk alone, never on other tenants.
- layout `partition`: a LIST partition, with an HNSW graph of its own, per tenant.
- a place is a schema; `total` is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from importlib.metadata import version
from typing import ClassVar, Self

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg.sql import SQL, Identifier

from retrieverbench.adapter import Description, Settings
from retrieverbench.model import Chunk, Hit, Mode, Query, Response
from retrieverbench.options import parse_options
from retrieverbench_adapters.pgvector.connections import (
    Connection,
    HeldConnections,
    deadline,
    make_dsn,
    mapped_errors,
    set_for_session,
)
from retrieverbench_adapters.pgvector.options import Options, check_settings
from retrieverbench_adapters.pgvector.statements import (
    CREATE_EXTENSION,
    FACTS,
    HAS_EXTENSION,
    IN_STATEMENT,
    READ_BACK,
    check_vector,
    checked_tenant,
    copy_row,
    index_statements,
    listed,
    merge_statements,
    partition_statement,
    place_statements,
    schema_name,
    search_condition,
    search_parameters,
    search_statement,
    sent_columns,
    server_settings,
)

__all__ = ["Options", "Pgvector"]


class Pgvector:
    """A schema of our own with one table of chunks."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "partition", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings, self._options = settings, options
        self._name = schema_name(settings.place)
        self._schema = Identifier(self._name)
        dsn = make_dsn(settings, options.connect)
        self._created = False
        self._statements: dict[tuple[Mode, bool, int], bytes] = {}  # by shape, without values
        self._loader = HeldConnections(dsn, self._prepare_loader, settings.timeout)
        self._searchers = HeldConnections(dsn, self._prepare_searcher, settings.timeout)

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect once per search in flight and make the schema, which must not exist."""
        options = parse_options(Options, settings.options, "pgvector: options")
        check_settings(settings, cls.capabilities)
        adapter = cls(settings, options)
        try:
            with mapped_errors("open"):
                await adapter._loader.fill(1)
                await adapter._make_place()
                await adapter._searchers.fill(settings.concurrency)
        except BaseException:
            await adapter.close()
            raise
        return adapter

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Binary COPY into the table aside; all of them or none."""
        columns = sent_columns(self._settings.dimension)
        for chunk in chunks:
            checked_tenant(chunk.tenant)
        copy_in = SQL("COPY {}.incoming ({}) FROM STDIN (FORMAT BINARY)").format(
            self._schema, listed(columns)
        )
        with mapped_errors("put"):
            async with (
                self._loader.take() as connection,
                connection.cursor() as cursor,
                cursor.copy(copy_in) as copy,
            ):
                for chunk in chunks:
                    await copy.write_row(copy_row(chunk, with_vector="vector" in columns))

    async def settle(self) -> None:
        """Merge what was put, the latest of each uid; build the indexes; gather statistics."""
        with mapped_errors("settle"):
            async with self._loader.take() as connection:
                async with connection.transaction():
                    if self._settings.layout == "partition":
                        await self._make_partitions(connection)
                    for statement in merge_statements(self._schema, self._settings):
                        await connection.execute(statement)
                for statement in index_statements(
                    self._schema, self._settings, self._options.place
                ):
                    await connection.execute(statement)

    async def search(self, query: Query) -> Response:
        """One prepared statement with a custom plan; the tenant is bound in every leg."""
        check_vector(query, self._settings.dimension)
        condition, parameters = search_condition(query)
        parameters |= search_parameters(self._options.search, query)
        shape = query.mode, "text" in query.want, len(query.where)
        if shape not in self._statements:
            composed = search_statement(self._schema, self._options, condition, query)
            self._statements[shape] = composed.as_bytes()
        statement = self._statements[shape]
        with mapped_errors("search"):
            async with self._searchers.take() as connection:
                cursor = await connection.execute(statement, parameters, prepare=True, binary=True)
                rows = await cursor.fetchall()
        return Response([Hit(*row) for row in rows])

    async def describe(self) -> Description:
        """Settings of every connection, indexes and columns, all as the server tells them."""
        count = SQL("SELECT tenant, count(*) FROM {}.chunks GROUP BY tenant").format(self._schema)
        with mapped_errors("describe"):
            async with self._loader.take() as connection:
                cursor = await connection.execute(FACTS, {"schema": self._name})
                facts: dict[str, object] = (await cursor.fetchall())[0][0]
                chunks = dict(await (await connection.execute(count)).fetchall())
            facts |= await self._settings_of_searchers()
        sent = asdict(self._options.search)
        in_statement = {name: sent[name] for name in IN_STATEMENT}
        exact = self._options.search.exact or facts["index"] == "none"
        return Description(
            server="PostgreSQL with pgvector",
            server_version=f"{facts.pop('server')}, pgvector {facts.pop('extension')}",
            client="psycopg",
            client_version=f"{psycopg.__version__}, pgvector {version('pgvector')}",
            settings=facts | in_statement | {"layout": self._settings.layout},
            chunks=chunks,
            properties=frozenset() if exact else frozenset({"approximate"}),
            unchecked=(f"{', '.join(IN_STATEMENT)}: written into each statement, not kept",),
        )

    async def close(self) -> None:
        """Drop the schema if we made it, and close every connection."""
        await self._searchers.close()
        try:
            if self._created:
                drop = SQL("DROP SCHEMA {} CASCADE").format(self._schema)
                with mapped_errors(f"close: schema {self._name!r} may be left"):
                    async with self._loader.take() as connection:
                        await connection.execute(drop)
        finally:
            self._created = False
            await self._loader.close()

    async def _prepare_loader(self, connection: Connection) -> None:
        limit = self._options.connect.settle_timeout
        memory = self._options.place.maintenance_work_mem
        await set_for_session(connection, {"maintenance_work_mem": memory, **deadline(limit)})
        if not await (await connection.execute(HAS_EXTENSION)).fetchone():
            await connection.execute(CREATE_EXTENSION)
        await register_vector_async(connection)

    async def _prepare_searcher(self, connection: Connection) -> None:
        await register_vector_async(connection)
        await connection.execute("SELECT '[1]'::vector")  # loads the library, with its settings
        await set_for_session(connection, server_settings(self._options.search))
        await set_for_session(connection, deadline(self._settings.timeout))

    async def _make_place(self) -> None:
        async with self._loader.take() as connection, connection.transaction():
            for statement in place_statements(self._schema, self._settings, self._options.place):
                await connection.execute(statement)
        self._created = True

    async def _make_partitions(self, connection: Connection) -> None:
        cursor = await connection.execute(
            SQL("SELECT DISTINCT tenant FROM {}.incoming").format(self._schema)
        )
        for (tenant,) in await cursor.fetchall():
            await connection.execute(partition_statement(self._schema, tenant))

    async def _settings_of_searchers(self) -> dict[str, str]:
        """Each setting's value; when connections differ, all values."""
        names = list(server_settings(self._options.search))
        found: dict[str, set[str]] = {name: set() for name in names}
        async with AsyncExitStack() as stack:
            for _ in range(self._settings.concurrency):
                connection = await stack.enter_async_context(self._searchers.take())
                for name, value in await (await connection.execute(READ_BACK, [names])).fetchall():
                    found[name].add(value)
        return {name: " and ".join(sorted(values)) for name, values in found.items()}
