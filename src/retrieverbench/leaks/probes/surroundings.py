"""What stands around a search: the role's rights, later stages, time (P43, P45, P46)."""

from __future__ import annotations

import math
from statistics import mean, stdev

from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import Scene

PAIRS = 100


async def rights(scene: Scene) -> None:
    """Whether the isolation that the server enforces binds the role that searches."""
    if scene.layout != "rls":
        scene.left_out = (
            f"layout {scene.layout!r} claims no rule of the server: whatever its credential may "
            "read, a question without a condition finds; what is known to weaken it, if anything, "
            'stands under "Validity"'
        )
        return
    if scene.description is None:
        scene.control(False, "the adapter describes its place")
        return
    scene.control(True, f"read from {scene.description.server}")
    for reason in scene.description.unbound:
        scene.expect(False, reason)


async def later_stages(scene: Scene) -> None:
    """Rerankers and expansions see own candidates only."""
    scene.left_out = (
        "stages after the search, if there are any, lie within the adapter: what comes out of them "
        "is judged as its answers, what goes in cannot be seen"
    )


async def answer_times(scene: Scene) -> None:
    """A word of a foreign chunk and a word of none, in turn; what differs is told, not judged."""
    if scene.fidelity != "server":
        scene.left_out = (
            f"no server answers (fidelity {scene.fidelity or 'unknown'}): times say nothing of one"
        )
        return
    asker, owner = scene.world.tenants[:2]
    vector = scene.world.chunks[asker][0].vector
    there, absent = scene.world.only[owner], scene.draw.words("absent")[0]
    differences = []
    for number in range(PAIRS):
        words = (there, absent) if number % 2 else (absent, there)
        seconds = {word: (await scene.ask(asker.value, word, vector)).seconds for word in words}
        differences.append(1e6 * (seconds[there] - seconds[absent]))
    found = await scene.ask(owner.value, there, vector)
    scene.control(
        bool(found.uids), f"the owner finds its chunk by the word of {PAIRS} pairs", found
    )
    spread = stdev(differences)
    middle, error = mean(differences), 1.96 * spread / math.sqrt(PAIRS)
    scene.facts["microseconds longer"] = round(middle, 1)
    scene.facts["95 % interval"] = f"{middle - error:.1f} to {middle + error:.1f}"
    scene.facts["effect size"] = round(middle / spread, 3) if spread else 0.0


PROBES = (
    Probe(
        "P43",
        "rights of the searching role",
        "fail-open",
        "high",
        "The server's own rule does not bind the role that searches: use a role that is "
        "neither superuser, owner nor BYPASSRLS.",
        rights,
        asks_only=True,
        modes=(),
        arms=("guarded",),
    ),
    Probe(
        "P45",
        "stages after the search",
        "leak",
        "critical",
        "A reranker or an expansion saw chunks of others: give it own candidates only.",
        later_stages,
        asks_only=True,
        modes=(),
        arms=("guarded",),
    ),
    Probe(
        "P46",
        "time of an answer",
        "side channel",
        "info",
        "Answers take longer when a foreign chunk matches. This is told and never fails.",
        answer_times,
        asks_only=True,
        arms=("guarded",),
    ),
)
