"""A collection of custom shards: one engine shard per key, as a cluster would route to them.

Without the option `shard_keys` the front answers as a single server: standalone mode.
A read without a key goes to all shards where answers can be added up (counts, facets); a
search over several shards is not translated. A write needs a key, as the server's does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from retrieverbench.engines.qdrant.bodies import Refusal, malformed, untranslated, wrong
from retrieverbench.engines.qdrant.collection import Collection
from retrieverbench.engines.qdrant.declared import Declared

Key = str | int


class Sharded:
    """Owns one Collection per shard key, each in a folder of its own under `folder`."""

    def __init__(self, folder: Path, declared: Declared) -> None:
        folder.mkdir()
        self._folder = folder
        self._made = 0
        self._by_key: dict[Key, Collection] = {}
        self._indexes: dict[str, Mapping[str, Any]] = {}
        self.declared = declared

    def keys(self) -> list[Key]:
        """Which there are."""
        return list(self._by_key)

    async def create_key(self, name: str, key: Any) -> None:
        """Make the shard of a key, with the payload indexes that there are."""
        _check_key(key)
        if key in self._by_key:
            raise Refusal(
                400, f"Bad request: Sharding key {key} already exists for collection {name}"
            )
        self._made += 1
        shard = Collection(self._folder / str(self._made), self.declared)
        self._by_key[key] = shard
        for field, schema in self._indexes.items():
            await shard.create_index(field, schema)

    async def remove_key(self, name: str, key: Any) -> None:
        """Remove a shard with its points."""
        _check_key(key)
        if key not in self._by_key:
            raise Refusal(
                400, f"Bad request: Sharding key {key} does not exist for collection {name}"
            )
        await self._by_key.pop(key).remove(_at_once)

    def part(self, selector: Any) -> Collection:
        """The shard that a write's `shard_key` names."""
        if selector is None:
            raise wrong("Shard key not specified")
        if isinstance(selector, dict | list):
            raise untranslated("shard_key of a write, other than one key")
        _check_key(selector)
        if selector not in self._by_key:
            raise wrong(f"Shard key {selector} not found")
        return self._by_key[selector]

    def parts(self, selector: Any) -> list[Collection]:
        """The shards that a read's `shard_key` names; all without one."""
        if selector is None:
            return list(self._by_key.values())
        if isinstance(selector, dict):
            raise untranslated("shard_key with a fallback")
        keys = selector if isinstance(selector, list) else [selector]
        for key in keys:
            _check_key(key)
            if key not in self._by_key:
                raise Refusal(400, f"Bad request: Shard key {key} not found")
        return [self._by_key[key] for key in keys]

    async def create_index(self, field: str, schema: Mapping[str, Any]) -> int:
        """Make an index on a payload field of every shard, and of those to come."""
        self._indexes[field] = schema
        numbers = [await shard.create_index(field, schema) for shard in self._by_key.values()]
        return max(numbers, default=0)

    def optimize(self) -> None:
        """Optimise what was written to any shard."""
        for shard in self._by_key.values():
            shard.optimize()

    def information(self) -> dict[str, Any]:
        """The result of `GET /collections/{name}`: sums over the shards, the worst status."""
        told = [shard.information() for shard in self._by_key.values()]
        statuses = {one["status"] for one in told}
        counted = ("indexed_vectors_count", "points_count", "segments_count")
        return {
            "status": next((s for s in ("red", "yellow") if s in statuses), "green"),
            "optimizer_status": next(
                (one["optimizer_status"] for one in told if one["optimizer_status"] != "ok"), "ok"
            ),
            **{key: sum(one[key] for one in told) for key in counted},
            "config": self.declared.to_json(),
            "payload_schema": {
                field: {
                    "data_type": schema["type"],
                    "params": dict(schema),
                    "points": sum(one["payload_schema"][field]["points"] for one in told),
                }
                for field, schema in self._indexes.items()
            },
            "update_queue": {"length": 0},
        }

    async def remove(self, quiet: Callable[[], Awaitable[None]]) -> None:
        """Remove every shard, each when `quiet` returns, and the folder."""
        for shard in self._by_key.values():
            await shard.remove(quiet)
        self._folder.rmdir()


async def _at_once() -> None:
    """The client waits for it."""


def _check_key(key: Any) -> None:
    if type(key) is not str and (type(key) is not int or key < 0):
        raise malformed("Expected a string or an integer")
