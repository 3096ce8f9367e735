"""Chunks without one clear owner: lists of tenants, orphans, equal ids (P23, P24, P25)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from retrieverbench.adapter import Adapter, Deletes
from retrieverbench.errors import AdapterError
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.named import put, settle
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.probes.requests import expect_nothing
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.leaks.world import World, make_world, unit_vector
from retrieverbench.model import Chunk

ALL = 20
"""More than a tenant owns."""


async def lists_of_tenants(scene: Scene) -> None:
    """An empty list of tenants, one of None, one of several."""
    asker = scene.world.tenants[0]
    chunk = scene.world.chunks[asker][0]
    own = await scene.ask(asker.value, chunk.text, chunk.vector)
    scene.control(
        chunk.uid in own.uids, f"{asker.value!r} finds its chunk by the same question", own
    )
    lists: list[object] = [[], [None], (), set(), [""], [t.value for t in scene.world.tenants]]
    asked = [Asked(value, chunk.text, chunk.vector) for value in lists]
    for value, seen in zip(lists, await scene.ask_all(asked), strict=True):
        expect_nothing(scene, seen, f"the tenant {value!r}")


async def orphans(scene: Scene) -> None:
    """Chunks without an owner are refused at the load, and found by nobody."""
    refused: dict[str, bool] = {}

    two, text = scene.draw.tenants[:2], " ".join(scene.draw.words("orphans"))
    random, id_ = scene.draw.random("orphans"), scene.draw.words("ids")[3]
    owners: list[object] = [None, "", [tenant.value for tenant in two], 7]
    vector = unit_vector(random)

    async def make(stack: AsyncExitStack) -> tuple[Adapter, World]:
        world = make_world(scene.draw, two, own=3)
        adapter = await stack.enter_async_context(scene.open(world.all_chunks()))
        for number, owner in enumerate(owners):
            chunk = Chunk(f"{id_}{number}", unchecked_tenant(owner), text, vector=vector)
            refused[repr(owner)] = not await put(scene, adapter, [chunk])
        await settle(scene, adapter)
        return adapter, world

    async with scene.shared("orphans", make) as there:
        for owner, was_refused in refused.items():
            there.expect(
                was_refused, f"a chunk whose owner is {owner} was loaded; refuse it in put"
            )
        for tenant in two:
            own = there.world.chunks[tenant][0]
            seen = await there.ask(tenant.value, f"{text} {own.text}", own.vector, k=ALL)
            there.control(own.uid in seen.uids, f"{tenant.value!r} finds its own chunk", seen)
            await there.ask(tenant.value, text, vector, k=ALL)


async def equal_ids(scene: Scene) -> None:
    """Tenants use the same ids; one deletes its own, and tries to delete another's."""
    mine, other = two = scene.draw.tenants[:2]

    async def make(stack: AsyncExitStack) -> tuple[Adapter, World]:
        world = make_world(scene.draw, two, own=3)
        adapter = await stack.enter_async_context(scene.open(world.all_chunks()))
        if not isinstance(adapter, Deletes):
            raise AdapterError("the adapter claims 'delete' and lacks it")
        uids = [world.chunks[mine][0].uid, world.chunks[other][1].uid]
        await scene.call("delete", partial(adapter.delete, mine, uids))
        await settle(scene, adapter)
        return adapter, world

    async with scene.shared("equal ids", make) as there:
        deleted, kept = there.world.chunks[mine][0], there.world.chunks[other][0]
        there.moved[deleted.uid] = None
        assert deleted.id == kept.id
        for chunk in (kept, there.world.chunks[other][1], there.world.chunks[mine][1]):
            seen = await there.ask(chunk.tenant.value, chunk.text, chunk.vector, k=ALL)
            found = chunk.uid in seen.uids
            there.expect(found, f"{chunk.uid!r} is gone: a delete reached more than its own")
            there.control(bool(seen.uids), f"{chunk.tenant.value!r} finds chunks", seen)
        seen = await there.ask(mine.value, deleted.text, deleted.vector, k=ALL)
        there.control(bool(seen.uids), f"{mine.value!r} finds its other chunks", seen)


PROBES = (
    Probe(
        "P23",
        "lists of tenants",
        "fail-open",
        "critical",
        "A list passes for a tenant: refuse it; an empty set of tenants matches nothing.",
        lists_of_tenants,
        asks_only=True,
    ),
    Probe(
        "P24",
        "chunks without an owner",
        "leak",
        "critical",
        "Chunks without one owner are loaded or found: refuse them at the load, and never search "
        "by excluding others.",
        orphans,
        arms=BELOW,
        writes=True,
        limit="chunks without an owner that something else wrote: the audit writes "
        "through the adapter's put; that no leg's condition is true for such chunks is P04",
    ),
    Probe(
        "P25",
        "equal ids in two tenants",
        "leak",
        "critical",
        "Ids of two tenants fall together: make keys of tenant and id, and delete under the "
        "tenant's condition.",
        equal_ids,
        arms=BELOW,
        needs=frozenset({"delete"}),
        writes=True,
    ),
)
