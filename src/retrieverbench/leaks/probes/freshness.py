"""Chunks that change hands or go (P28, P29, P30).

A change is acknowledged, then `settle` returns, and from there on it must be seen: at once,
or within the seconds that the target declares (`eventual_visibility`).

All share one place: a pair of tenants of its own for each probe, mode and arm, whose chunks no
other one asks for or changes. A pair's word is in its chunks alone and its vectors are near each
other, so that no other pair's chunk comes before them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from time import perf_counter_ns

import anyio

from retrieverbench.adapter import Deletes, Moves, ReadsById, Writable
from retrieverbench.errors import BackendError, plural
from retrieverbench.leaks.asking import WANTED
from retrieverbench.leaks.crowds import orthogonal
from retrieverbench.leaks.draw import Draw, letters
from retrieverbench.leaks.probe import ARMS, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import MODES, Arm, Chunk, Mode, Response, TenantId
from retrieverbench.run import Abandoned, read_response

EACH = 6
SEARCHES = 200
WAIT = 0.05
NEAR = 0.9
"""Cosine of a pair's chunks to the middle of them; those of two pairs are orthogonal."""
ALL = 2 * EACH
"""As many as both tenants own together, so that every own chunk is in every answer."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The owner of a chunk, the tenant that gets it, and the word that both their chunks hold."""

    old: TenantId
    new: TenantId
    word: str

    def __iter__(self) -> Iterator[TenantId]:
        return iter((self.old, self.new))


def pairs_of(draw: Draw) -> Mapping[tuple[str, Mode, Arm], Pair]:
    """One for each probe, mode and arm."""
    users = list(product((probe.id for probe in PROBES), MODES, ARMS))
    names = list(map(TenantId, draw.words("owners")))
    return {
        user: Pair(names[2 * number], names[2 * number + 1], word)
        for number, (user, word) in enumerate(zip(users, draw.words("owned"), strict=True))
    }


def make_owners(draw: Draw) -> World:
    """Six chunks for each tenant of each pair, no two texts of a pair equal."""
    random, filler = draw.random("owners"), " ".join(draw.words("filler")[:3])
    pairs = list(pairs_of(draw).values())
    centres = orthogonal(random, len(pairs))
    return World(
        {
            tenant: [
                Chunk(
                    f"{tenant.value}{n}",
                    tenant,
                    f"{pair.word} {filler} {letters(place * EACH + n)}",
                    vector=unit_vector(random, centre, NEAR),
                )
                for n in range(EACH)
            ]
            for pair, centre in zip(pairs, centres, strict=True)
            for place, tenant in enumerate(pair)
        }
    )


@asynccontextmanager
async def _own_pair(scene: Scene) -> AsyncIterator[tuple[Scene, Pair]]:
    """The place that all share, and the pair that is this probe's alone."""
    async with scene.loaded("owners", partial(make_owners, scene.draw)) as place:
        yield place, pairs_of(scene.draw)[scene.probe, scene.mode, scene.arm]


async def move(scene: Scene) -> None:
    """A chunk changes its owner: the old one sees it no more, the new one does."""
    async with _own_pair(scene) as (place, pair):
        old, new = pair
        chunk = place.world.chunks[old][0]
        before = await _ask(place, pair, old)
        place.control(chunk.uid in before.uids, "the owner finds it before", before)
        before = await _ask(place, pair, new)
        place.control(bool(before.uids), "the new owner is answered before", before)
        await _get(place, old, chunk.uid)  # so that it is in whatever reads keep
        await _take(place, pair, chunk.uid)
        start = perf_counter_ns()
        place.moving.add(chunk.uid)
        await _move(place, chunk.uid, old, new)

        async def is_moved() -> bool:
            by_old, by_new = await _ask(place, pair, old), await _ask(place, pair, new)
            return chunk.uid not in by_old.uids and chunk.uid in by_new.uids

        await _wait(place, is_moved, start)
        place.moving.clear()
        place.moved[chunk.uid] = new
        await _ask(place, pair, old)
        seen = await _ask(place, pair, new)
        place.expect(
            chunk.uid in seen.uids, f"the new owner does not find {chunk.uid!r}", missing=True
        )
        shown = await _get(place, old, chunk.uid)
        place.expect(not shown, f"the old owner still reads {chunk.uid!r} by id")


async def delete(scene: Scene) -> None:
    """A deleted chunk is gone from answers, reads by id and totals; the others are not."""
    async with _own_pair(scene) as (place, pair):
        old = pair.old
        gone, *kept = place.world.chunks[old]
        before = await _ask(place, pair, old)
        place.control(gone.uid in before.uids, "the owner finds it before", before)
        start = perf_counter_ns()
        adapter = place.adapter
        assert isinstance(adapter, Deletes)
        await place.call("delete", partial(adapter.delete, old, [gone.uid]))
        await place.call("settle", adapter.settle)

        async def is_gone() -> bool:
            return gone.uid not in (await _ask(place, pair, old)).uids

        await _wait(place, is_gone, start)
        place.moved[gone.uid] = None
        after = await _ask(place, pair, old)
        missing = {chunk.uid for chunk in kept} & set(before.uids) - set(after.uids)
        went = f"{plural(len(missing), 'other chunk')} of its owner went too"
        place.expect(not missing, went, missing=True)
        shown = await _get(place, old, gone.uid)
        place.expect(not shown, f"{gone.uid!r} is still read by id")
        if before.total is not None:
            place.expect(
                after.total == before.total - 1,
                f"the total was {before.total} before the delete and is {after.total} now",
                severity="medium",
            )
        await _emptied(place, pair)


async def _emptied(place: Scene, pair: Pair) -> None:
    """The other tenant deletes all that it has, and is answered with nothing at all."""
    adapter = place.adapter
    assert isinstance(adapter, Deletes)
    uids = [chunk.uid for chunk in place.world.chunks[pair.new]]
    before = await _ask(place, pair, pair.new)
    place.control(bool(before.uids), "a tenant is answered before it deletes everything", before)
    start = perf_counter_ns()
    await place.call("delete", partial(adapter.delete, pair.new, uids))
    await place.call("settle", adapter.settle)

    async def is_gone() -> bool:
        return not set(uids) & set((await _ask(place, pair, pair.new)).uids)

    await _wait(place, is_gone, start)
    place.moved.update(dict.fromkeys(uids))
    await _ask(place, pair, pair.new)


async def write_race(scene: Scene) -> None:
    """200 searches while chunks are written; afterwards one owner alone sees the moved one."""
    async with _own_pair(scene) as (place, pair):
        old, new = pair
        chunk, *written = place.world.chunks[old][:3]
        before = {tenant: await _ask(place, pair, tenant) for tenant in pair}
        place.control(chunk.uid in before[old].uids, "the owner finds it before", before[old])
        if chunk.uid not in before[old].uids:
            return
        place.moving.add(chunk.uid)
        touched = {chunk.uid, *(each.uid for each in written)}
        expected = {tenant: set(seen.uids) - touched for tenant, seen in before.items()}
        done = anyio.Event()
        owner = old
        with place.unrecorded() as racing:
            async with anyio.create_task_group() as group:
                group.start_soon(_search_on, racing, pair, expected, done)
                writes = 0
                while not done.is_set():
                    other = new if owner == old else old
                    owner = await _write(racing, chunk, owner, other, written)
                    writes += 1
                    await anyio.lowlevel.checkpoint()
        scene.facts["rounds of writes during searches"] = writes
        place.control(writes > 0, "chunks are written while others are searched", "none was")

        async def is_settled() -> bool:
            asked = [(tenant, await _ask(place, pair, tenant)) for tenant in (old, new)]
            return all((chunk.uid in seen.uids) == (tenant == owner) for tenant, seen in asked)

        settled = await _wait(place, is_settled, perf_counter_ns())
        place.moving.clear()
        place.moved[chunk.uid] = owner
        for tenant in (old, new):
            await _ask(place, pair, tenant)
        # Another that sees it is a finding.
        told = f"afterwards {owner.value!r} alone should find {chunk.uid!r}"
        place.expect(settled, told, missing=True)


async def _write(
    scene: Scene, chunk: Chunk, owner: TenantId, other: TenantId, written: Sequence[Chunk]
) -> TenantId:
    """One chunk changes its owner, others are put again and deleted, as far as the place can.

    Returns the owner that the chunk has now.
    """
    again, gone = written
    adapter = scene.adapter
    assert isinstance(adapter, Writable)
    if "move" in scene.capabilities:
        await _move(scene, chunk.uid, owner, other)
        owner = other
    if "delete" in scene.capabilities:
        assert isinstance(adapter, Deletes)
        await scene.call("delete", partial(adapter.delete, gone.tenant, [gone.uid]))
        await scene.call("settle", adapter.settle)
        await scene.call("put", partial(adapter.put, [gone]))
    await scene.call("put", partial(adapter.put, [again]))
    await scene.call("settle", adapter.settle)
    return owner


async def _search_on(
    scene: Scene, pair: Pair, expected: Mapping[TenantId, set[str]], done: anyio.Event
) -> None:
    """What each tenant found of chunks that nobody writes must be in each of its answers."""
    try:
        for number in range(SEARCHES):
            tenant = pair.new if number % 2 else pair.old
            seen = await _ask(scene, pair, tenant)
            own = expected[tenant]
            lost = plural(len(own - set(seen.uids)), "own chunk")
            scene.expect(
                own <= set(seen.uids),
                f"{tenant.value!r} lost {lost} that nobody wrote"
                f"{f': {seen.error}' if seen.error else ''}",
                missing=True,
            )
    finally:
        done.set()


async def _ask(place: Scene, pair: Pair, tenant: TenantId) -> Seen:
    vector = place.world.chunks[pair.old][0].vector
    want = WANTED | ({"total"} if "total" in place.capabilities else set())
    return await place.ask(tenant.value, pair.word, vector, k=ALL, want=want)


async def _move(place: Scene, uid: str, source: TenantId, target: TenantId) -> None:
    adapter = place.adapter
    assert isinstance(adapter, Moves)
    await place.call("move", partial(adapter.move, uid, source, target))
    await place.call("settle", adapter.settle)


async def _take(place: Scene, pair: Pair, uid: str) -> None:
    """A stranger gives itself a chunk that is not its own: refused, or without effect."""
    old, new = pair
    try:
        await _move(place, uid, new, new)
    except Abandoned:
        raise
    except BackendError:
        pass  # a refusal is right; what was changed nevertheless is seen below
    await _ask(place, pair, new)
    kept = uid in (await _ask(place, pair, old)).uids
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
        "searches while chunks are written",
        "leak",
        "high",
        "While chunks are put, deleted or given to another tenant, answers show others' chunks or "
        "lose own ones, or both owners see a chunk afterwards: write in one step, and search "
        "under the tenant's condition meanwhile, too.",
        write_race,
        arms=("guarded",),
        needs=frozenset({"put"}),
        writes=True,
    ),
)
