"""Chunks that change hands or go (P28, P29, P30).

A change is acknowledged, then `settle` returns, and from there on it must be seen: at once,
or within the seconds that the target declares (`eventual_visibility`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import Deletes, Moves, ReadsById
from retrieverbench.errors import BackendError
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import WANTED, Scene, Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run import Abandoned

SEED = 13
EACH = 6
OLD, NEW = TenantId("seller"), TenantId("buyer")
WORD = "ledger"
SEARCHES = 200
WAIT = 0.05
ALL = 2 * EACH
"""As many as both tenants own together, so that every own chunk is in every answer."""


def make_owners() -> World:
    """Two tenants with six chunks each; one word is in all of them."""
    random = Random(SEED)
    return World(
        {
            tenant: [
                Chunk(
                    f"{tenant}{n}", tenant, f"{WORD} entry paper table", vector=unit_vector(random)
                )
                for n in range(EACH)
            ]
            for tenant in (OLD, NEW)
        }
    )


async def move(scene: Scene) -> None:
    """A chunk changes its owner: the old one sees it no more, the new one does."""
    async with scene.staged(make_owners()) as place:
        chunk = place.world.chunks[OLD][0]
        place.control(chunk.uid in (await _ask(place, OLD)).uids, "the owner finds it before")
        place.control(bool((await _ask(place, NEW)).uids), "the new owner is answered before")
        await _take(place, chunk.uid)
        start = perf_counter_ns()
        place.moving.add(chunk.uid)
        await _move(place, chunk.uid, OLD, NEW)

        async def is_moved() -> bool:
            old, new = await _ask(place, OLD), await _ask(place, NEW)
            return chunk.uid not in old.uids and chunk.uid in new.uids

        await _wait(place, is_moved, start)
        place.moving.clear()
        place.moved[chunk.uid] = NEW
        await _ask(place, OLD)
        seen = await _ask(place, NEW)
        place.expect(chunk.uid in seen.uids, f"the new owner does not find {chunk.uid!r}")
        shown = await _get(place, OLD, chunk.uid)
        place.expect(not shown, f"the old owner still reads {chunk.uid!r} by id")


async def delete(scene: Scene) -> None:
    """A deleted chunk is gone from answers, reads by id and totals; the others are not."""
    async with scene.staged(make_owners()) as place:
        gone, *kept = place.world.chunks[OLD]
        before = await _ask(place, OLD)
        place.control(gone.uid in before.uids, "the owner finds it before")
        start = perf_counter_ns()
        adapter = place.adapter
        assert isinstance(adapter, Deletes)
        await place.call("delete", partial(adapter.delete, OLD, [gone.uid]))
        await place.call("settle", adapter.settle)

        async def is_gone() -> bool:
            return gone.uid not in (await _ask(place, OLD)).uids

        await _wait(place, is_gone, start)
        place.moved[gone.uid] = None
        after = await _ask(place, OLD)
        missing = {chunk.uid for chunk in kept} - set(after.uids)
        place.expect(not missing, f"{len(missing)} other chunks went too")
        shown = await _get(place, OLD, gone.uid)
        place.expect(not shown, f"{gone.uid!r} is still read by id")
        if before.total is not None:
            place.expect(
                after.total == before.total - 1,
                f"the total was {before.total} before the delete and is {after.total} now",
            )


async def write_race(scene: Scene) -> None:
    """200 searches while a chunk goes to and fro; afterwards one owner alone sees it."""
    async with scene.staged(make_owners()) as place:
        chunk = place.world.chunks[OLD][0]
        place.control(chunk.uid in (await _ask(place, OLD)).uids, "the owner finds it before")
        place.moving.add(chunk.uid)
        done = anyio.Event()
        owner = OLD
        with place.unrecorded() as racing:
            async with anyio.create_task_group() as group:
                group.start_soon(_search_on, racing, chunk.uid, done)
                moves = 0
                while not done.is_set():
                    other = NEW if owner == OLD else OLD
                    await _move(racing, chunk.uid, owner, other)
                    owner, moves = other, moves + 1
                    await anyio.lowlevel.checkpoint()
        scene.facts["moves during searches"] = moves
        place.control(moves > 0, f"the chunk moved {moves} times while it was searched")

        async def is_settled() -> bool:
            asked = [(tenant, await _ask(place, tenant)) for tenant in (OLD, NEW)]
            return all((chunk.uid in seen.uids) == (tenant == owner) for tenant, seen in asked)

        settled = await _wait(place, is_settled, perf_counter_ns())
        place.moving.clear()
        place.moved[chunk.uid] = owner
        for tenant in (OLD, NEW):
            await _ask(place, tenant)
        place.expect(settled, f"afterwards {owner.value!r} alone should find {chunk.uid!r}")


async def _search_on(scene: Scene, moving: str, done: anyio.Event) -> None:
    """Each tenant's other chunks must all be in each of its answers."""
    try:
        for number in range(SEARCHES):
            tenant = (OLD, NEW)[number % 2]
            seen = await _ask(scene, tenant)
            own = {chunk.uid for chunk in scene.world.chunks[tenant]} - {moving}
            scene.expect(
                own <= set(seen.uids),
                f"{tenant.value!r} lost {len(own - set(seen.uids))} chunks that nobody moved"
                f"{f': {seen.error}' if seen.error else ''}",
            )
    finally:
        done.set()


async def _ask(place: Scene, tenant: TenantId) -> Seen:
    vector = place.world.chunks[OLD][0].vector
    want = WANTED | ({"total"} if "total" in place.capabilities else set())
    return await place.ask(tenant.value, WORD, vector, k=ALL, want=want)


async def _move(place: Scene, uid: str, source: TenantId, target: TenantId) -> None:
    adapter = place.adapter
    assert isinstance(adapter, Moves)
    await place.call("move", partial(adapter.move, uid, source, target))
    await place.call("settle", adapter.settle)


async def _take(place: Scene, uid: str) -> None:
    """A stranger gives itself a chunk that is not its own: refused, or without effect."""
    try:
        await _move(place, uid, NEW, NEW)
    except Abandoned:
        raise
    except BackendError:
        pass  # a refusal is right; what was changed nevertheless is seen below
    await _ask(place, NEW)
    kept = uid in (await _ask(place, OLD)).uids
    place.expect(kept, f"a tenant that does not own {uid!r} moved it")


async def _get(place: Scene, tenant: TenantId, uid: str) -> list[str]:
    """What a read by id shows; nothing where the adapter has no such read."""
    if "get" not in place.capabilities:
        return []
    adapter = place.adapter
    assert isinstance(adapter, ReadsById)
    return [hit.uid for hit in await place.call("get", partial(adapter.get, tenant, [uid]))]


async def _wait(place: Scene, is_visible: Callable[[], Awaitable[bool]], start: int) -> bool:
    """Wait for a change as long as the target declares; seconds from the change are a fact."""
    declared = place.declared.get("eventual_visibility")
    limit = perf_counter_ns() + int(declared.value * 1e9) if declared else 0
    waited = 0
    while not await is_visible():
        if perf_counter_ns() >= limit:
            return False
        waited += 1
        await anyio.sleep(WAIT)
    seconds = (perf_counter_ns() - start) / 1e9
    place.facts["seconds to visibility"] = round(seconds, 3)
    told = f"seen {seconds:.2f} s after the change" if waited else "seen as soon as it settled"
    place.accept("eventual_visibility", told, found=waited > 0)
    return True


PROBES = (
    Probe(
        "P28",
        "chunk moved to another tenant",
        "leak",
        "critical",
        "The old owner still sees a chunk that was given to another tenant, or a stranger can "
        "take it: change the owner under the old owner's condition, in every copy and index, "
        "and wait until searches see that.",
        move,
        needs=frozenset({"put", "move"}),
        writes=True,
    ),
    Probe(
        "P29",
        "deleted chunk",
        "leak",
        "critical",
        "A deleted chunk is still shown: delete it from every leg, cache and count.",
        delete,
        needs=frozenset({"put", "delete"}),
        writes=True,
    ),
    Probe(
        "P30",
        "searches while a chunk moves",
        "leak",
        "high",
        "While a chunk changes its owner, answers lose other chunks, or both owners see it "
        "afterwards: change the owner in one step.",
        write_race,
        arms=("guarded",),
        needs=frozenset({"put", "move"}),
        writes=True,
    ),
)
