"""Adapters that behave and misbehave, each in one way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import pytest

from retrieverbench.adapter import Description, Settings
from retrieverbench.model import Chunk, Hit, Query, Response


class Clean:
    """Keeps every promise: the asking tenant's own chunks, the shortest text first."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "put"})
    opened: ClassVar[list[Clean]]

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.chunks: dict[str, Chunk] = {}
        self.closed = 0

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        made = cls(settings)
        cls.opened = [*getattr(cls, "opened", ()), made]
        return made

    async def put(self, chunks: Sequence[Chunk]) -> None:
        self.chunks |= {chunk.uid: chunk for chunk in chunks}

    async def settle(self) -> None:
        await asyncio.sleep(0)

    async def search(self, query: Query) -> Response:
        own = [c for c in self.chunks.values() if c.tenant == query.tenant]
        own.sort(key=lambda chunk: (len(chunk.text), chunk.uid))
        return Response([Hit(c.uid, -float(n)) for n, c in enumerate(own[: query.k])])

    async def describe(self) -> Description:
        counts = Counter(chunk.tenant.value for chunk in self.chunks.values())
        return Description("fake", "1.0", "fake-client", "1.0", {"kind": "exact"}, counts)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clean() -> type[Clean]:
    """The well-behaved adapter, to be subclassed by tests; its objects are in `opened`."""
    Clean.opened = []
    return Clean


@pytest.fixture
def one_method() -> Callable[..., type[Clean]]:
    """The well-behaved adapter with one method replaced: one_method(search=function)."""
    Clean.opened = []

    def make(**methods: Any) -> type[Clean]:
        return type("Changed", (Clean,), methods)

    return make
