"""Loading 20,000 chunks of 384 dimensions into pgvector, beside a bare binary COPY.

    python -m pytest benchmarks/test_ingest.py --benchmark-only -s

Rounds of both alternate in one run on one server, so that noise of the machine meets both.
The bare loop is what the documentation of psycopg and pgvector shows: rows made before the
clock starts, copied into a table without any index, with the types set. Both are done in
batches, each acknowledged before the next is sent, and all at once.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector_async
from psycopg.types.json import Jsonb

from large_corpus_support import COLUMNS
from retrieverbench.adapter import Settings
from retrieverbench.engines import Started, pgvector
from retrieverbench.model import MODES, Chunk, TenantId
from retrieverbench_adapters.pgvector import Pgvector

CHUNKS, DIMENSION, TENANTS, BATCH, ROUNDS = 20_000, 384, 20, 1_000, 5


def make_chunks() -> list[Chunk]:
    """About 300 bytes of text each, owned by the tenants in turn."""
    rng = random.Random(1)
    vectors = np.random.default_rng(1).standard_normal((CHUNKS, DIMENSION)).astype(np.float32)
    words = [f"word{number}" for number in range(1_000)]
    return [
        Chunk(
            id=f"c{number}",
            tenant=TenantId(f"tenant{number % TENANTS}"),
            text=" ".join(rng.choices(words, k=40)),
            title=f"Section {number}",
            metadata={"section": number},
            vector=array("f", vectors[number].tobytes()),
        )
        for number in range(CHUNKS)
    ]


def make_rows(chunks: list[Chunk]) -> list[tuple[Any, ...]]:
    return [
        (c.uid, c.tenant.value, c.id, c.title, c.text, Jsonb(dict(c.metadata)), np.array(c.vector))
        for c in chunks
    ]


async def clocked(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Wall seconds and this process's CPU seconds."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    await work()
    return (time.perf_counter_ns() - wall) / 1e9, (time.process_time_ns() - cpu) / 1e9


async def bare_copy(
    server: Started, rows: list[tuple[Any, ...]], batch: int
) -> tuple[float, float]:
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    connection = await psycopg.AsyncConnection.connect(
        server.endpoint, user=user, password=password, autocommit=True
    )
    await register_vector_async(connection)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    statement = f"COPY bare ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)".encode()

    async def copy_all() -> None:
        for first in range(0, CHUNKS, batch):
            async with cursor.copy(statement) as copy:
                copy.set_types(list(COLUMNS.values()))
                for row in rows[first : first + batch]:
                    await copy.write_row(row)

    async with connection, connection.cursor() as cursor:
        await cursor.execute(f"CREATE UNLOGGED TABLE bare ({columns})".encode())
        spent = await clocked(copy_all)
        await cursor.execute("DROP TABLE bare")
    return spent


async def adapter_load(
    server: Started, chunks: list[Chunk], batch: int, *, settle: bool
) -> tuple[float, float, float | None]:
    settings = Settings(
        server.endpoint, "rb_ingest", frozenset(MODES), dimension=DIMENSION, secrets=server.secrets
    )
    adapter = await Pgvector.open(settings)
    try:

        async def put_all() -> None:
            for first in range(0, CHUNKS, batch):
                await adapter.put(chunks[first : first + batch])

        spent = await clocked(put_all)
        settled = (await clocked(adapter.settle))[0] if settle else None
    finally:
        await adapter.close()
    return *spent, settled


async def measure() -> dict[str, float]:
    """Medians over the rounds; the ratios are of pairs that ran one after the other."""
    chunks = make_chunks()
    rows = make_rows(chunks)
    measured: dict[str, float] = {}
    async with pgvector.start({}) as server:
        for word, batch in (("batches", BATCH), ("at_once", CHUNKS)):
            bare, put = [], []
            for _ in range(ROUNDS):
                bare.append(await bare_copy(server, rows, batch))
                put.append((await adapter_load(server, chunks, batch, settle=False))[:2])
            for name, spent in (("bare", bare), ("put", put)):
                wall, cpu = (statistics.median(values) for values in zip(*spent, strict=True))
                measured[f"{name}_{word}_wall_s"] = wall
                measured[f"{name}_{word}_client_cpu_us_per_row"] = cpu / CHUNKS * 1e6
            ratios = [ours[0] / bare[0] for ours, bare in zip(put, bare, strict=True)]
            measured[f"put_to_bare_{word}_wall"] = statistics.median(ratios)
        *_, settled = await adapter_load(server, chunks, BATCH, settle=True)
    return measured | {"settle_s": settled or 0.0}


def test_put_beside_a_bare_copy(benchmark: Any) -> None:
    measured = benchmark.pedantic(lambda: asyncio.run(measure()), rounds=1)
    benchmark.extra_info.update(measured)
    for name, value in measured.items():
        print(f"{name:36} {value:10.3f}")
