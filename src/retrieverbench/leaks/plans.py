"""The backend's own plan of a question that was judged: which search it was that passed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from retrieverbench.errors import plural
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.crowds import OWN, Small, crowds, smalls
from retrieverbench.leaks.scene import WRITE_TIMEOUTS, Scene
from retrieverbench.model import Plan
from retrieverbench.run import Step, plan_of


async def plan_beside_crowd(place: Scene, small: Small) -> Plan:
    """Of the question of a small tenant. Raises BackendError."""
    return await _plan(place, Asked(small.tenant, small.text, small.vector, OWN))


async def plan_of_judged(scene: Scene) -> Plan:
    """Of the question beside the largest crowd, in the place where it was judged.

    Where no crowd was asked about, of a question about the first of the chunks that were.
    """
    assert scene.shelf is not None, "an audit has a shelf"
    name, _make_world = crowds(scene.draw)
    kept = scene.shelf.kept.get(name)
    if isinstance(kept, tuple):
        return await plan_beside_crowd(replace(scene, adapter=kept[0]), smalls(scene.draw)[-1])
    chunk = next(chunk for chunks in scene.world.chunks.values() for chunk in chunks)
    plan = await _plan(scene, Asked(chunk.tenant, chunk.text, chunk.vector))
    if scene.world.exported:
        return plan
    few = f"asked among {plural(len(scene.world.ledger), 'chunk')}: among more it may be another"
    return replace(plan, caveat="; ".join(filter(None, (plan.caveat, few))))


async def _plan(scene: Scene, asked: Asked) -> Plan:
    query = asked.query(scene.tenant(asked.tenant), scene.mode)
    step = Step(scene.target, "explain", WRITE_TIMEOUTS * scene.timeout)
    with scene.log.apart() if scene.log else nullcontext():  # no question sent what it sends
        return await plan_of(scene.adapter, query, step)
