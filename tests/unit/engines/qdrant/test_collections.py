"""What a collection leaves on the disk is removed after it is gone for every client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from retrieverbench.engines import qdrant
from retrieverbench.engines.qdrant import collections as module
from retrieverbench.engines.qdrant.collections import Collections
from retrieverbench.engines.qdrant.declared import to_declared

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


def folders(data: Path) -> set[str]:
    return {path.name for path in data.iterdir()}


VECTORS = {"vectors": {"v": {"size": 2, "distance": "Dot"}}}


async def test_nobody_waits_for_the_shards_of_a_collection_that_is_removed(tmp_path: Path) -> None:
    declared = to_declared({**VECTORS, "sharding_method": "custom"}, strict=True)
    collections = Collections(tmp_path, cluster=True)
    collections.create("c", declared)
    for key in ("acme", "globex"):
        await collections.sharded("c").create_key("c", key)
    assert collections.remove("c")
    assert not collections.remove("c")
    assert collections.names() == []
    collections.create("c", declared)
    assert collections.sharded("c").keys() == []
    assert folders(tmp_path) == {"1", "2"}
    assert collections._release is not None
    await collections._release
    assert folders(tmp_path) == {"2"}


async def test_shards_are_released_when_nobody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a disk's time, in which nobody is answered: the next removal would wait."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 60.0)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60.0)
    collections = Collections(tmp_path, cluster=False)
    for name in "abc":
        collections.create(name, to_declared(VECTORS, strict=True))
    for name in "abc":
        collections.remove(name)
        for _ in range(20):  # turns of the loop, as a request takes some
            await asyncio.sleep(0)
    assert folders(tmp_path) == {"1", "2", "3"}
    assert collections._release is not None
    collections._release.cancel()
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)  # somebody asks all the time
    collections.create("d", to_declared(VECTORS, strict=True))
    await asyncio.wait([collections._release])
    collections.remove("d")
    await collections._release
    assert len(folders(tmp_path)) == 1, "the one of which the release was broken off"
