"""One probe on a retriever in this process: the memory adapter, or one with a fault of a test's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from retrieverbench.adapter import Adapter, Settings
from retrieverbench.leaks import (
    ARMS,
    AS_IS,
    CATALOG,
    DIMENSION,
    AuditPlan,
    Draw,
    Scene,
    Variant,
    audit_target,
    make_world,
    plan_of_judged,
)
from retrieverbench.model import MODES, Arm, Chunk, Layout, Mode, Plan, ProbeResult
from retrieverbench_adapters.memory import Memory

DRAW = Draw(7)


async def audit(
    *ids: str,
    adapter: type[Memory] = Memory,
    modes: Sequence[Mode] = MODES,
    arms: Sequence[Arm] = ARMS[:1],
    layout: Layout = "filter",
    search: Mapping[str, object] | None = None,
    scene_layout: Layout | None = None,
    plans: dict[Mode, Plan] | None = None,
    **fields: Any,
) -> dict[tuple[str, Mode | None], ProbeResult]:
    """Results by probe and mode (of the last arm); `fields` are of the scene.

    `plans` takes the plan of a question that was judged in each mode.
    """

    async def explain(scene: Scene) -> None:
        if plans is not None:
            plans[scene.mode] = await plan_of_judged(scene)

    @asynccontextmanager
    async def another(chunks: Sequence[Chunk], variant: Variant = AS_IS) -> AsyncIterator[Adapter]:
        options = {"place": variant.place, "search": {**(search or {}), **variant.search}}
        settings = Settings("", "rb_audit", frozenset(modes), layout, DIMENSION, options=options)
        opened = await adapter.open(settings)
        await opened.put(chunks)
        await opened.settle()
        yield opened
        await opened.close()

    world = make_world(DRAW)
    results: list[ProbeResult] = []
    async with another(world.all_chunks()) as opened:
        blank = Scene(
            adapter=opened,
            open=another,
            world=world,
            draw=DRAW,
            target="fake",
            probe="",
            mode=modes[0],
            arm=arms[0],
            timeout=20.0,
            layout=scene_layout or layout,
            capabilities=adapter.capabilities,
            options={"search": search or {}},
        )
        probes = [probe for probe in CATALOG if probe.id in ids]
        plan = AuditPlan(probes, modes, arms)
        await audit_target(replace(blank, **fields), plan, results, at_end=explain)
    return {(result.probe, result.mode): result for result in results}


async def audit_one(
    probe: str, mode: Mode = "dense", adapter: type[Memory] = Memory, **fields: Any
) -> ProbeResult:
    """One probe in one mode."""
    return (await audit(probe, adapter=adapter, modes=(mode,), **fields))[probe, mode]
