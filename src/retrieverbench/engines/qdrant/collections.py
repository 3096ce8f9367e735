"""All collections of one front."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from time import monotonic

from retrieverbench.engines.qdrant.bodies import Refusal, untranslated
from retrieverbench.engines.qdrant.collection import Collection
from retrieverbench.engines.qdrant.declared import Declared
from retrieverbench.engines.qdrant.sharded import Sharded

QUIET_SECONDS = 0.25
"""A shard is released when nobody has asked for so long."""
PATIENCE_SECONDS = 2.0
"""Where somebody asks all the time, one is released after so long."""


class Collections:
    """All collections of one front, by name; their shards lie in `data`.

    `cluster`: custom shards can be made, as on a server in distributed mode.
    """

    def __init__(self, data: Path, *, cluster: bool) -> None:
        self._data = data
        self._made = 0
        self._by_name: dict[str, Collection | Sharded] = {}
        self._asked = 0.0
        self._removed: deque[Collection | Sharded] = deque()
        self._release: asyncio.Task[None] | None = None
        self.cluster = cluster

    def names(self) -> list[str]:
        """Which there are."""
        self._asked = monotonic()
        return list(self._by_name)

    def get(self, name: str) -> Collection | Sharded:
        """The collection of that name, or 404."""
        self._asked = monotonic()
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
        """Remove one, and its files when nobody asks; False if there is none.

        To release a shard is to wait for the disk while the engine holds Python's lock: a client
        that removes a collection for each of its tenants would wait for all of them.
        """
        self._asked = monotonic()
        collection = self._by_name.pop(name, None)
        if collection is None:
            return False
        self._removed.append(collection)
        if self._release is None or self._release.done():
            self._release = asyncio.create_task(self._release_all())
        return True

    async def _release_all(self) -> None:
        while self._removed:
            await self._removed.popleft().remove(self._quiet)

    async def _quiet(self) -> None:
        latest = monotonic() + PATIENCE_SECONDS
        while (now := monotonic()) < min(self._asked + QUIET_SECONDS, latest):  # noqa: ASYNC110 - each question moves the end
            await asyncio.sleep(min(self._asked + QUIET_SECONDS, latest) - now)
