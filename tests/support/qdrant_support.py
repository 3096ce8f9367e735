"""Places of the qdrant adapter on its engine, and chunks in which a missing filter shows."""

from __future__ import annotations

import json
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx
import numpy as np

from retrieverbench.adapter import Settings, Writable
from retrieverbench.engines import Started
from retrieverbench.model import MODES, Chunk, Layout, Mode, Query, Response, TenantId
from retrieverbench_adapters.qdrant import Qdrant

A, B = TenantId("acme"), TenantId("globex")
DIMENSION = 16
PLACES = count()
LAYOUTS: tuple[Layout, ...] = ("filter", "partition", "index")
EXACT: Mapping[str, Mapping[str, object]] = {"search": {"exact": True}}
HOSTILE = [
    "acme' OR '1'='1", "'; DROP TABLE docs; --", "%", "_cme", "acme\\", "O'Neil", "acme,globex",
    "acme globex", "''", "{x}", "%27", '") or true or ("', "acme OR globex", "*", "acm?", "/.*/",
    "[* TO *]", "@tenant_id:{globex}", '{"match_all":{}}', '{"$ne": ""}', "{{tenant}}",
    "${tenant}", "../globex", "acme/globex", "acme:globex", "acme|globex", "ACME", "acme.",
    "\N{CYRILLIC SMALL LETTER A}cme", "\N{FULLWIDTH LATIN SMALL LETTER A}cme", "ß", "ss", "İ",
    "\N{PILE OF POO}", "x" * 128, "null", "true", "1", "0", "undefined", "acme%2Fglobex",
]  # fmt: skip


@asynccontextmanager
async def adapter(
    front: Started,
    *,
    modes: Sequence[Mode] = MODES,
    options: Mapping[str, Mapping[str, object]] | None = None,
    **more: Any,
) -> AsyncIterator[Qdrant]:
    settings = settings_for(front, modes=frozenset(modes), options=options or {}, **more)
    opened = await Qdrant.open(settings)
    try:
        yield opened
    finally:
        await opened.close()


def settings_for(front: Started, **more: Any) -> Settings:
    given: dict[str, Any] = {
        "endpoint": front.endpoint,
        "place": f"rb_test_{next(PLACES)}",
        "modes": frozenset(MODES),
        "dimension": DIMENSION,
        "concurrency": 4,
        "secrets": front.secrets,
        **more,
    }
    return Settings(**given)


def unit_vectors(n: int, dimension: int = DIMENSION, seed: int = 0) -> Any:
    made = np.random.default_rng(seed).normal(size=(n, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def chunk(name: str, tenant: TenantId, text: str, vector: Any) -> Chunk:
    return Chunk(name, tenant, text, vector=array("f", np.asarray(vector, np.float32)))


def ask(tenant: TenantId, mode: Mode, vector: Any, text: str = "", k: int = 10) -> Query:
    return Query(text, tenant, k, mode, array("f", np.asarray(vector, np.float32)))


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]


async def load(target: Writable, chunks: Sequence[Chunk]) -> None:
    await target.put(chunks)
    await target.settle()


@asynccontextmanager
async def http_of(front: Started, key: str = "api_key") -> AsyncIterator[httpx.AsyncClient]:
    """A client of the front's own API, past the adapter."""
    headers = {"api-key": front.secrets[key].reveal()}
    async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
        yield http


async def arm(front: Started, **fault: Any) -> None:
    """Make the next request that fits fail; {} disarms."""
    async with http_of(front) as http:
        method = "PUT" if fault else "DELETE"
        (await http.request(method, "/faults", content=json.dumps(fault))).raise_for_status()


def twins(n: int = 30) -> list[Chunk]:
    """The same ids, texts and vectors in two tenants: a missing filter must show."""
    vectors = unit_vectors(n)
    return [
        chunk(str(i), tenant, f"refund policy for order {i}", vectors[i])
        for i in range(n)
        for tenant in (A, B)
    ]
