"""A corpus that streams from disk: the memory of a run, and its speed beside bare loops.

    python -m pytest benchmarks/test_ingest_stream.py --benchmark-only -s

`test_memory` runs the whole command: a million chunks of 384 dimensions into an adapter that
keeps nothing, and 50,000 into pgvector (without its HNSW index, whose build is the server's).
`test_speed` sets reading and loading beside the shortest loops that do the same, in turn in one
process: lines through `json.loads` and rows of the matrix, and those copied into a bare table.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector.psycopg import register_vector_async
from psycopg.types.json import Jsonb

from large_corpus_support import COLUMNS, DIMENSION, peak_memory, write_corpus, write_suite
from retrieverbench.adapter import Settings
from retrieverbench.engines import Started, pgvector
from retrieverbench.golden import load_corpus, load_vectors
from retrieverbench.model import MODES, Corpus
from retrieverbench.run import Connection, LoadedAdapter, TargetEntry, open_adapter
from retrieverbench.run.loading import Sender
from retrieverbench.run.suite import Loading
from retrieverbench_adapters.pgvector import Pgvector

CHUNKS, BATCH, ROUNDS, ROWS = 20_000, 500, 5, 1_000
NULL = 'adapter = "./null.py:Null"\nmodes = ["dense"]'
PGVECTOR = 'adapter = "pgvector"\nengine = "embedded"\nmodes = ["dense"]\nplace = {index = "none"}'


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    ("chunks", "target"), [(1_000_000, NULL), (50_000, PGVECTOR)], ids=["null", "pgvector"]
)
def test_memory(benchmark: Any, tmp_path: Path, chunks: int, target: str) -> None:
    suite = write_suite(tmp_path, chunks, target)
    code, peak, told = benchmark.pedantic(lambda: peak_memory(suite), rounds=1)
    assert code == 0, told
    benchmark.extra_info.update(chunks=chunks, peak_mb=peak)
    print(f"\n{chunks} chunks: peak {peak:.0f} MB")


def bare_rows(folder: Path) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    with (folder / "corpus.jsonl").open("rb") as lines, (folder / "vectors.npy").open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        while block := [line for _, line in zip(range(ROWS), lines, strict=False)]:
            count = len(block) * DIMENSION
            matrix = np.fromfile(file, np.float32, count).reshape(-1, DIMENSION)
            yield from zip(map(json.loads, block), matrix, strict=True)


def read(folder: Path) -> Corpus:
    return load_vectors(folder / "vectors.npy", load_corpus(folder / "corpus.jsonl"))


async def clocked(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Wall seconds and this process's CPU seconds."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    await work()
    return (time.perf_counter_ns() - wall) / 1e9, (time.process_time_ns() - cpu) / 1e9


async def bare_read(folder: Path) -> tuple[float, float]:
    async def work() -> None:
        for _ in bare_rows(folder):
            pass

    return await clocked(work)


async def our_read(folder: Path) -> tuple[float, float]:
    async def work() -> None:
        read(folder)

    return await clocked(work)


async def bare_load(server: Started, folder: Path) -> tuple[float, float]:
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    connection = await psycopg.AsyncConnection.connect(
        server.endpoint, user=user, password=password, autocommit=True
    )
    await register_vector_async(connection)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    statement = f"COPY bare ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)".encode()

    async def copy_all() -> None:
        rows = bare_rows(folder)
        while batch := [row for _, row in zip(range(BATCH), rows, strict=False)]:
            async with cursor.copy(statement) as copy:
                copy.set_types(list(COLUMNS.values()))
                for line, vector in batch:
                    tenant, chunk_id = line["tenant"], line["id"]
                    words = (f"{tenant}/{chunk_id}", tenant, chunk_id, line["title"], line["text"])
                    await copy.write_row((*words, Jsonb(line["metadata"]), vector))

    async with connection, connection.cursor() as cursor:
        await cursor.execute(f"CREATE UNLOGGED TABLE bare ({columns})".encode())
        spent = await clocked(copy_all)
        await cursor.execute("DROP TABLE bare")
    return spent


async def our_load(server: Started, corpus: Corpus) -> tuple[float, float, float]:
    """Wall, CPU, and the seconds that a run reports: those with a `put` in flight."""
    settings = Settings(
        server.endpoint, "rb_stream", frozenset(MODES), dimension=DIMENSION, secrets=server.secrets
    )
    entry = TargetEntry("pgvector", name="pgvector")
    loaded = LoadedAdapter("pgvector", Pgvector, "retrieverbench", "0")
    connection = Connection(server.endpoint, server.secrets, "server")
    async with open_adapter(entry, loaded, connection, settings, {}) as opened:
        step = opened.step("put", 10)
        sender = Sender(opened.adapter, Loading(batch=BATCH), put=step, settle=step, get=step)
        spent = await clocked(lambda: sender.send(corpus.chunks))
    return *spent, sender.seconds


async def measure(folder: Path) -> dict[str, float]:
    """Medians; ratios are of pairs that ran one after the other."""
    write_corpus(folder, CHUNKS)
    corpus = read(folder)
    spent: dict[str, list[tuple[float, ...]]] = {}
    async with pgvector.start({}) as server:
        for _ in range(ROUNDS):
            spent.setdefault("bare_read", []).append(await bare_read(folder))
            spent.setdefault("our_read", []).append(await our_read(folder))
            spent.setdefault("bare_load", []).append(await bare_load(server, folder))
            spent.setdefault("our_load", []).append(await our_load(server, corpus))
    measured = {}
    for name, rounds in spent.items():
        measured[f"{name}_s"] = statistics.median(each[0] for each in rounds)
        cpu = statistics.median(each[1] for each in rounds)
        measured[f"{name}_cpu_us_per_row"] = cpu / CHUNKS * 1e6
    measured["our_load_in_flight_s"] = statistics.median(each[2] for each in spent["our_load"])
    for word in ("read", "load"):
        pairs = zip(spent[f"our_{word}"], spent[f"bare_{word}"], strict=True)
        measured[f"{word}_to_bare_wall"] = statistics.median(a[0] / b[0] for a, b in pairs)
    return measured


@pytest.mark.timeout(3_600)
def test_speed(benchmark: Any, tmp_path: Path) -> None:
    measured = benchmark.pedantic(lambda: asyncio.run(measure(tmp_path)), rounds=1)
    benchmark.extra_info.update(measured)
    for name, value in measured.items():
        print(f"{name:28} {value:10.3f}")
