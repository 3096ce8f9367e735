"""The azure_search adapter on a stand-in: chunks, settings, questions."""

from __future__ import annotations

import random
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from retrieverbench.adapter import Secret, Settings
from retrieverbench.engines.azure_search.access import Credentials
from retrieverbench.engines.azure_search.server import serving
from retrieverbench.engines.azure_search.service import Fault, Service
from retrieverbench.engines.azure_search.store import Options as StandInOptions
from retrieverbench.model import MODES, Chunk, Mode, Query, TenantId
from retrieverbench_adapters.azure_search import AzureSearch

DIMENSION = 8


KEY = "marked-secret-0815"


WORDS = "refund policy leave invoice limit incident contract security travel budget".split()  # noqa: SIM905


ACME, GLOBEX = TenantId("acme"), TenantId("globex")


HOSTILE = (
    "acme' or '1'='1",
    "acme' or tenant ne '",
    "acme') or (true",
    "' or true or '",
    "''",
    "acme,globex",
    "acme globex",
    "acme|globex",
    "{x}",
    "%27",
    "*",
    "acme OR globex",
    "/.*/",
    '{"$ne": ""}',
    "ACME",
    "acme/globex",
    "ac\u043ce",
    "a\u200bcme" if "\u200b".isprintable() else "acmé",
    "ß",
    "\\",
    "😀",
    "x" * 128,
)


def vector(seed: int) -> array[float]:
    numbers = random.Random(seed)
    return array("f", [numbers.uniform(-1, 1) for _ in range(DIMENSION)])


def chunks_of(tenant: TenantId, count: int = 40) -> list[Chunk]:
    """Texts and vectors depend on the number only: every tenant holds the same."""
    found = []
    for i in range(count):
        numbers = random.Random(i)
        text = " ".join(numbers.choices(WORDS, k=numbers.randint(3, 30)))
        metadata: dict[str, str | int | float | bool] = {"year": 2020 + i % 3, "open": i % 2 == 0}
        title = f"Section {i}" if i % 4 == 0 else ""
        found.append(Chunk(f"c{i}", tenant, text, title=title, metadata=metadata, vector=vector(i)))
    return found


def settings(endpoint: str, key: str = KEY, place: str = "rb_test", **more: Any) -> Settings:
    """For every mode, reached by key."""
    base = Settings(
        endpoint=endpoint,
        place=place,
        modes=frozenset(MODES),
        dimension=DIMENSION,
        concurrency=32,
        timeout=20.0,
        secrets={"api_key": Secret(key)},
    )
    return replace(base, **more)


@asynccontextmanager
async def opened(given: Settings) -> AsyncIterator[AzureSearch]:
    adapter = await AzureSearch.open(given)
    try:
        yield adapter
    finally:
        await adapter.close()


def ask(
    mode: Mode, tenant: TenantId = ACME, k: int = 10, text: str = "refund policy", **more: Any
) -> Query:
    return Query(text, tenant, k, mode, vector(999), **more)


def owners(uids: list[str]) -> set[str]:
    return {uid.partition("/")[0] for uid in uids}


@dataclass(frozen=True)
class Served:
    """A stand-in in this process, whose failures a test scripts."""

    endpoint: str
    service: Service


@asynccontextmanager
async def stand_in(**options: Any) -> AsyncIterator[Served]:
    service = Service(Credentials(KEY, "read-only"), StandInOptions(**options))
    async with serving(service) as endpoint:
        yield Served(endpoint, service)


def fault(**more: Any) -> Callable[[Service], None]:
    return lambda service: service.faults.append(Fault(route="search", **more))
