"""A user's own table in a server, and a role that may read it and nothing else."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pgvector.psycopg import register_vector_async

from pgvector_support import ACME, DIMENSION, GLOBEX, connect, make_chunks, settings_for
from retrieverbench.adapter import Attached, Leg, Secret, Settings
from retrieverbench.engines import Started
from retrieverbench.model import Chunk
from retrieverbench_adapters.pgvector import Pgvector

DOCS = Attached(
    name="shop.docs",
    id="doc_id",
    tenant="owner",
    text=("body",),
    vector="embedding",
    metadata={"year": "year", "public": "public", "topic": "topic", "lang": "meta.lang"},
)
CHUNKS = [*make_chunks(ACME, 40), *make_chunks(GLOBEX, 40)]
TABLE = f"""
CREATE TABLE shop.docs (
    doc_id text PRIMARY KEY, owner text NOT NULL, body text, embedding vector({DIMENSION}),
    year int, public boolean, topic varchar(20), meta jsonb, halves halfvec({DIMENSION}),
    anylength vector, folded text COLLATE shop.folding, padded char(8), number bigint, key uuid,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED
);
CREATE INDEX docs_owner ON shop.docs (owner);
CREATE INDEX docs_embedding ON shop.docs USING hnsw (embedding vector_cosine_ops);
CREATE INDEX docs_body ON shop.docs USING gin (to_tsvector('english', body))
"""
FOLDING = "CREATE COLLATION shop.folding (provider = libc, locale = 'C')"
MARK_FOLDING = (  # only ICU can fold in truth, and this build of the server is without it
    "UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'folding'"
)


@dataclass(frozen=True)
class Shop:
    """The server, and the secrets of the role that only reads."""

    server: Started
    secrets: Mapping[str, Secret]

    def settings(self, attached: Attached = DOCS, **changes: Any) -> Settings:
        settings = settings_for(self.server, place="", attached=attached, secrets=self.secrets)
        return replace(settings, **changes)

    @asynccontextmanager
    async def opened(self, attached: Attached = DOCS, **changes: Any) -> AsyncIterator[Pgvector]:
        adapter = await Pgvector.open(self.settings(attached, **changes))
        try:
            yield adapter
        finally:
            await adapter.close()


class Log:
    """A recorder that keeps everything."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, tuple[Leg, ...], dict[str, Any]]] = []
        self.responses: list[tuple[str, dict[str, Any]]] = []

    def request(self, operation: str, legs: Any, body: Any) -> None:
        self.requests.append((operation, tuple(legs), body))

    def response(self, operation: str, body: Any) -> None:
        self.responses.append((operation, body))

    def statements(self) -> list[str]:
        return [body["statement"] for _, _, body in self.requests]


@asynccontextmanager
async def shop_on(server: Started, chunks: list[Chunk] = CHUNKS) -> AsyncIterator[Shop]:
    """The table filled with the chunks of two tenants; all of it goes at the end."""
    password = secrets.token_urlsafe(12)
    async with await connect(server) as connection:
        await connection.execute("CREATE SCHEMA shop")
        await connection.execute(FOLDING)
        for statement in TABLE.split(";"):
            await connection.execute(statement.encode())
        await connection.execute(MARK_FOLDING)
        await register_vector_async(connection)
        for number, chunk in enumerate(chunks):
            await connection.execute(
                "INSERT INTO shop.docs (doc_id, owner, body, embedding, halves, anylength, year, "
                "public, topic, meta, padded, number) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [
                    chunk.uid, chunk.tenant.value, chunk.text,
                    *[np.asarray(chunk.vector)] * 3, 2020 + number % 3, number % 2 == 0,
                    f"t{number % 4}", '{"lang": "de"}' if number % 2 else '{"lang": 7}',
                    chunk.tenant.value, {"acme": 1, "globex": 2}[chunk.tenant.value],
                ],
            )  # fmt: skip
        await connection.execute(f"CREATE ROLE shop_reader LOGIN PASSWORD '{password}'".encode())
        await connection.execute("GRANT USAGE ON SCHEMA shop TO shop_reader")
        await connection.execute("GRANT SELECT ON shop.docs TO shop_reader")
        await connection.commit()
        await connection.set_autocommit(True)
        await connection.execute("VACUUM (ANALYZE) shop.docs")
    try:
        yield Shop(server, {"user": Secret("shop_reader"), "password": Secret(password)})
    finally:
        async with await connect(server) as connection:
            await connection.execute("DROP SCHEMA shop CASCADE")
            await connection.execute("DROP ROLE shop_reader")
