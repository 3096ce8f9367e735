"""What a probe is: declared in a catalog, run on a scene, judged in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from retrieverbench.errors import plural
from retrieverbench.leaks.failure import Failure
from retrieverbench.leaks.scene import Scene
from retrieverbench.model import (
    MODES,
    SEVERITIES,
    Arm,
    LeakClass,
    Mode,
    Outcome,
    ProbeResult,
    Severity,
    WrongLabel,
)

ARMS: tuple[Arm, ...] = ("guarded", "below the guard")
BELOW: tuple[Arm, ...] = ("below the guard",)
"""For questions of checked tenants, which the guard lets pass unchanged: asked once, they
prove both arms, and asked below it, they reach users' own retrievers too."""


UNSEEN = (
    "what shows itself only with more hits, tenants or questions than it asks ('at most' in the "
    "report of an audit), and parts or paraphrases of a text"
)
"""The limit of every probe that has none of its own to tell."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One entry of the catalog.

    `ask` puts its questions to a scene. `modes` are those it makes sense in, none for a probe
    of the place, which is asked once; `needs` the capabilities without which it is not
    applicable; `writes` whether it changes what the place holds, so that it gets a place of
    its own. `asks_only` is for probes that need nothing but questions and a ledger: they alone
    are asked of a place that is only read.
    `read_title` is its title where there is none of the audit's own chunks.
    `help` says what a failure means and what to do; `limit` what it cannot see.
    """

    id: str
    title: str
    leak_class: LeakClass
    severity: Severity
    help: str
    ask: Callable[[Scene], Awaitable[None]]
    modes: tuple[Mode, ...] = MODES
    arms: tuple[Arm, ...] = ARMS
    needs: frozenset[str] = frozenset()
    writes: bool = False
    asks_only: bool = False
    read_title: str = ""
    limit: str = UNSEEN


def conclude(probe: Probe, scene: Scene, seconds: float) -> ProbeResult:
    """The outcome: a finding is a leak, whatever the probe was looking for.

    Without a finding or a failure it passes only when every positive control was met.
    """
    found, clean = bool(scene.findings), scene.draw.without_tokens
    worst = next(iter(_proven(probe, scene)), Failure(""))
    return ProbeResult(
        probe=probe.id,
        title=(scene.world.exported and probe.read_title) or probe.title,
        target=scene.target,
        mode=scene.mode if probe.modes else None,
        arm=scene.arm,
        outcome=_outcome(probe, scene),
        leak_class="leak" if found else worst.leak_class or probe.leak_class,
        severity="critical" if found else worst.severity or probe.severity,
        reason=scene.draw.without_tokens(_reason(probe, scene)),
        control="; ".join(scene.controls),
        trials=scene.trials,
        requests=None if scene.log is None else scene.sent,
        findings=tuple(
            replace(each, uid=clean(each.uid), where=clean(each.where), under=clean(each.under))
            for each in scene.findings
        ),
        facts=dict(scene.facts),
        risks=tuple(scene.risks),
        seconds=seconds,
        labels=_labels(scene),
        limit="; ".join(each for each in (scene.limit, probe.limit) if each),
        tried=scene.tried.numbers,
        filter_modes=tuple(scene.filter_modes),
    )


def _labels(scene: Scene) -> tuple[WrongLabel, ...]:
    """Each once, without tokens: a backend may have written anything there."""
    clean = scene.draw.without_tokens
    return tuple(
        replace(each, uid=clean(each.uid), label=clean(each.label))
        for each in dict.fromkeys(scene.labels)
    )


def _proven(probe: Probe, scene: Scene) -> list[Failure]:
    """The failures, gravest first, but those that missing answers explain where there were any.

    Where not one control was met, or a question had no answer for reasons of the moment, what
    was missed says nothing of the tenant condition. A total that is too large misses nothing.
    """
    is_blind = scene.unanswered or (scene.uncontrolled and not scene.controls)
    proven = [each for each in scene.failures if each.is_of_totals or not is_blind]
    return sorted(proven, key=lambda each: SEVERITIES.index(each.severity or probe.severity))


def _outcome(probe: Probe, scene: Scene) -> Outcome:
    if scene.findings or _proven(probe, scene):
        return "fail"
    if scene.left_out:
        return "not applicable"
    is_proven = scene.controls and not scene.uncontrolled and not scene.unanswered
    return "pass" if is_proven else "inconclusive"


def _extent(scene: Scene) -> str:
    """How often foreign chunks were shown, and how many they are; "" for one finding."""
    times, chunks = len(scene.findings), len({finding.uid for finding in scene.findings})
    return f"; {times} times in all, {plural(chunks, 'chunk')}" if times > 1 else ""


def _reason(probe: Probe, scene: Scene) -> str:
    if scene.findings:
        first = scene.findings[0]
        owner = (
            f"belongs to {first.owner!r}"
            if first.owner
            else "is not a chunk that the audit wrote or knows"
        )
        hint = f" ({first.hint})" if first.hint else ""
        more = _extent(scene)
        what = f"{first.part}{first.uid!r}, which {owner}{first.place}"
        return f"{first.tenant!r} was shown {what}{hint}{more}"
    failures = _proven(probe, scene)
    if scene.unanswered and not failures:
        return (
            f"{plural(len(scene.unanswered), 'question')} had no answer, or none when first asked, "
            f"so that what was missed proves nothing; the first: {scene.unanswered[0]}"
        )
    if failures:
        more = f"; and {len(failures) - 1} more" if len(failures) > 1 else ""
        return f"{failures[0].text}{more}"
    if scene.left_out:
        return scene.left_out
    if scene.uncontrolled:
        return f"its control failed: {scene.uncontrolled[0]}"
    return "" if scene.controls else "it had no positive control"
