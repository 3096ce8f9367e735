"""A small store of two or more tenants that can be told to leak in one way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from retrieverbench.adapter import Adapter
from retrieverbench.model import Chunk, Query, Response

Search = Callable[[Query, Sequence[Chunk]], Response]


class Store:
    """Finds its chunks by equal text first; `search` says what of them is answered."""

    def __init__(self, chunks: Sequence[Chunk], search: Search) -> None:
        self.chunks = chunks
        self.answer = search
        self.queries: list[Query] = []

    async def search(self, query: Query) -> Response:
        self.queries.append(query)
        await asyncio.sleep(0)
        best_first = sorted(self.chunks, key=lambda chunk: chunk.text != query.text)
        return self.answer(query, best_first)


MakeStore = Callable[[Sequence[Chunk], Search], Adapter]


@pytest.fixture
def store() -> MakeStore:
    """store(chunks, search): only search is ever asked of it."""
    return Store  # type: ignore[return-value]
