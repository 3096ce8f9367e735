"""A real OpenSearch node with k-NN and hybrid search from published jars, on a JVM of a wheel.

How it is fetched, compiled and started is told in `java_node`. The jars are under Apache-2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from retrieverbench.engines.base import Started
from retrieverbench.engines.fetch import Progress
from retrieverbench.engines.java_node import (
    FIDELITY,
    QUICK_START,
    JavaNode,
    fetch_node,
    missing_for,
    prepare_node,
    start_node,
    unfetched_bytes,
)

__all__ = ["FIDELITY", "NODE", "QUICK_START", "fetch", "missing", "prepare", "start"]

NODE = JavaNode(
    name="opensearch",
    folder=Path(__file__).parent,
    oldest_java=17,
    lacks=(
        "native libraries (k-NN engines faiss and nmslib, zstd compression); k-NN is Lucene's",
        "security, machine learning, SQL, index state management, snapshots",
        "ingest processors, search templates, rank_eval, geo_shape",
        "the analyzer thai, for which the JVM of the wheel has no data",
    ),
)


def missing() -> str | None:
    """Why it cannot be started here, with the remedy; None if it can."""
    return missing_for(NODE)


def unfetched() -> int:
    """Bytes that a start, or `fetch`, has to fetch first."""
    return unfetched_bytes(NODE)


async def fetch(
    on_progress: Progress | None = None,
    *,
    cache: str | Path | None = None,
    repository: str | None = None,
) -> Path:
    """Fetch every jar that `start` needs, so that it needs no network; return their folder."""
    return await fetch_node(NODE, on_progress, cache=cache, repository=repository)


async def prepare() -> None:
    """Make what lets later starts take less than half of the processor time, once."""
    await prepare_node(NODE)


def start(options: Mapping[str, object]) -> AbstractAsyncContextManager[Started]:
    """Start a node, wait until it answers a search, yield it, and remove every trace of it."""
    return start_node(NODE, options)
