"""Loads vectors into PostgreSQL by another tool's own loader, in that tool's environment.

Started by `ingest.py`: the tool's name and the address as arguments, the vectors on standard
input, the password in PGPASSWORD. Prints one line of JSON: seconds and CPU seconds of this
process for the load, and seconds for the index, which both tools build afterwards.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

VECTORDBBENCH_BATCH = 100  # its NUM_PER_BATCH


def vectordbbench(vectors: Any, server: dict[str, str]) -> dict[str, float]:
    from vectordb_bench.backend.clients.api import MetricType
    from vectordb_bench.backend.clients.pgvector.config import PgVectorHNSWConfig
    from vectordb_bench.backend.clients.pgvector.pgvector import PgVector

    config = PgVectorHNSWConfig(
        m=16,
        ef_construction=64,
        ef_search=40,
        maintenance_work_mem="512MB",
        max_parallel_workers=2,
        metric_type=MetricType.COSINE,
    )
    target = {"connect_config": {**server, "dbname": "postgres"}, "table_name": "peer"}
    database = PgVector(vectors.shape[1], target, config, drop_old=True)
    rows, ids = vectors.tolist(), list(range(len(vectors)))

    def load() -> None:
        for first in range(0, len(rows), VECTORDBBENCH_BATCH):
            last = first + VECTORDBBENCH_BATCH
            count, error = database.insert_embeddings(rows[first:last], ids[first:last])
            if error is not None:
                raise error
            assert count == len(rows[first:last])

    with database.init():
        spent = clocked(load)
        start = time.perf_counter()
        database.optimize(data_size=len(rows))
        return {**spent, "index_s": time.perf_counter() - start}


def annbenchmarks(vectors: Any, server: dict[str, str]) -> dict[str, float]:
    for name, value in {**server, "dbname": "postgres", "start_service": "false"}.items():
        os.environ[f"ANN_BENCHMARKS_PG_{name.upper()}"] = value
    from ann_benchmarks.algorithms.pgvector.module import PGVector

    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        spent = clocked(lambda: PGVector("angular", {"M": 16, "efConstruction": 64}).fit(vectors))
    load = re.search(r"rows into table in ([\d.]+) seconds", told.getvalue())
    index = re.search(r"total indexing time: ([\d.]+) sec", told.getvalue())
    assert load
    assert index
    return {"load_s": float(load[1]), "index_s": float(index[1]), "cpu_s": spent["cpu_s"]}


def clocked(work: Callable[[], object]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"load_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


if __name__ == "__main__":
    tool = {"vectordbbench": vectordbbench, "annbenchmarks": annbenchmarks}[sys.argv[1]]
    address = dict(word.split("=", 1) for word in sys.argv[2:])
    address["password"] = os.environ["PGPASSWORD"]
    print(json.dumps(tool(np.load(io.BytesIO(sys.stdin.buffer.read())), address)))
