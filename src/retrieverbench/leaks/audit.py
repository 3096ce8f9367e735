"""The audit of one target: every probe in every mode and arm, each with its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from time import perf_counter_ns

from retrieverbench.errors import BackendError, InputError
from retrieverbench.leaks.places import Shelf
from retrieverbench.leaks.probe import Probe, conclude
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.tried import Tried
from retrieverbench.leaks.world import World
from retrieverbench.model import Arm, Mode, ProbeResult, Unchosen
from retrieverbench.run import Abandoned, one_line

READ_ONLY = "read-only: it needs chunks of the audit's own"


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What is probed. Of a `read_only` place only what needs no chunks of the audit's own.

    `nothing` says why no probe makes sense, "" if some do. `worlds` are those of modes in which
    not the world of the scene holds, but one of their own.
    """

    probes: Sequence[Probe]
    modes: Sequence[Mode]
    arms: Sequence[Arm]
    read_only: bool = False
    nothing: str = ""
    worlds: Mapping[Mode, World] = field(default_factory=dict)


@dataclass(slots=True)
class UnderWay:
    """The probe that is running, with its scene and since when (ns); None between two."""

    now: tuple[Probe, Scene, int] | None = None

    def shown(self, why: str) -> Iterator[ProbeResult]:
        """Its result: a failure if what it saw until it was cut off is one, or no conclusion."""
        if self.now is None:
            return
        probe, scene, start = self.now
        self.now = None
        scene.judge_left()
        cut = f"what it would have asked further: it was cut off ({why})"
        scene.limit = "; ".join(each for each in (scene.limit, cut) if each)
        result = conclude(probe, scene, (perf_counter_ns() - start) / 1e9)
        is_told = scene.findings or any(each.is_of_totals for each in scene.failures)
        is_proven = is_told or (scene.controls and not scene.uncontrolled)
        if result.outcome == "not applicable" or (result.outcome == "fail" and is_proven):
            yield result
            return
        yield replace(
            result,
            outcome="inconclusive",
            leak_class=probe.leak_class,
            severity=probe.severity,
            reason=f"it was cut off before it had a conclusion: {why}",
        )


async def _nothing(_scene: Scene) -> None:
    """Where nothing more is to be known."""


async def audit_target(
    scene: Scene,
    plan: AuditPlan,
    into: list[ProbeResult],
    on_done: Callable[[], None] = lambda: None,
    under_way: UnderWay | None = None,
    at_end: Callable[[Scene], Awaitable[None]] = _nothing,
) -> None:
    """Run the plan; `scene` is a blank one on the loaded place, results go `into` a list.

    A probe that the backend does not answer is inconclusive, and the others go on. Abandoned
    ends the audit. Whatever ends it, `under_way` holds the probe that was running. `at_end` gets
    a scene of each mode while all places that were asked are there.
    """
    running = under_way or UnderWay()
    async with AsyncExitStack() as stack:
        at_place = replace(scene, shelf=Shelf(stack))
        for probe in plan.probes:
            for mode, arm in product(_modes(probe, plan), plan.arms):
                if arm in probe.arms:
                    at_mode = replace(at_place, world=plan.worlds.get(mode, at_place.world))
                    blank = fresh(at_mode, probe, mode, arm)
                    running.now = probe, blank, perf_counter_ns()
                    into.append(await _probe_once(probe, blank, plan))
                    running.now = None
            on_done()
        for mode in plan.modes:
            world = plan.worlds.get(mode, at_place.world)
            await at_end(replace(at_place, world=world, mode=mode))


def unchosen(catalog: Sequence[Probe], chosen: Sequence[Probe]) -> Iterator[Unchosen]:
    """The probes that there are beside those that were chosen."""
    for probe in catalog:
        if probe not in chosen:
            yield Unchosen(probe.id, probe.title, probe.leak_class, probe.severity)


def not_asked(
    probes: Sequence[Probe],
    modes: Sequence[Mode],
    results: Sequence[ProbeResult],
    target: str,
    why: str,
) -> Iterator[ProbeResult]:
    """One for each of the probes without any result, and for each mode that one lacks.

    The reason is `why`, unless a probe asks in other `modes` than the target.
    """
    for probe in probes:
        asked = {result.mode for result in results if result.probe == probe.id}
        for mode in _missed(probe, modes, asked):
            yield _unasked(probe, target, mode, f"{why} in {mode} mode" if mode else why)
        if not asked:
            is_other = probe.modes and not set(probe.modes) & set(modes)
            other = f"it asks in {_listed(probe.modes)} mode, the target in {_listed(modes)} alone"
            yield _unasked(probe, target, None, other if is_other else why)


def _missed(probe: Probe, modes: Sequence[Mode], asked: Collection[Mode | None]) -> Iterator[Mode]:
    """The modes in which a probe that was asked in others should have been asked, too."""
    if asked:
        yield from (mode for mode in modes if mode in probe.modes and mode not in asked)


def _unasked(probe: Probe, target: str, mode: Mode | None, reason: str) -> ProbeResult:
    return ProbeResult(
        probe=probe.id,
        title=probe.title,
        target=target,
        mode=mode,
        arm=probe.arms[0],
        outcome="not probed",
        leak_class=probe.leak_class,
        severity=probe.severity,
        reason=reason,
    )


def _listed(modes: Sequence[Mode]) -> str:
    return " and ".join(modes)


def _modes(probe: Probe, plan: AuditPlan) -> Sequence[Mode]:
    """A probe of the place is asked once, in the first mode."""
    return plan.modes[:1] if not probe.modes else [m for m in plan.modes if m in probe.modes]


def fresh(scene: Scene, probe: Probe, mode: Mode, arm: Arm) -> Scene:
    """A scene of its own for one probe, mode and arm."""
    return replace(
        scene,
        probe=probe.id,
        mode=mode,
        arm=arm,
        trials=0,
        sent=0,
        findings=[],
        labels=[],
        failures=[],
        controls=[],
        uncontrolled=[],
        facts={},
        moved={},
        left_out="",
        risks=[],
        moving=set(),
        limit=scene.world.capped,
        unanswered=[],
        tried=Tried(),
        unjudged=[],
        filter_modes=[],
    )


async def _probe_once(probe: Probe, scene: Scene, plan: AuditPlan) -> ProbeResult:
    scene.left_out = plan.nothing or _left_out(probe, scene.capabilities, read_only=plan.read_only)
    start = perf_counter_ns()
    if not scene.left_out:
        try:
            await probe.ask(scene)
        except Abandoned:
            raise
        except BackendError as error:
            scene.uncontrolled.insert(
                0, f"expected that the backend answers, but it failed: {one_line(error)}"
            )
        except InputError as error:  # of options that the probe sets beside those of the suite
            told = f"expected a place as it needs, but the target's options forbid it: {error}"
            scene.uncontrolled.insert(0, told)
    return conclude(probe, scene, (perf_counter_ns() - start) / 1e9)


def _left_out(probe: Probe, capabilities: frozenset[str], *, read_only: bool) -> str:
    lacking = sorted(probe.needs - capabilities)
    if lacking:
        return f"the adapter does not declare {', '.join(lacking)}"
    return READ_ONLY if read_only and not probe.asks_only else ""
