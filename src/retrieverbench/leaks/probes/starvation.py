"""Own chunks that foreign ones crowd out (P07, P08, P09, P34, P42).

Nothing foreign is shown here; what is missing is the tenant's own.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import partial

from retrieverbench.errors import plural
from retrieverbench.leaks.asking import K
from retrieverbench.leaks.crowds import OWN, Small, beside_largest, crowd_of, crowds, smalls
from retrieverbench.leaks.draw import Draw, letters
from retrieverbench.leaks.oracle import cosines, recall
from retrieverbench.leaks.places import Variant
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, Plan, TenantId

ONE_CONNECTION = Variant(concurrency=1)
"""Shared by all of these probes, so that P34 sees what one connection remembers."""
UNSTEADY = ("the same question gets the same chunks twice", "its answers differ by themselves")
MANY, EACH = 200, 3
BETWEEN = 25


async def ask_small(scene: Scene, small: Small, k: int) -> tuple[Seen, float]:
    """One small tenant's question, and the share of its k best chunks that came back.

    Dense is compared with the exact cosines. In the other modes every own chunk holds the
    word and is as good as another: what counts is how many came back.
    """
    own = scene.world.chunks[small.tenant]
    exact: Mapping[str, float] = dict.fromkeys((chunk.uid for chunk in own), 1.0)
    if scene.mode == "dense":
        exact = cosines(own, small.vector)
    seen = await scene.ask(small.tenant.value, small.text, small.vector, k=k)
    return seen, recall(seen.uids, exact, k)


async def found_alone(scene: Scene, small: Small, k: int) -> float:
    """The share of the same answer in a place that holds this tenant's chunks and no others."""
    own = scene.world.chunks[small.tenant]
    name = f"{small.tenant.value} alone"
    async with scene.loaded(name, lambda: World({small.tenant: own}), ONE_CONNECTION) as place:
        return (await ask_small(place, small, k))[1]


async def hides_itself(scene: Scene, small: Small, k: int, found: float) -> bool:
    """Whether no crowd is needed for what is missing: a floor of scores, say, or a reranker.

    The control has failed then, for nothing can be told of what a crowd hides.
    """
    alone = await found_alone(scene, small, k)
    if alone > found:
        return False
    scene.control(
        False,
        f"{small.tenant.value!r} finds its {min(k, OWN)} best chunks where no others are",
        f"it found {alone:.0%} of them; a floor of scores or a reranker may leave some out",
    )
    return True


async def has_crowd(scene: Scene, small: Small) -> bool:
    """The positive control: the crowd's owner finds its chunks by the same question."""
    seen = await scene.ask(crowd_of(scene.draw).value, small.text, small.vector)
    scene.control(
        bool(seen.uids), f"foreign chunks answer the question ({small.crowd} of them)", seen
    )
    return bool(seen.uids)


async def post_filter(scene: Scene) -> None:
    """2k foreign chunks are nearer than all own ones."""
    await _crowded(scene, smalls(scene.draw)[:1])


async def growing_crowd(scene: Scene) -> None:
    """The same with crowds from 2k chunks to thousands; the first that hides own ones is told."""
    await _crowded(scene, smalls(scene.draw))


async def _crowded(scene: Scene, tenants: list[Small]) -> None:
    name, make_world = crowds(scene.draw)
    async with scene.loaded(name, make_world, ONE_CONNECTION) as place:
        for small in tenants:
            if not await has_crowd(place, small):
                continue
            seen, found = await ask_small(place, small, K)
            scene.facts[f"crowd {small.crowd}"] = found
            is_beyond = _is_beyond(scene, small)
            if found < 1.0 and not is_beyond and await hides_itself(place, small, K, found):
                return
            if found < 1.0:
                scene.facts.setdefault("breaks at", small.crowd)
            accept = "post_filter" if is_beyond else ""
            place.expect(found == 1.0, short_of(small, seen, found, K), accept=accept)
    if "breaks at" not in scene.facts and len(tenants) > 1:
        scene.accept("post_filter", f"complete beside {tenants[-1].crowd} chunks", found=False)


def _is_beyond(scene: Scene, small: Small) -> bool:
    """Whether the crowd is above the declared number, up to which an answer must be complete."""
    declared = scene.declared.get("post_filter")
    return declared is not None and small.crowd > declared.value


async def insertion_orders(scene: Scene) -> None:
    """Tenants of ten among 10,000 chunks, one written first, one last and one in between."""
    tenants = beside_largest(scene.draw)
    name, make_world = crowds(scene.draw)
    async with scene.loaded(name, make_world, ONE_CONNECTION) as place:
        if not await has_crowd(place, tenants["shuffled"]):
            return
        for order, small in tenants.items():
            seen, found = await ask_small(place, small, OWN)
            scene.facts[f"own {order}"] = found
            if not is_enough(scene, found) and await hides_itself(place, small, OWN, found):
                return
            judge_recall(place, found, f"own written {order}: {short_of(small, seen, found, OWN)}")
    if set(scene.facts.values()) == {1.0}:
        scene.accept("approximate", "the exact answer in every order", found=False)


def judge_recall(scene: Scene, found: float, told: str) -> None:
    """All of the exact answer, or as much of it as the target declares."""
    scene.expect(found == 1.0, told, accept="approximate" if is_enough(scene, found) else "")


def is_enough(scene: Scene, found: float) -> bool:
    """Whether so much of the exact answer is all of it, or what the target declares."""
    declared = scene.declared.get("approximate")
    return found == 1.0 or (declared is not None and found >= declared.value)


async def order_dependence(scene: Scene) -> None:
    """A small tenant, a large one 25 times, the small one again, all on one connection."""
    small, crowd = smalls(scene.draw)[-1], crowd_of(scene.draw)
    name, make_world = crowds(scene.draw)
    async with scene.loaded(name, make_world, ONE_CONNECTION) as place:
        before, _found = await ask_small(place, small, OWN)
        place.control(bool(before.uids), f"{small.tenant.value!r} is answered at first", before)
        again, _found = await ask_small(place, small, OWN)
        if set(again.uids) != set(before.uids):
            place.control(False, *UNSTEADY)
            return
        for _ in range(BETWEEN):
            large = await place.ask(crowd.value, small.text, small.vector, k=OWN)
        place.control(bool(large.uids), "the large tenant is answered in between", large)
        after, _found = await ask_small(place, small, OWN)
        scene.facts["own before"], scene.facts["own after"] = len(before.uids), len(after.uids)
        place.expect(
            set(before.uids) == set(after.uids),
            f"after {BETWEEN} questions of a large tenant {small.tenant.value!r} got "
            f"{plural(len(after.uids), 'chunk')}, {len(before.uids)} before",
        )


async def many_tenants(scene: Scene) -> None:
    """200 tenants with the same three chunks: each gets exactly its own three."""
    async with scene.loaded(f"{MANY} tenants", partial(_alike, scene.draw)) as place:
        answered, alone = 0, None
        for tenant, own in place.world.chunks.items():
            question = Small(tenant, MANY, own[0].text, own[0].vector or array("f"))
            seen = await place.ask(tenant.value, question.text, question.vector)
            answered += bool(seen.uids)
            found = len({chunk.uid for chunk in own} & set(seen.uids))
            if found < EACH and alone is None:  # of one of them: each costs a place
                alone = round(EACH * await found_alone(place, question, K))
            place.expect(
                found >= (EACH if alone is None else alone),
                f"{tenant.value!r} got {found} of its {EACH} chunks{_told(seen)}",
            )
        scene.facts["answered"] = answered
        place.control(answered > 0, "tenants get an answer", f"none of {MANY} got one")


def _alike(draw: Draw) -> World:
    name, id_ = draw.words("many")
    text, random = " ".join(draw.words("common")), draw.random("many")
    vectors = [unit_vector(random) for _ in range(EACH)]
    tenants = [TenantId(f"{name}{letters(number)}") for number in range(MANY)]
    return World(
        {
            tenant: [
                Chunk(f"{id_}{n}", tenant, f"{text} {letters(n)}", vector=vector[:])
                for n, vector in enumerate(vectors)
            ]
            for tenant in tenants
        }
    )


def short_of(small: Small, seen: Seen, found: float, k: int) -> str:
    """What a tenant got beside its crowd, and what that is: too few chunks, or not the best."""
    wanted = min(k, OWN)
    lost = ": recall lost, worse own chunks stand in for better ones"
    return (
        f"{small.tenant.value!r} got {len(seen.uids)} of {wanted} own chunks beside "
        f"{small.crowd} foreign ones, {found:.0%} of the exact answer"
        f"{lost if len(seen.uids) >= wanted and found < 1.0 else ''}{_told(seen)}"
    )


def _told(seen: Seen) -> str:
    return f": {seen.error}" if seen.error else ""


_AFTER = "filter inside the vector search, or scan on until k are found"
_DURING = (
    "the approximate index itself loses them: search more candidates (ef_search, oversampling)"
)
_BOTH = "exact search, or a partition for each tenant,"
_REMEDY = (
    f"Where the plan applies the tenant condition after the search: {_AFTER}. Where it does so "
    f"during the search, {_DURING}. {_BOTH.capitalize()} mends both."
)


def remedy_by(plan: Plan) -> str:
    """The one of the remedies that fits the plan, in one clause; "" where it shows no cause."""
    if plan.filtered == "after":
        return f"{_AFTER}; {_BOTH} mends it, too"
    if plan.filtered == "during" and plan.vector_index:
        return f"{_DURING}; {_BOTH} mends it, too"
    return ""


PROBES = (
    Probe(
        "P07",
        "condition applied after the search",
        "starvation",
        "high",
        f"A few nearer foreign chunks hide the tenant's own. {_REMEDY}",
        post_filter,
        writes=True,
    ),
    Probe(
        "P08",
        "condition applied to a longer list",
        "starvation",
        "high",
        f"Enough nearer foreign chunks hide the tenant's own. {_REMEDY}",
        growing_crowd,
        writes=True,
    ),
    Probe(
        "P09",
        "a tenant of 0.1 %",
        "starvation",
        "high",
        f"A small tenant's own chunks are not found in a large index. {_REMEDY}",
        insertion_orders,
        writes=True,
    ),
    Probe(
        "P34",
        "answer depends on who asked before",
        "starvation",
        "high",
        "The connection remembers something of other tenants' questions, such as a plan made "
        "for them: plan each question anew (plan_cache_mode = 'force_custom_plan').",
        order_dependence,
        writes=True,
    ),
    Probe(
        "P42",
        "many tenants with the same chunks",
        "starvation",
        "high",
        f"Among many tenants with equal chunks some do not find all of theirs. {_REMEDY}",
        many_tenants,
        arms=("guarded",),
        writes=True,
    ),
)
BY_PLAN = frozenset(probe.id for probe in PROBES if probe.help.endswith(_REMEDY))
"""Probes whose remedy depends on the plan."""
