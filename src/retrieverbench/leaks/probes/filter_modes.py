"""The same small tenants under each way in which the backend can filter (P10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retrieverbench.errors import BackendError, InputError
from retrieverbench.leaks.asking import K
from retrieverbench.leaks.crowds import OWN, beside_largest, crowd_of, crowds, smalls
from retrieverbench.leaks.places import Variant
from retrieverbench.leaks.plans import plan_beside_crowd
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.probes.starvation import (
    BETWEEN,
    ONE_CONNECTION,
    ask_small,
    has_crowd,
    hides_itself,
    is_enough,
    judge_recall,
    short_of,
)
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.tried import Tried
from retrieverbench.leaks.world import World
from retrieverbench.model import FilterMode
from retrieverbench.options import parse_options
from retrieverbench.run import Abandoned, one_line

Options = Mapping[str, Mapping[str, Any]]


async def filter_modes(scene: Scene) -> None:
    """The target's own mode must find everything; the others are told."""
    modes: Mapping[str, Options] = getattr(type(scene.adapter), "filter_modes", {})
    if not modes:
        scene.left_out = "the adapter names no filter modes"
        return
    name, make_world = crowds(scene.draw)
    async with scene.loaded(name, make_world, ONE_CONNECTION) as place:
        small = smalls(scene.draw)[-1]
        await has_crowd(place, small)
        seen, found = await ask_small(place, small, OWN)
        if not is_enough(scene, found) and await hides_itself(place, small, OWN, found):
            return
        told = f"filter mode 'of the target', share found {round(found, 2):g} beside the largest"
        judge_recall(scene, found, f"{told} crowd: {short_of(small, seen, found, OWN)}")
        world = place.world
    own = next((options for options in modes.values() if _is_own(scene, options)), {})
    scene.filter_modes.append(replace(await _measured(scene, world, "", {}), options=own))
    for mode, options in modes.items():
        if not _is_own(scene, options):
            scene.filter_modes.append(await _measured(scene, world, mode, options))


def _is_own(scene: Scene, options: Options) -> bool:
    """Whether a mode sets nothing that the target does not set, or have as a default, itself."""
    laid = {**scene.options}
    for group, values in options.items():
        laid[group] = {**laid.get(group, {}), **values}
    made = getattr(type(scene.adapter), "options", None)
    try:
        return _whole(made, laid) == _whole(made, scene.options)
    except InputError:  # it cannot be laid over the target's; measuring it tells why
        return False


def _whole(made: type | None, options: Mapping[str, object]) -> object:
    """With all defaults, where the adapter names its dataclass of options."""
    return options if made is None else parse_options(made, options, "options")


async def _measured(scene: Scene, world: World, mode: str, options: Options) -> FilterMode:
    """One mode, `mode` "" for the target's own; but for what is foreign nothing is judged.

    Its questions are no trials of the target: it does not search so.
    """
    name, _make_world = crowds(scene.draw)
    variant = Variant(**options, concurrency=ONE_CONNECTION.concurrency)
    apart = replace(scene, tried=Tried(), unanswered=[], uncontrolled=[], controls=[])
    if mode:
        apart.hint = f"in filter mode {mode!r}, which the target does not set"
    told, known = FilterMode(mode, options), len(scene.findings)
    try:
        name = f"{name}, {mode}" if mode else name
        async with apart.loaded(name, lambda: world, variant) as place:
            facts = await _found_by_small(place)
            if mode and len(scene.findings) > known:
                return replace(told, note="others' chunks were shown instead, which is a leak")
            if apart.uncontrolled or apart.unanswered:
                return replace(told, note=(apart.uncontrolled + apart.unanswered)[0])
            told = replace(told, facts=facts)
            if "explain" in scene.capabilities:
                plan = await plan_beside_crowd(place, smalls(scene.draw)[-1])
                told = replace(told, plan=plan)
    except Abandoned:
        raise
    except (BackendError, InputError) as error:  # of options that cannot be laid over the target's
        return replace(told, note=one_line(error))
    finally:
        scene.sent = apart.sent
    return told


async def _found_by_small(place: Scene) -> dict[str, int | float | str]:
    """What P08, P09 and P34 ask, by the names that they give it; and how many answers are short."""
    facts: dict[str, int | float | str] = {}
    short: list[bool] = []
    for small in smalls(place.draw):
        seen, found = await ask_small(place, small, K)
        short.append(len(seen.uids) < K)
        facts[f"crowd {small.crowd}"] = found
        if found < 1.0:
            facts.setdefault("breaks at", small.crowd)
    for order, small in beside_largest(place.draw).items():
        seen, found = await ask_small(place, small, OWN)
        short.append(len(seen.uids) < OWN)
        facts[f"own {order}"] = found
    facts["short answers"] = f"{sum(short)} of {len(short)}"
    return facts | await _asked_between(place)


async def _asked_between(place: Scene) -> dict[str, int | float | str]:
    """How many chunks a small tenant finds, and after a large one has asked many times.

    Nothing where it differs by itself.
    """
    small, crowd = smalls(place.draw)[-1], crowd_of(place.draw)
    before, again = [(await ask_small(place, small, OWN))[0] for _ in range(2)]
    for _ in range(BETWEEN):
        large = await place.ask(crowd.value, small.text, small.vector, k=OWN)
    place.control(bool(large.uids), f"the crowd's own tenant {crowd.value!r} is answered", large)
    after, _found = await ask_small(place, small, OWN)
    if set(before.uids) != set(again.uids):
        return {}
    return {"own before": len(before.uids), "own after": len(after.uids)}


PROBES = (
    Probe(
        "P10",
        "filter modes",
        "starvation",
        "high",
        "A small tenant's own chunks are not found in the filter mode that the target uses: "
        "choose a mode other than the target's that finds all of them by the table 'Filter modes', "
        "search more candidates (ef_search, oversampling), or search exactly.",
        filter_modes,
        modes=("dense", "hybrid"),
        arms=("guarded",),
        writes=True,
    ),
)
