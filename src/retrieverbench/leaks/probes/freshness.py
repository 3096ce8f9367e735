"""Chunks that change hands or go (P28, P29, P30).

A change is acknowledged, then `settle` returns, and from there on it must be seen: at once,
or within the seconds that the target declares (`eventual_visibility`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import Deletes, Moves, ReadsById
from retrieverbench.errors import BackendError
from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import WANTED, Scene, Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, Response, TenantId
from retrieverbench.run import Abandoned, read_response

EACH = 6
SEARCHES = 200
WAIT = 0.05
ALL = 2 * EACH
"""As many as both tenants own together, so that every own chunk is in every answer."""


def make_owners(draw: Draw) -> World:
    """Two tenants, the old owner and the new one, with six chunks each of one text."""
    random, text = draw.random("owners"), " ".join(draw.words("owned") + draw.words("filler")[:3])
    return World(
        {
            TenantId(name): [
                Chunk(f"{name}{n}", TenantId(name), text, vector=unit_vector(random))
                for n in range(EACH)
            ]
            for name in draw.words("owners")
        }
    )


async def move(scene: Scene) -> None:
    """A chunk changes its owner: the old one sees it no more, the new one does."""
    async with scene.staged(make_owners(scene.draw)) as place:
        old, new = place.world.tenants
        chunk = place.world.chunks[old][0]
        place.control(chunk.uid in (await _ask(place, old)).uids, "the owner finds it before")
        place.control(bool((await _ask(place, new)).uids), "the new owner is answered before")
        await _take(place, chunk.uid)
        start = perf_counter_ns()
        place.moving.add(chunk.uid)
        await _move(place, chunk.uid, old, new)

        async def is_moved() -> bool:
            by_old, by_new = await _ask(place, old), await _ask(place, new)
            return chunk.uid not in by_old.uids and chunk.uid in by_new.uids

        await _wait(place, is_moved, start)
        place.moving.clear()
        place.moved[chunk.uid] = new
        await _ask(place, old)
        seen = await _ask(place, new)
        place.expect(chunk.uid in seen.uids, f"the new owner does not find {chunk.uid!r}")
        shown = await _get(place, old, chunk.uid)
        place.expect(not shown, f"the old owner still reads {chunk.uid!r} by id")


async def delete(scene: Scene) -> None:
    """A deleted chunk is gone from answers, reads by id and totals; the others are not."""
    async with scene.staged(make_owners(scene.draw)) as place:
        old, _new = place.world.tenants
        gone, *kept = place.world.chunks[old]
        before = await _ask(place, old)
        place.control(gone.uid in before.uids, "the owner finds it before")
        start = perf_counter_ns()
        adapter = place.adapter
        assert isinstance(adapter, Deletes)
        await place.call("delete", partial(adapter.delete, old, [gone.uid]))
        await place.call("settle", adapter.settle)

        async def is_gone() -> bool:
            return gone.uid not in (await _ask(place, old)).uids

        await _wait(place, is_gone, start)
        place.moved[gone.uid] = None
        after = await _ask(place, old)
        missing = {chunk.uid for chunk in kept} - set(after.uids)
        place.expect(not missing, f"{len(missing)} other chunks went too")
        shown = await _get(place, old, gone.uid)
        place.expect(not shown, f"{gone.uid!r} is still read by id")
        if before.total is not None:
            place.expect(
                after.total == before.total - 1,
                f"the total was {before.total} before the delete and is {after.total} now",
            )


async def write_race(scene: Scene) -> None:
    """200 searches while a chunk goes to and fro; afterwards one owner alone sees it."""
    async with scene.staged(make_owners(scene.draw)) as place:
        old, new = place.world.tenants
        chunk = place.world.chunks[old][0]
        place.control(chunk.uid in (await _ask(place, old)).uids, "the owner finds it before")
        place.moving.add(chunk.uid)
        done = anyio.Event()
        owner = old
        with place.unrecorded() as racing:
            async with anyio.create_task_group() as group:
                group.start_soon(_search_on, racing, chunk.uid, done)
                moves = 0
                while not done.is_set():
                    other = new if owner == old else old
                    await _move(racing, chunk.uid, owner, other)
                    owner, moves = other, moves + 1
                    await anyio.lowlevel.checkpoint()
        scene.facts["moves during searches"] = moves
        place.control(moves > 0, f"the chunk moved {moves} times while it was searched")

        async def is_settled() -> bool:
            asked = [(tenant, await _ask(place, tenant)) for tenant in (old, new)]
            return all((chunk.uid in seen.uids) == (tenant == owner) for tenant, seen in asked)

        settled = await _wait(place, is_settled, perf_counter_ns())
        place.moving.clear()
        place.moved[chunk.uid] = owner
        for tenant in (old, new):
            await _ask(place, tenant)
        place.expect(settled, f"afterwards {owner.value!r} alone should find {chunk.uid!r}")


async def _search_on(scene: Scene, moving: str, done: anyio.Event) -> None:
    """Each tenant's other chunks must all be in each of its answers."""
    try:
        for number in range(SEARCHES):
            tenant = scene.world.tenants[number % 2]
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
    vector = place.world.chunks[place.world.tenants[0]][0].vector
    (word,) = place.draw.words("owned")
    want = WANTED | ({"total"} if "total" in place.capabilities else set())
    return await place.ask(tenant.value, word, vector, k=ALL, want=want)


async def _move(place: Scene, uid: str, source: TenantId, target: TenantId) -> None:
    adapter = place.adapter
    assert isinstance(adapter, Moves)
    await place.call("move", partial(adapter.move, uid, source, target))
    await place.call("settle", adapter.settle)


async def _take(place: Scene, uid: str) -> None:
    """A stranger gives itself a chunk that is not its own: refused, or without effect."""
    old, new = place.world.tenants
    try:
        await _move(place, uid, new, new)
    except Abandoned:
        raise
    except BackendError:
        pass  # a refusal is right; what was changed nevertheless is seen below
    await _ask(place, new)
    kept = uid in (await _ask(place, old)).uids
    place.expect(kept, f"a tenant that does not own {uid!r} moved it")


async def _get(place: Scene, tenant: TenantId, uid: str) -> list[str]:
    """What a read by id shows; nothing where the adapter has no such read."""
    if "get" not in place.capabilities:
        return []
    adapter = place.adapter
    assert isinstance(adapter, ReadsById)
    got = await place.call("get", partial(adapter.get, tenant, [uid]))
    return [hit.uid for hit in read_response(Response(got), 1).hits]


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
