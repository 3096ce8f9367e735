"""A place that holds many tenants whose names are hard to keep apart, two chunks each."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random

from retrieverbench.adapter import Adapter, Writable
from retrieverbench.errors import AdapterError, BackendError
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, TenantId, parse_tenant
from retrieverbench.run import Abandoned

EACH = 2
TEXT = "shared line of every tenant"
ORDINARY = ("acme", "globex")


def named_world(names: Iterable[str], seed: int) -> World:
    """EACH chunks for every name; one of each holds the name's token."""
    random = Random(seed)
    chunks: dict[TenantId, Sequence[Chunk]] = {}
    tokens: dict[TenantId, str] = {}
    canaries: dict[TenantId, Chunk] = {}
    for tenant in map(unchecked_tenant, dict.fromkeys([*ORDINARY, *names])):
        tokens[tenant] = f"c{secrets.token_hex(12)}"
        own = [
            Chunk(f"{n}", tenant, text, vector=unit_vector(random))
            for n, text in enumerate([f"{TEXT} {tokens[tenant]}", *[TEXT] * (EACH - 1)])
        ]
        chunks[tenant], canaries[tenant] = own, own[0]
    return World(chunks, tokens, canaries)


async def open_named(
    scene: Scene, names: Iterable[str], stack: AsyncExitStack
) -> tuple[Adapter, World]:
    """The place, and the world without the names that the adapter refuses to load."""
    world = named_world(names, seed=len(TEXT))
    ordinary = [c for c in world.all_chunks() if c.tenant.value in ORDINARY]
    adapter = await stack.enter_async_context(scene.open(ordinary))
    others = [tenant for tenant in world.tenants if tenant.value not in ORDINARY]
    # One by one: a batch that is refused may be stored in part.
    taken = [tenant for tenant in others if await put(scene, adapter, world.chunks[tenant])]
    await settle(scene, adapter)
    kept = [parse_tenant(name) for name in ORDINARY] + taken
    return adapter, World(
        {tenant: world.chunks[tenant] for tenant in kept},
        {tenant: world.tokens[tenant] for tenant in kept},
        {tenant: world.canaries[tenant] for tenant in kept},
    )


async def put(scene: Scene, adapter: Adapter, chunks: Sequence[Chunk]) -> bool:
    """Whether the adapter takes these chunks; whatever it raises is a refusal."""
    try:
        await scene.call("put", partial(_writable(adapter).put, chunks))
    except Abandoned:
        raise
    except BackendError:
        return False
    return True


async def settle(scene: Scene, adapter: Adapter) -> None:
    """Wait until what was put is searchable."""
    await scene.call("settle", _writable(adapter).settle)


def _writable(adapter: Adapter) -> Writable:
    if not isinstance(adapter, Writable):
        raise AdapterError("the adapter cannot be written to")
    return adapter
