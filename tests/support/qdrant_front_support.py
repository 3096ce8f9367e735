"""Requests to the front of Qdrant's engine, and the bodies that many tests send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from retrieverbench.engines import qdrant

V = [1.0, 0.0, 0.0, 0.0]
A = {"must": [{"key": "t", "match": {"value": "A"}}]}
B = {"must": [{"key": "t", "match": {"value": "B"}}]}
Row = tuple[str, str, Any, int, str]
"""Method, path, body, expected status, a part of the expected text."""


@asynccontextmanager
async def front(options: Mapping[str, object]) -> AsyncIterator[httpx.AsyncClient]:
    """A client that holds the key of a front of its own."""
    async with qdrant.start(options) as started:
        key = started.secrets["api_key"].reveal()
        async with httpx.AsyncClient(
            base_url=started.endpoint, headers={"api-key": key}, timeout=60
        ) as client:
            yield client


def tenant_index(field: str) -> dict[str, Any]:
    return {"field_name": field, "field_schema": {"type": "keyword", "is_tenant": True}}


async def ok(http: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    answer = await http.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "ok"
    return answer.json()["result"]


async def ids(http: httpx.AsyncClient, collection: str, body: dict[str, Any]) -> list[int]:
    found = await ok(http, "POST", f"/collections/{collection}/points/query", body)
    return [row["id"] for row in found["points"]]


async def refused(
    http: httpx.AsyncClient, method: str, path: str, body: Any, status: int, text: str
) -> None:
    answer = await http.request(method, path, json=body)
    told = answer.json()
    assert answer.status_code == status, told
    assert text in told["status"]["error"]
    assert "result" not in told
    assert isinstance(told["time"], float)
