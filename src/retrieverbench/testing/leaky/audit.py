"""The audit of the leaky adapter, clean or with one fault, without a suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from retrieverbench.adapter import OWN_PREFIX, Adapter, Settings
from retrieverbench.leaks import (
    ARMS,
    AS_IS,
    CATALOG,
    DIMENSION,
    AuditPlan,
    Draw,
    Probe,
    RequestLog,
    Scene,
    Variant,
    audit_target,
    make_world,
)
from retrieverbench.model import MODES, Arm, Chunk, Mode, ProbeResult
from retrieverbench.testing.leaky.adapter import LeakyAdapter
from retrieverbench.testing.leaky.answering import CORPUS
from retrieverbench.testing.leaky.faults import FAULTS

TIMEOUT = 30.0
SEED = 7
WIDTH = 4


async def audit_leaky(
    fault: str = "",
    probes: Sequence[Probe] = CATALOG,
    modes: Sequence[Mode] = MODES,
    arms: Sequence[Arm] = ARMS,
    seed: int = SEED,
    width: int = WIDTH,
) -> list[ProbeResult]:
    """The result of each probe in each mode and arm; without `fault` those of the clean one.

    `width` questions may be under way together.
    """
    cls = LeakyAdapter.with_fault(fault) if fault else LeakyAdapter
    log = RequestLog()

    @asynccontextmanager
    async def opened(chunks: Sequence[Chunk], variant: Variant = AS_IS) -> AsyncIterator[Adapter]:
        options = {"place": variant.place, "search": variant.search}
        adapter = await cls.open(
            Settings(
                endpoint="",
                place=f"{OWN_PREFIX}leaky",
                modes=frozenset(MODES),
                dimension=DIMENSION,
                options=options,
                recorder=log,
            )
        )
        await adapter.put(chunks)
        await adapter.settle()
        yield adapter
        await adapter.close()

    draw = Draw(seed, CORPUS)
    world = make_world(draw)
    results: list[ProbeResult] = []
    async with opened(world.all_chunks()) as adapter:
        blank = Scene(
            adapter=adapter,
            open=opened,
            world=world,
            draw=draw,
            target=cls.__name__,
            probe="",
            mode=modes[0],
            arm=arms[0],
            timeout=TIMEOUT,
            log=log,
            capabilities=cls.capabilities,
            description=await adapter.describe(),
            width=width,
        )
        await audit_target(blank, AuditPlan(probes, modes, arms), results)
    return results


def caught_by(fault: str, results: Sequence[ProbeResult]) -> tuple[str, ...]:
    """The numbers of the probes that noticed the fault, in order; each at least once."""
    outcome = FAULTS[fault].outcome
    return tuple(sorted({result.probe for result in results if result.outcome == outcome}))
