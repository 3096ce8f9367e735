"""Small places of the memory adapter."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from retrieverbench.adapter import Settings
from retrieverbench.model import Chunk, Layout, Mode, Query, Response, TenantId, Value
from retrieverbench_adapters.memory import Memory

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
ALL_MODES: frozenset[Mode] = frozenset({"dense", "lexical", "hybrid"})


def chunk(
    tenant: TenantId, id_: str, text: str, *vector: float, title: str = "", **metadata: Value
) -> Chunk:
    numbers = array("f", vector) if vector else None
    return Chunk(id_, tenant, text, title, metadata=metadata, vector=numbers)


async def opened(
    chunks: Sequence[Chunk],
    *,
    layout: Layout = "filter",
    dimension: int = 0,
    options: Mapping[str, Mapping[str, object]] | None = None,
) -> Memory:
    modes = ALL_MODES if dimension else frozenset[Mode]({"lexical"})
    settings = Settings("", "rb_test", modes, layout, dimension, options=options or {})
    memory = await Memory.open(settings)
    await memory.put(chunks)
    await memory.settle()
    return memory


async def ask(
    memory: Memory, mode: Mode, text: str = "", *vector: float, k: int = 10, **more: Any
) -> Response:
    numbers = array("f", vector) if vector else None
    tenant = more.pop("tenant", ACME)
    return await memory.search(Query(text, tenant, k, mode, numbers, **more))


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]
