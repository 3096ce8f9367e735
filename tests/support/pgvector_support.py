"""Places of the pgvector adapter, with chunks and questions of two tenants."""

from __future__ import annotations

import random
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from retrieverbench.adapter import Settings
from retrieverbench.engines import Started, pgvector
from retrieverbench.model import MODES, Chunk, Mode, Query, Response, TenantId
from retrieverbench_adapters.pgvector import Pgvector

needs_server = pytest.mark.skipif(pgvector.missing() is not None, reason=str(pgvector.missing()))
DIMENSION = 8
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
EXACT: Mapping[str, Mapping[str, object]] = {"search": {"exact": True}}


def settings_for(server: Started, place: str = "rb_test", **changes: Any) -> Settings:
    settings = Settings(
        endpoint=server.endpoint,
        place=place,
        modes=frozenset(MODES),
        dimension=DIMENSION,
        secrets=server.secrets,
    )
    return replace(settings, **changes)


@asynccontextmanager
async def opened(server: Started, **changes: Any) -> AsyncIterator[Pgvector]:
    adapter = await Pgvector.open(settings_for(server, **changes))
    try:
        yield adapter
    finally:
        await adapter.close()


@asynccontextmanager
async def loaded(
    server: Started, chunks: Sequence[Chunk], **changes: Any
) -> AsyncIterator[Pgvector]:
    async with opened(server, **changes) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        yield adapter


async def connect(server: Started) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    return await psycopg.AsyncConnection.connect(server.endpoint, user=user, password=password)


async def ask(server: Started, sql: str) -> list[tuple[Any, ...]]:
    async with await connect(server) as connection:
        cursor = await connection.execute(sql.encode())
        return await cursor.fetchall() if cursor.description else []


def vector(rng: random.Random, dimension: int = DIMENSION) -> array[float]:
    return array("f", (rng.gauss(0, 1) for _ in range(dimension)))


def make_chunks(tenant: TenantId, count: int, seed: int = 1, **changes: Any) -> list[Chunk]:
    """The same texts and vectors for every tenant, so that a missing filter must show."""
    rng = random.Random(seed)
    words = ["leave", "refund", "limits", "incident", "security", "contract", "policy", "API"]
    return [
        replace(
            Chunk(f"c{number:03}", tenant, " ".join(rng.choices(words, k=6)), vector=vector(rng)),
            **changes,
        )
        for number in range(count)
    ]


def make_query(tenant: TenantId, mode: Mode = "dense", k: int = 10, **changes: Any) -> Query:
    query = Query("refund policy", tenant, k, mode, vector(random.Random(7)))
    return replace(query, **changes)


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]
