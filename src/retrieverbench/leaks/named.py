"""A place that holds many tenants whose names are hard to keep apart, two chunks each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import compress

from retrieverbench.adapter import Adapter, Writable
from retrieverbench.errors import AdapterError, BackendError
from retrieverbench.leaks.asking import at_once
from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, TenantId, parse_tenant
from retrieverbench.run import Abandoned

EACH = 2


def ordinary(draw: Draw) -> tuple[str, ...]:
    """Two names that mean nothing else, of which the others are made."""
    return draw.words("named")[:2]


def shared_text(draw: Draw) -> str:
    """The text that every chunk of the place holds."""
    return " ".join(draw.words("line"))


def named_world(draw: Draw, names: Iterable[str]) -> World:
    """EACH chunks for every name; one of each holds the name's token."""
    random, text = draw.random("named"), shared_text(draw)
    chunks: dict[TenantId, Sequence[Chunk]] = {}
    tokens: dict[TenantId, str] = {}
    canaries: dict[TenantId, Chunk] = {}
    for tenant in map(unchecked_tenant, dict.fromkeys([*ordinary(draw), *names])):
        tokens[tenant] = draw.new_token()
        own = [
            Chunk(f"{n}", tenant, each, vector=unit_vector(random))
            for n, each in enumerate([f"{text} {tokens[tenant]}", *[text] * (EACH - 1)])
        ]
        chunks[tenant], canaries[tenant] = own, own[0]
    return World(chunks, tokens, canaries)


async def open_named(
    scene: Scene, names: Iterable[str], stack: AsyncExitStack
) -> tuple[Adapter, World]:
    """The place, and the world without the names that the adapter refuses to load."""
    world, known = named_world(scene.draw, names), ordinary(scene.draw)
    plain = [c for c in world.all_chunks() if c.tenant.value in known]
    adapter = await stack.enter_async_context(scene.open(plain))
    others = [tenant for tenant in world.tenants if tenant.value not in known]
    # One by one: a batch that is refused may be stored in part.
    puts = [partial(put, scene, adapter, world.chunks[tenant]) for tenant in others]
    width = scene.abreast if scene.layout in ("filter", "rls") else 1
    taken = list(compress(others, await at_once(puts, width)))
    await settle(scene, adapter)
    kept = [parse_tenant(name) for name in known] + taken
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
