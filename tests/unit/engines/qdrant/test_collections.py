"""What a collection leaves on the disk is removed after it is gone for every client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from retrieverbench.engines import qdrant
from retrieverbench.engines.qdrant.collection import Collection
from retrieverbench.engines.qdrant.collections import Collections
from retrieverbench.engines.qdrant.declared import to_declared

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


def folders(data: Path) -> set[str]:
    return {path.name for path in data.iterdir()}


async def test_nobody_waits_for_the_shards_of_a_collection_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = asyncio.Event()
    release = Collection.remove

    async def slow(shard: Collection) -> None:
        await disk.wait()
        await release(shard)

    monkeypatch.setattr(Collection, "remove", slow)
    vectors = {"vectors": {"v": {"size": 2, "distance": "Dot"}}, "sharding_method": "custom"}
    declared = to_declared(vectors, strict=True)
    collections = Collections(tmp_path, cluster=True)
    collections.create("c", declared)
    for key in ("acme", "globex"):
        await collections.sharded("c").create_key("c", key)
    assert collections.remove("c")
    assert not collections.remove("c")
    assert collections.names() == []
    collections.create("c", declared)
    assert collections.sharded("c").keys() == []
    left = folders(tmp_path)
    disk.set()
    await asyncio.gather(*collections._removals)
    assert left - folders(tmp_path) == {"1"}
