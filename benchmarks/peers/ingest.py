"""Loading 20,000 vectors of 384 dimensions into one PostgreSQL, beside two other tools.

    python -m venv PEERS && PEERS/bin/pip install "vectordb-bench[pgvector]==2.0.0" psutil
    git clone https://github.com/erikbern/ann-benchmarks && git -C ann-benchmarks checkout f402b2c
    python benchmarks/peers/ingest.py PEERS/bin/python ann-benchmarks

The others are run by their own loaders in an environment of their own. They send an id and a
vector; we send uid, tenant, id, title, text, metadata and vector. All take turns on one server,
and none has an index while it loads.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector_async

sys.path.insert(0, str(Path(__file__).parents[1]))
from test_ingest import clocked

from retrieverbench.adapter import Settings
from retrieverbench.engines import Started, pgvector
from retrieverbench.model import Chunk, TenantId
from retrieverbench_adapters.pgvector import Pgvector

CHUNKS, DIMENSION, TENANTS, BATCH, ROUNDS = 20_000, 384, 20, 500, 3
Vectors = Any
Spent = dict[str, float]


async def bare(server: Started, vectors: Vectors) -> Spent:
    """What the documentation of psycopg and pgvector shows, all at once."""
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    connection = await psycopg.AsyncConnection.connect(
        server.endpoint, user=user, password=password, autocommit=True
    )
    await register_vector_async(connection)

    async def copy_all() -> None:
        async with cursor.copy("COPY bare FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bigint", "vector"])
            for number, vector in enumerate(vectors):
                await copy.write_row((number, vector))

    async with connection, connection.cursor() as cursor:
        await cursor.execute(f"CREATE TABLE bare (id bigint, v vector({DIMENSION}))")
        wall, cpu = await clocked(copy_all)
        await cursor.execute("DROP TABLE bare")
    return {"load_s": wall, "cpu_s": cpu}


async def ours(server: Started, vectors: Vectors) -> Spent:
    """In the batches of a run, each acknowledged, as `retrieverbench run` sends them."""
    words = random.Random(1).choices([f"word{number}" for number in range(1_000)], k=40)
    chunks = [
        Chunk(
            f"c{number}",
            TenantId(f"tenant{number % TENANTS}"),
            " ".join(words),
            vector=array("f", vector.tobytes()),
        )
        for number, vector in enumerate(vectors)
    ]
    settings = Settings(
        server.endpoint,
        "rb_ingest",
        frozenset({"dense", "lexical"}),
        dimension=DIMENSION,
        secrets=server.secrets,
    )
    adapter = await Pgvector.open(settings)

    async def put_all() -> None:
        for first in range(0, CHUNKS, BATCH):
            await adapter.put(chunks[first : first + BATCH])

    try:
        wall, cpu = await clocked(put_all)
        settled, _ = await clocked(adapter.settle)
    finally:
        await adapter.close()
    return {"load_s": wall, "cpu_s": cpu, "index_s": settled}


def peer(server: Started, vectors: Vectors, tool: str, python: str, path: str) -> Spent:
    """One load by another tool, in a process and a folder of its own: it may write logs there."""
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    host, _, port = server.endpoint.removeprefix("postgresql://").partition("/")[0].partition(":")
    sent = io.BytesIO()
    np.save(sent, vectors)
    script = Path(__file__).resolve().with_name("ingest_peer.py")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, script, tool, f"host={host}", f"port={port}", f"user={user}"],
            input=sent.getvalue(),
            capture_output=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PGPASSWORD": password, "PYTHONPATH": path},
        )
    if done.returncode:
        raise SystemExit(f"{tool}: {done.stderr.decode()[-2_000:]}")
    found: Spent = json.loads(done.stdout.splitlines()[-1])
    return found


async def main(python: str, checkout: str) -> None:
    vectors = np.random.default_rng(1).standard_normal((CHUNKS, DIMENSION)).astype(np.float32)
    spent: dict[str, list[Spent]] = {}
    async with pgvector.start({}) as server:
        for _ in range(ROUNDS):
            for name, work in (("bare COPY", bare), ("retrieverbench", ours)):
                spent.setdefault(name, []).append(await work(server, vectors))
            for tool in ("vectordbbench", "annbenchmarks"):
                spent.setdefault(tool, []).append(peer(server, vectors, tool, python, checkout))
    for name, rounds in spent.items():
        medians = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
        cpu = medians.pop("cpu_s") / CHUNKS * 1e6
        walls = ", ".join(f"{key} {value:.2f}" for key, value in medians.items())
        print(f"{name:16} {walls}, client CPU {cpu:.1f} µs a row")


if __name__ == "__main__":
    asyncio.run(main(*(str(Path(word).absolute()) for word in sys.argv[1:3])))
