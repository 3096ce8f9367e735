"""A table of a user's, and a role that may read it and nothing else."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np
import psycopg
from pgvector.psycopg import register_vector_async

from retrieverbench.adapter import Attached, Secret
from retrieverbench.model import Chunk
from retrieverbench.run import Connection
from retrieverbench.testing import UsersIndex


@asynccontextmanager
async def make(
    server: Connection, chunks: Sequence[Chunk], owner: Callable[[str], object] = str
) -> AsyncIterator[UsersIndex]:
    """`owner` makes of a tenant's name what the index keeps of it."""
    kind = "bigint" if owner is int else "text"
    name, password = f"shop_{secrets.token_hex(4)}", secrets.token_hex(8)
    user, secret = (server.secrets[word].reveal() for word in ("user", "password"))
    async with await psycopg.AsyncConnection.connect(
        server.endpoint, user=user, password=secret, autocommit=True
    ) as connection:
        await register_vector_async(connection)
        for statement in (
            f"CREATE ROLE {name} LOGIN PASSWORD '{password}'",
            f"CREATE SCHEMA {name}",
            f"GRANT USAGE ON SCHEMA {name} TO {name}",
            (
                f"CREATE TABLE {name}.docs (doc_id text PRIMARY KEY, owner {kind}, "
                f"body text, embedding vector({len(chunks[0].vector or ())}))"
            ),
            f"GRANT SELECT ON {name}.docs TO {name}",
        ):
            await connection.execute(statement.encode())
        rows = [
            (c.uid, owner(c.tenant.value), c.text, np.asarray(c.vector) if c.vector else None)
            for c in chunks
        ]
        insert = f"INSERT INTO {name}.docs VALUES (%s, %s, %s, %s)"
        await connection.cursor().executemany(insert.encode(), rows)
        fields = Attached(f"{name}.docs", "doc_id", "owner", ("body",), "embedding")
        yield UsersIndex(fields, {"user": Secret(name), "password": Secret(password)})
        for statement in (f"DROP SCHEMA {name} CASCADE", f"DROP ROLE {name}"):
            await connection.execute(statement.encode())
