"""The collections and shards that this adapter makes: opened, made, settled, removed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from qdrant_client import models

from retrieverbench.adapter import Settings
from retrieverbench.errors import Unavailable, Unsupported
from retrieverbench.model import TenantId
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.collection import (
    check_schema,
    check_tenant_index,
    creation,
    is_settled,
    payload_indexes,
)
from retrieverbench_adapters.qdrant.layouts import Home, home_of, is_of
from retrieverbench_adapters.qdrant.options import Place


class Places:
    """Where tenants are at home; what is not there yet is made when it is first put into.

    `taken_over` are collections of a load that was broken off and goes on here.
    """

    def __init__(self, server: Server, settings: Settings, options: Place) -> None:
        self._server = server
        self._settings = settings
        self._options = options
        self._collections: list[str] = []
        self._created: list[str] = []
        self._shards: set[str] = set()
        self.taken_over: list[str] = []
        self._settled = False
        self._making = asyncio.Lock()

    async def open(self) -> None:
        """Check what is there; make the collection unless every tenant has its own.

        With `resume` what is there is a load of ours that was broken off, and becomes our own.
        Raises Rejected for another schema, and Unsupported where shards cannot be made.
        """
        place = self._settings.place
        if self._settings.layout == "partition":
            await self._check_cluster()
        if self._settings.layout == "index":
            listed = await self._server.call(self._server.client.get_collections())
            found = [one.name for one in listed.collections if is_of(place, one.name)]
        else:
            exists = await self._server.call(self._server.client.collection_exists(place))
            found = [place] if exists else []
            if not exists:
                await self._create(place)
        for name in found:
            information = await self._server.information(name)
            check_schema(information, name, self._settings, self._options)
            if self._settings.resume:
                await self._index_payload(name)  # the load may have ended before this
                information = await self._server.information(name)
                self._created.append(name)
                self.taken_over.append(name)
            check_tenant_index(information, name)
        self._collections = sorted({*self._collections, *found})
        if self._settings.layout == "partition":
            self._shards = set(await self._server.shard_keys(place))

    def home(self, tenant: TenantId) -> Home:
        """Where the tenant's points are, or would be."""
        return home_of(self._settings.layout, self._settings.place, tenant)

    def is_known(self, home: Home) -> bool:
        """Whether there was such a place when this was opened, or was made since."""
        return home.collection in self._collections and (
            home.shard is None or home.shard in self._shards
        )

    async def make(self, home: Home) -> None:
        """Make the place unless it is there."""
        async with self._making:
            if home.collection not in self._collections:
                await self._create(home.collection)
            if home.shard is not None and home.shard not in self._shards:
                await self._server.call(
                    self._server.client.create_shard_key(home.collection, home.shard)
                )
                self._shards.add(home.shard)

    def collections(self) -> Sequence[str]:
        """All of them, by name."""
        return sorted(self._collections)

    async def information(self) -> list[models.CollectionInfo]:
        """What the server says of each collection."""
        return [await self._server.information(name) for name in self.collections()]

    async def settle(self) -> None:
        """Start the optimiser of every collection, and wait until none has anything to do."""
        for name in self.collections():
            nothing = models.OptimizersConfigDiff()
            await self._server.call(
                self._server.client.update_collection(name, optimizers_config=nothing)
            )
        for name in self.collections():
            check_tenant_index(await self._wait_for_optimizer(name), name)
        self._settled = True

    async def remove(self) -> None:
        """Remove what this object made; leave what can be resumed."""
        if self._settings.resume and not self._settled:
            return
        while self._created:
            await self._server.call(self._server.client.delete_collection(self._created[-1]))
            self._created.pop()

    async def remove_left(self) -> None:
        """Remove what a run that was killed made here."""
        place = self._settings.place
        listed = await self._server.call(self._server.client.get_collections())
        names = [one.name for one in listed.collections]
        self._created = [name for name in names if name == place or is_of(place, name)]
        self._settled = True
        await self.remove()

    async def _create(self, name: str) -> None:
        made = creation(self._settings, self._options)
        await self._server.call(self._server.client.create_collection(name, **made))
        self._created.append(name)
        await self._index_payload(name)
        self._collections.append(name)

    async def _index_payload(self, name: str) -> None:
        for field, schema in payload_indexes().items():
            await self._server.call(
                self._server.client.create_payload_index(name, field, schema, wait=True)
            )

    async def _wait_for_optimizer(self, name: str) -> models.CollectionInfo:
        pause = 0.02
        while True:
            information = await self._server.information(name)
            if information.status == models.CollectionStatus.RED:
                raise Unavailable(f"collection {name!r}: {information.optimizer_status}")
            if is_settled(information):
                return information
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.5)

    async def _check_cluster(self) -> None:
        status = (await self._server.call(self._server.client.cluster_status())).status
        if status != "enabled":
            raise Unsupported(
                f"qdrant at {self._settings.endpoint}: layout partition needs custom shards, and "
                f"the server says that its cluster is {status}; enable distributed mode, or use "
                "layout filter or index"
            )
