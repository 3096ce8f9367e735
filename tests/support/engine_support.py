"""Places of every installed adapter, on the engine that can be started here."""

from __future__ import annotations

import os
import secrets
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import metadata
from random import Random
from typing import Any

import pytest

from retrieverbench.adapter import CAPABILITIES, Settings
from retrieverbench.engines import engine_names, load_engine
from retrieverbench.model import MODES, Chunk, Layout, Mode, TenantId
from retrieverbench.run import (
    LAYOUTS,
    Connection,
    Engines,
    Place,
    TargetEntry,
    connect,
    load_adapter,
    open_place,
)
from retrieverbench.run import place_name as make_place_name

DIMENSION = 16


def own_adapters() -> list[str]:
    """The names of the adapters of this distribution and of installed plugins."""
    return sorted({p.name for p in metadata.entry_points(group="retrieverbench.adapters")})


def combinations() -> Iterator[tuple[str, Layout]]:
    """Every adapter that can be loaded, with every layout that it claims."""
    for name in own_adapters():
        capabilities = load_adapter(name).cls.capabilities
        assert capabilities <= CAPABILITIES.keys()
        if "put" not in capabilities:
            continue
        yield from ((name, layout) for layout in LAYOUTS if layout in capabilities)


def need_engine(name: str) -> None:
    """Skip, or fail where the engine is required, when it cannot be started here."""
    reason = load_engine(name).missing() if name in engine_names() else None
    if reason is None:
        return
    if name in os.environ.get("RETRIEVERBENCH_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required: {reason}")
    pytest.skip(reason)


async def place_of(
    engines: Engines,
    name: str,
    layout: Layout,
    chunks: Sequence[Chunk],
    *,
    search: Mapping[str, object] | None = None,
    dimension: int = DIMENSION,
    concurrency: int = 8,
) -> AbstractAsyncContextManager[Place]:
    """A fresh place with `chunks`, opened for every mode of the adapter."""
    need_engine(name)
    loaded = load_adapter(name)
    modes: tuple[Mode, ...] = tuple(mode for mode in MODES if mode in loaded.cls.capabilities)
    entry = TargetEntry(
        adapter=name,
        name=name,
        modes=modes,
        layout=layout,
        engine="embedded" if name in engine_names() else "",
        search=search or {},
    )
    connection = await connect(entry, os.environ, engines)
    settings = settings_of(entry, connection, dimension=dimension, concurrency=concurrency)
    return open_place(entry, loaded, connection, settings, chunks)


def settings_of(entry: TargetEntry, connection: Connection, **changes: Any) -> Settings:
    """Settings of a place that no other test has; fields by keyword replace others."""
    fields: dict[str, Any] = {
        "endpoint": connection.endpoint,
        "place": make_place_name(secrets.token_hex(4), entry),
        "modes": frozenset(entry.modes),
        "layout": entry.layout,
        "dimension": DIMENSION,
        "concurrency": 8,
        "options": entry.options,
        "secrets": connection.secrets,
    }
    return Settings(**(fields | changes))


def unit_vector(seed: str, dimension: int = DIMENSION) -> array[float]:
    """A random direction, the same for the same seed."""
    random = Random(seed)
    numbers = [random.gauss(0.0, 1.0) for _ in range(dimension)]
    length = sum(x * x for x in numbers) ** 0.5
    return array("f", (x / length for x in numbers))


def chunk(tenant: str, id_: str, text: str, **more: object) -> Chunk:
    """A chunk whose vector depends on its text alone, so that equal texts coincide."""
    metadata_ = more.get("metadata", {})
    assert isinstance(metadata_, dict)
    return Chunk(
        id=id_,
        tenant=TenantId(tenant),
        text=text,
        metadata=metadata_,
        vector=unit_vector(text),
    )
