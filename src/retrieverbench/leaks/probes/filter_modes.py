"""The same small tenants under each way in which the backend can filter (P10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieverbench.errors import BackendError
from retrieverbench.leaks.crowds import OWN, crowds, smalls
from retrieverbench.leaks.places import Variant
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.probes.starvation import (
    ONE_CONNECTION,
    ask_small,
    has_crowd,
    hides_itself,
    is_enough,
    judge_recall,
)
from retrieverbench.leaks.scene import Scene
from retrieverbench.run import Abandoned, one_line

ROWS = 2_000
"""Modes that the target does not use are compared on fewer chunks: each needs a load."""


async def filter_modes(scene: Scene) -> None:
    """The target's own mode must find everything; the others are told."""
    modes: Mapping[str, Mapping[str, Any]] = getattr(type(scene.adapter), "filter_modes", {})
    if not modes:
        scene.left_out = "the adapter names no filter modes"
        return
    found, is_short_alone = await _found(scene, "", ONE_CONNECTION, None)
    scene.facts["mode of the target"] = found
    if is_short_alone:
        return
    judge_recall(scene, found, f"{found:.0%} of the exact answer in the target's own mode")
    for name, options in modes.items():
        try:
            shown, _ = await _found(scene, name, Variant(**options), ROWS)
            scene.facts[f"mode {name}"] = shown
        except Abandoned:
            raise
        except BackendError as error:
            scene.facts[f"mode {name}"] = f"not measured: {one_line(error)}"


async def _found(scene: Scene, name: str, variant: Variant, rows: int | None) -> tuple[float, bool]:
    """The share of the exact answer that a tenant beside the largest crowd finds.

    And whether it finds no more alone, in the target's own mode.
    """
    place_name, make_world = crowds(scene.draw, rows)
    if name:
        place_name = f"{place_name}, {name}"
    small = smalls(scene.draw, rows)[-1]
    async with scene.loaded(place_name, make_world, variant) as place:
        await has_crowd(place, small)
        _seen, found = await ask_small(place, small, OWN)
        is_short = not name and not is_enough(scene, found)
        is_own = is_short and await hides_itself(place, small, OWN, found)
    return found, is_own


PROBES = (
    Probe(
        "P10",
        "filter modes",
        "starvation",
        "high",
        "A small tenant's own chunks are not found in the filter mode that the target uses: "
        "choose one of the modes that the table of this probe shows to find all of them.",
        filter_modes,
        modes=("dense", "hybrid"),
        arms=("guarded",),
        writes=True,
    ),
)
