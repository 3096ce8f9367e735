"""Every tenant of the suite's corpus asks for what all of them own (P49).

The other probes ask as few tenants, drawn anew in every run. A fault may concern one tenant
alone, such as a right given to one account, or one pair of tenants.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import partial

from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, Layout, TenantId

MOST: Mapping[Layout, int] = {"filter": 500, "rls": 500, "partition": 200, "index": 20}
"""Tenants that ask: fewer where each needs a place of its own, which takes long to make."""
FEWER = 50
"""Hits asked for of an adapter that refuses as many as there are canaries."""
COSINE = 0.95
"""Of every canary to the question."""
OTHERS = 2
"""Chunks without the words for each canary: some searches ignore words of half of all chunks."""


async def every_tenant(scene: Scene) -> None:
    """Each owns one canary, and one question finds all canaries: any other's is a leak.

    So N questions try all pairs of N tenants. As many hits are asked for as there are canaries.
    """
    tenants = _tenants(scene)
    if not tenants:
        scene.left_out = "the corpus names no tenant"
        return
    make = partial(make_canaries, scene.draw, tenants)
    async with scene.loaded("all tenants", make) as place:
        blind = await _ask_all(place)
    scene.facts["tenants that asked"] = len(tenants)
    found = len(tenants) - len(blind)
    if found:
        scene.control(True, f"{found} of {len(tenants)} tenants find their own canary")
    if blind:
        told = f"all of {len(tenants)} tenants find their own canary by words of all canaries"
        scene.control(False, told, f"{len(blind)} do not, of which {blind[0]}")


def _tenants(scene: Scene) -> list[TenantId]:
    """Those of the corpus, as many as may ask, and a new one: even one has somebody to be shown."""
    known = sorted(set(scene.draw.known))
    most = MOST[scene.layout]
    if len(known) > most:
        scene.limit = (
            f"{len(known) - most} of the corpus's {len(known)} tenants were not impersonated: at "
            f"most {most} are in layout {scene.layout!r}, drawn anew in every run"
        )
        known = scene.draw.random("all tenants").sample(known, most)
    return (
        [TenantId(name) for name in (*known, scene.draw.words("all tenants")[0])] if known else []
    )


async def _ask_all(place: Scene) -> list[str]:
    """What those got that do not find their own canary."""
    text, vector = _question(place.draw)
    most = len(place.world.canaries)
    first, *others = place.world.tenants
    seen = [await place.ask(first.value, text, vector, k=most)]
    if seen[0].refused or seen[0].error:
        seen, others, most = [], place.world.tenants, min(most, FEWER)
    seen += await place.ask_all([Asked(each.value, text, vector, k=most) for each in others])
    return [
        f"{tenant.value!r} got {answer.told}"
        for (tenant, canary), answer in zip(place.world.canaries.items(), seen, strict=True)
        if canary.uid not in answer.uids
    ]


def make_canaries(draw: Draw, tenants: Sequence[TenantId]) -> World:
    """One for each tenant, equally good answers to the question; the last owns OTHERS for each."""
    random, (text, vector) = draw.random("canaries of all tenants"), _question(draw)
    id_, other = draw.words("ids")[:2]
    tokens = {tenant: draw.new_token() for tenant in tenants}
    canaries = {
        tenant: Chunk(id_, tenant, f"{text} {token}", vector=unit_vector(random, vector, COSINE))
        for tenant, token in tokens.items()
    }
    filler = " ".join(draw.words("filler"))
    others = [
        Chunk(f"{other}{number}", tenants[-1], filler, vector=unit_vector(random))
        for number in range(OTHERS * len(tenants))
    ]
    chunks = {tenant: [canary] for tenant, canary in canaries.items()}
    chunks[tenants[-1]] += others
    return World(chunks, tokens, canaries)


def _question(draw: Draw) -> tuple[str, array[float]]:
    _name, *words = draw.words("all tenants")
    return " ".join(words), unit_vector(draw.random("question of all tenants"))


PROBES = (
    Probe(
        "P49",
        "every tenant of the corpus",
        "leak",
        "critical",
        "A tenant of the corpus was shown what another owns, though not every tenant is: look "
        "for rights, roles, aliases or exceptions of this tenant, or of the pair.",
        every_tenant,
        arms=BELOW,
        writes=True,
    ),
)
