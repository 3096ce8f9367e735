"""What one question leaves behind for the next (P31, P32, P33, P35)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import anyio

from retrieverbench.errors import plural
from retrieverbench.leaks.asking import at_once
from retrieverbench.leaks.hostile import MISSING
from retrieverbench.leaks.places import Variant
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.probes.requests import expect_nothing
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Chunk, TenantId

ALL = 20
"""More than a tenant owns: whole answers are compared as sets, so that no tie matters."""
UNSTEADY = ("the same question gets the same chunks twice", "its answers differ by themselves")
WIDTH, ROUNDS, REPEATS = 8, 25, 3
DELAYS = (0.0, 0.0005, 0.001, 0.002, 0.005)
"""Seconds after which a call is cancelled: before it began, in flight, after it ended."""


async def interleaved(scene: Scene) -> None:
    """Several tenants ask at once, on one adapter object."""
    tenants = scene.world.tenants
    alone = {tenant: await _whole(scene, tenant) for tenant in tenants}
    for tenant, seen in alone.items():
        scene.control(bool(seen.uids), f"{tenant.value!r} finds chunks when it asks alone", seen)
    if not await _are_steady(scene, alone):
        alone = {}

    async def one(tenant: TenantId) -> None:
        seen = await _whole(together, tenant)
        _expect_same(together, tenant, seen, alone.get(tenant), "among other questions")

    with scene.unrecorded() as together:
        await at_once([partial(one, tenant) for _ in range(ROUNDS) for tenant in tenants], WIDTH)


@asynccontextmanager
async def _one_connection(scene: Scene) -> AsyncIterator[Scene]:
    """The same chunks in a place with one connection, which every question must share."""
    variant = Variant(concurrency=1)
    async with scene.loaded("one connection", lambda: scene.world, variant) as place:
        place.world = scene.world  # what questions find of the same place differs by mode
        yield place


async def sticky(scene: Scene) -> None:
    """Questions without a tenant between those of two tenants, on one connection."""
    async with _one_connection(scene) as place:
        await _sticky(place)


async def _sticky(scene: Scene) -> None:
    first, second = scene.world.tenants[:2]
    expected = {tenant: await _whole(scene, tenant) for tenant in (first, second)}
    if not await _are_steady(scene, expected):
        expected = {}
    chunk = scene.world.chunks[first][0]
    for name in MISSING:
        for tenant in (first, second):
            seen = await _whole(scene, tenant)
            scene.control(bool(seen.uids), f"{tenant.value!r} finds chunks", seen)
            _expect_same(scene, tenant, seen, expected.get(tenant), f"before the tenant {name!r}")
            nobody = await scene.ask(name, chunk.text, chunk.vector)
            expect_nothing(scene, nobody, f"the tenant {name!r} after {tenant.value!r}")


async def cancelled(scene: Scene) -> None:
    """A call is cancelled at some moment; then another tenant asks on the same connection."""
    async with _one_connection(scene) as place:
        await _cancelled(place)


async def _cancelled(scene: Scene) -> None:
    first, second = scene.world.tenants[:2]
    expected = await _whole(scene, second)
    scene.control(bool(expected.uids), f"{second.value!r} finds chunks", expected)
    is_steady = await _are_steady(scene, {second: expected})
    for delay in DELAYS:
        with scene.unrecorded() as unrecorded, anyio.move_on_after(delay):
            await _whole(unrecorded, first)
        seen = await _whole(scene, second)
        alone = expected if is_steady else None
        _expect_same(scene, second, seen, alone, "after a cancelled question of another")


async def cached(scene: Scene) -> None:
    """The same words asked by one tenant, another, the first again, an unknown one, nobody."""
    first, second = scene.world.tenants[:2]
    if first not in scene.world.twins:
        scene.left_out = "no question of the golden set finds chunks of two tenants"
        return
    twin = scene.world.twins[first][0]
    own = {tenant: await _asked(scene, tenant, twin) for tenant in (first, second)}
    for tenant, seen in own.items():
        scene.control(bool(seen.uids), f"{tenant.value!r} finds chunks by the question", seen)
    # A difference that is there without another tenant in between is no cache's.
    is_steady = set((await _asked(scene, first, twin)).uids) == set(own[first].uids)
    scene.control(is_steady, *UNSTEADY)
    (name,) = scene.draw.words("nobody")
    unknown = await scene.ask(name, twin.text, twin.vector, k=ALL)
    scene.expect(not unknown.uids, f"an unknown tenant got {plural(len(unknown.uids), 'chunk')}")
    nobody = await scene.ask(None, twin.text, twin.vector, k=ALL)
    expect_nothing(scene, nobody, "the tenant None")
    if "where" in scene.capabilities and not scene.world.exported:
        await _cached_beside_a_condition(scene, first, second)


async def _cached_beside_a_condition(scene: Scene, first: TenantId, second: TenantId) -> None:
    """The same with a condition that chunks of both tenants meet."""
    key = scene.draw.words("keys")[0]
    chunk, word = scene.world.chunks[first][0], scene.draw.words("common")[0]
    for tenant in (first, second, first):
        where = {key: chunk.metadata[key]}
        await scene.ask(tenant.value, word, chunk.vector, k=ALL, where=where)


async def _whole(scene: Scene, tenant: TenantId) -> Seen:
    """Everything that a tenant owns, or all that holds a word of all tenants' chunks.

    By its own word alone a search without a condition would find its own alone, too.
    """
    world = scene.world
    word = world.only[tenant] if world.exported else scene.draw.words("common")[0]
    # The same question for all, so that one that is kept or shared without its tenant shows.
    chunk = world.chunks[tenant][0] if world.exported else world.twins[tenant][0]
    return await scene.ask(tenant.value, word, chunk.vector, k=ALL)


async def _asked(scene: Scene, tenant: TenantId, twin: Chunk) -> Seen:
    return await scene.ask(tenant.value, twin.text, twin.vector, k=ALL)


async def _are_steady(scene: Scene, alone: Mapping[TenantId, Seen]) -> bool:
    """Whether tenants get the same chunks when they ask again; else the control has failed."""
    again = [(tenant, await _whole(scene, tenant)) for tenant in alone for _ in range(REPEATS)]
    is_steady = all(set(seen.uids) == set(alone[tenant].uids) for tenant, seen in again)
    if not is_steady:
        scene.control(False, *UNSTEADY)
    return is_steady


def _expect_same(scene: Scene, tenant: TenantId, seen: Seen, alone: Seen | None, when: str) -> None:
    """The chunks of its answer when it asked `alone`; None where those differ by themselves.

    Foreign ones are findings already: what differs here are its own.
    """
    if seen.error is not None:
        # An error shows nobody anything, and nothing of what the answer would have been.
        scene.control(False, f"{tenant.value!r} is answered {when}", seen)
        return
    differing = 0 if alone is None else len(set(seen.uids) ^ set(alone.uids))
    scene.expect(
        not differing,
        f"{tenant.value!r} got an answer that differs in {differing} of its own chunks {when}",
        # Own chunks that come and go may be those of an approximate index of the user's.
        severity="medium" if scene.world.exported else "high",
        missing=alone is not None and set(seen.uids) < set(alone.uids),
    )


PROBES = (
    Probe(
        "P31",
        "questions at once",
        "leak",
        "critical",
        "Answers mix when several tenants ask at once: keep no tenant in an object, a thread or "
        "a connection that others use.",
        interleaved,
        asks_only=True,
        arms=BELOW,
    ),
    Probe(
        "P32",
        "what a connection keeps",
        "leak",
        "critical",
        "A question without a tenant is answered as the one before it: set the tenant inside "
        "the same transaction as the question.",
        sticky,
        asks_only=True,
    ),
    Probe(
        "P33",
        "cancelled questions",
        "leak",
        "high",
        "A cancelled question spoils the next one: close its transaction before the connection "
        "is used again.",
        cancelled,
        asks_only=True,
        arms=BELOW,
    ),
    Probe(
        "P35",
        "caches",
        "leak",
        "critical",
        "An answer is kept for the words alone: a cache's key must hold the tenant, mode, k, "
        "conditions and words.",
        cached,
        asks_only=True,
    ),
)
