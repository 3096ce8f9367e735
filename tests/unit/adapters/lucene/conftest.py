"""One node of each vendor for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest

from engine_support import need_engine
from lucene_support import ADAPTERS, Backend, Stub, stub_server
from retrieverbench.engines import load_engine


@pytest.fixture(scope="session")
async def elasticsearch() -> AsyncIterator[Backend]:
    need_engine("elasticsearch")
    async with load_engine("elasticsearch").start({"quick_start": True}) as node:
        yield Backend("elasticsearch", node.endpoint, node)


@pytest.fixture(scope="session")
async def opensearch() -> AsyncIterator[Backend]:
    need_engine("opensearch")
    async with load_engine("opensearch").start({"quick_start": True}) as node:
        yield Backend("opensearch", node.endpoint, node)


@pytest.fixture(params=list(ADAPTERS))
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each adapter on its node."""
    return cast("Backend", request.getfixturevalue(request.param))


@pytest.fixture
def stub() -> Iterator[Stub]:
    with stub_server() as told:
        yield told


@pytest.fixture(params=list(ADAPTERS))
def stubbed(request: pytest.FixtureRequest, stub: Stub) -> Backend:
    """Each adapter on the stub."""
    return Backend(request.param, stub.url)
