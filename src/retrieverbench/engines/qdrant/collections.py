"""All collections of one front."""

from __future__ import annotations

import asyncio
from pathlib import Path

from retrieverbench.engines.qdrant.bodies import Refusal, untranslated
from retrieverbench.engines.qdrant.collection import Collection
from retrieverbench.engines.qdrant.declared import Declared
from retrieverbench.engines.qdrant.sharded import Sharded


class Collections:
    """All collections of one front, by name; their shards lie in `data`.

    `cluster`: custom shards can be made, as on a server in distributed mode.
    """

    def __init__(self, data: Path, *, cluster: bool) -> None:
        self._data = data
        self._made = 0
        self._by_name: dict[str, Collection | Sharded] = {}
        self._removals: set[asyncio.Task[None]] = set()
        self.cluster = cluster

    def names(self) -> list[str]:
        """Which there are."""
        return list(self._by_name)

    def get(self, name: str) -> Collection | Sharded:
        """The collection of that name, or 404."""
        try:
            return self._by_name[name]
        except KeyError:
            raise Refusal(404, f"Not found: Collection `{name}` doesn't exist!") from None

    def sharded(self, name: str) -> Sharded:
        """The collection of that name, for a change of its shard keys."""
        found = self.get(name)
        if not self.cluster:
            raise Refusal(405, "Qdrant is running in standalone mode")
        if isinstance(found, Collection):
            text = "Bad request: Shard Key cannot be created with Auto sharding method"
            raise Refusal(400, text)
        return found

    def create(self, name: str, declared: Declared) -> None:
        """Make an empty one; 409 if the name is taken."""
        if name in self._by_name:
            raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
        if declared.custom_sharding and not self.cluster:
            raise untranslated("CreateCollection.sharding_method without option shard_keys")
        self._made += 1
        kind = Sharded if declared.custom_sharding else Collection
        self._by_name[name] = kind(self._data / str(self._made), declared)

    def remove(self, name: str) -> bool:
        """Remove one, and its files afterwards; False if there is none.

        To release a shard is to wait for the disk, and all of them for longer than a client does.
        """
        collection = self._by_name.pop(name, None)
        if collection is None:
            return False
        task = asyncio.create_task(collection.remove())
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)
        return True
