"""A front for all files of this folder, and two small collections in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from qdrant_front_support import front, ok, tenant_index


@pytest.fixture(scope="session")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with front({}) as client:
        yield client


@pytest.fixture(scope="session")
async def c(http: httpx.AsyncClient) -> str:
    """A collection of one unnamed vector of four numbers: ids 1 to 4, tenants A and B."""
    await ok(http, "PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Cosine"}})
    await ok(http, "PUT", "/collections/c/index?wait=true", tenant_index("t"))
    points = [
        {"id": n, "vector": [1.0, n / 10, 0.0, 0.0], "payload": {"t": "AB"[n % 2], "n": n}}
        for n in range(1, 5)
    ]
    await ok(http, "PUT", "/collections/c/points?wait=true", {"points": points})
    return "c"


@pytest.fixture(scope="session")
async def s(http: httpx.AsyncClient) -> str:
    """A collection of a named dense and a sparse vector with IDF."""
    await ok(
        http,
        "PUT",
        "/collections/s",
        {
            "vectors": {"d": {"size": 4, "distance": "Cosine"}},
            "sparse_vectors": {"w": {"modifier": "idf"}},
        },
    )
    await ok(http, "PUT", "/collections/s/index?wait=true", tenant_index("t"))
    points = [
        {
            "id": n,
            "vector": {"d": [1.0, n / 100, 0, 0], "w": {"indices": [n % 4], "values": [1.0]}},
            "payload": {"t": "AB"[n % 2]},
        }
        for n in range(40)
    ]
    await ok(http, "PUT", "/collections/s/points?wait=true", {"points": points})
    return "s"
