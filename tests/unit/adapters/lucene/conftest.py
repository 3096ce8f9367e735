"""Each adapter on the node that all tests share, or on a stub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from engine_support import need_engine
from lucene_support import ADAPTERS, Backend, Stub, stub_server
from shared_engines import Keeper


@pytest.fixture(scope="session")
def elasticsearch(keeper: Keeper) -> Backend:
    return _on_node(keeper, "elasticsearch")


@pytest.fixture(scope="session")
def opensearch(keeper: Keeper) -> Backend:
    return _on_node(keeper, "opensearch")


def _on_node(keeper: Keeper, name: str) -> Backend:
    need_engine(name)
    node = keeper.started(name, {})
    return Backend(name, node.endpoint, node)


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
