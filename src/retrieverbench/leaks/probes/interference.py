"""What a tenant's own answer owes to other tenants' chunks (P36, P37, P38).

For every question and tenant: obs(own and foreign chunks) = obs(own chunks alone), with
obs = chunks in order and their scores.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from random import Random

from retrieverbench.adapter import Deletes, Writable
from retrieverbench.leaks.oracle import close, cosines, recall
from retrieverbench.leaks.places import AS_IS, Variant
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import K, Scene, Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, TenantId

SEED = 11
OWN, FOREIGN = 30, 600
ASKER, OTHER = TenantId("quiet"), TenantId("loud")
RARE, COMMON = "saffron", "marble"
"""RARE is in few own chunks and in every foreign one; COMMON in most own ones and in no other."""
_FILLER = "paper table window garden bottle river mountain"
EXACT = Variant(search={"exact": True})


@dataclass(frozen=True, slots=True)
class Question:
    """One text, its vector, and how many are asked for."""

    text: str
    vector: array[float]
    k: int


def make_pair(*, together: bool) -> World:
    """The asker's chunks, and the other tenant's behind them if `together`."""
    random = Random(SEED)
    own = [
        Chunk(
            f"own{n}",
            ASKER,
            f"{RARE if n % 4 == 0 else COMMON} {_FILLER}",
            vector=unit_vector(random),
        )
        for n in range(OWN)
    ]
    foreign = [
        Chunk(f"far{n}", OTHER, f"{RARE} {_FILLER} " * 3, vector=unit_vector(random))
        for n in range(FOREIGN)
    ]
    return World(
        {ASKER: own, OTHER: foreign} if together else {ASKER: own},
        order=[*own, *foreign] if together else own,
    )


def questions() -> list[Question]:
    """Each for the best few and for all own matches."""
    random = Random(SEED + 1)
    vectors = [unit_vector(random) for _ in range(3)]
    texts = (f"{RARE} {COMMON}", RARE, COMMON)
    return [
        Question(text, vector, k)
        for text, vector in zip(texts, vectors, strict=True)
        for k in (K, OWN)
    ]


async def lexical_interference(scene: Scene) -> None:
    """The same questions without and with the other tenant's chunks."""
    await _compare_places(scene, AS_IS, "shared_idf")
    if not scene.failures and not scene.risks:
        scene.accept("shared_idf", "equal order and scores with and without others", found=False)


async def dense_interference(scene: Scene) -> None:
    """Exact search must not change at all; approximate search not by more than is declared."""
    if "exact" in scene.capabilities:
        await _compare_places(scene, EXACT, "")
    own = make_pair(together=False).chunks[ASKER]
    shares = []
    for together in (False, True):
        async with _pair(scene, together=together, variant=AS_IS) as place:
            share = 1.0
            for question in questions():
                seen = await _ask(place, question)
                exact = cosines(own, question.vector)
                share = min(share, recall(seen.uids, exact, question.k))
            place.control(share > 0, "the tenant is answered")
            shares.append(share)
    alone, beside = shares
    scene.facts["recall alone"], scene.facts["recall beside others"] = alone, beside
    floor = scene.declared["approximate"].value if "approximate" in scene.declared else 1.0
    scene.expect(
        alone - beside <= 0.0,
        f"recall fell from {alone:.2f} to {beside:.2f} beside {FOREIGN} foreign chunks",
        accept="approximate" if beside >= floor else "",
    )


async def residue(scene: Scene) -> None:
    """Foreign chunks come and go: the answer is the first one again."""
    world = make_pair(together=True)
    async with scene.staged(make_pair(together=False)) as place:
        before = [await _ask(place, question) for question in questions()]
        place.control(all(seen.uids for seen in before), "the tenant is answered")
        place.world = world
        adapter = place.adapter
        assert isinstance(adapter, Writable)
        assert isinstance(adapter, Deletes)
        foreign = world.chunks[OTHER]
        await place.call("put", partial(adapter.put, foreign))
        await place.call("settle", adapter.settle)
        there = await place.ask(OTHER.value, RARE, foreign[0].vector)
        place.control(bool(there.uids), "the other tenant's chunks were there")
        await place.call("delete", partial(adapter.delete, OTHER, [c.uid for c in foreign]))
        await place.call("settle", adapter.settle)
        after = [await _ask(place, question) for question in questions()]
    _judge(scene, before, after, "shared_idf", "after others' chunks were deleted")
    if not scene.failures and not scene.risks:
        scene.accept("shared_idf", "no trace of deleted chunks", found=False)


async def _compare_places(scene: Scene, variant: Variant, accept: str) -> None:
    answers: list[list[Seen]] = []
    for together in (False, True):
        async with _pair(scene, together=together, variant=variant) as place:
            answers.append([await _ask(place, question) for question in questions()])
            place.control(all(seen.uids for seen in answers[-1]), "the tenant is answered")
            if together:
                there = await place.ask(OTHER.value, RARE, questions()[0].vector)
                place.control(bool(there.uids), "the other tenant's chunks hold the words")
    alone, beside = answers
    _judge(scene, alone, beside, accept, f"beside {FOREIGN} foreign chunks")


def _pair(scene: Scene, *, together: bool, variant: Variant) -> AbstractAsyncContextManager[Scene]:
    how = "exact" if variant == EXACT else "as is"
    name = f"{ASKER} {'and ' + OTHER.value if together else 'alone'}, {how}"
    return scene.loaded(name, partial(make_pair, together=together), variant)


async def _ask(place: Scene, question: Question) -> Seen:
    return await place.ask(ASKER.value, question.text, question.vector, k=question.k)


def _judge(
    scene: Scene, before: Sequence[Seen], after: Sequence[Seen], accept: str, when: str
) -> None:
    """The set of all matches is worth more than the order, and that more than the scores."""
    asked = questions()
    pairs = list(zip(asked, before, after, strict=True))
    sets = sum(set(b.uids) != set(a.uids) for question, b, a in pairs if question.k == OWN)
    orders = sum(_is_reordered(b, a) for _question, b, a in pairs)
    change = max(change for _question, b, a in pairs for change in _changes(b, a))
    scene.facts["other sets"], scene.facts["other orders"] = sets, orders
    scene.facts["largest change of a score"] = change
    scene.expect(not sets, f"{when} {sets} answers hold other chunks", severity="high")
    scene.expect(
        not orders,
        f"{when} {orders} of {len(pairs)} answers are in another order; "
        f"scores change by up to {change:.1%}",
        severity="medium",
        accept=accept,
    )
    scene.expect(
        orders > 0 or close(change, 0.0),
        f"{when} scores change by up to {change:.1%}",
        severity="low",
        accept=accept,
    )


def _is_reordered(before: Seen, after: Seen) -> bool:
    """Whether two chunks have changed places, or one gave way to another; ties aside."""
    if before.uids == after.uids:
        return False
    old = dict(zip(before.uids, before.scores, strict=True))
    new = dict(zip(after.uids, after.scores, strict=True))
    if len(old) != len(new):
        return True
    if old.keys() != new.keys():
        tail = before.scores[-1] if before.scores else 0.0
        return any(not close(old[uid], tail) for uid in old.keys() - new.keys()) or not all(
            close(new[uid], after.scores[-1]) for uid in new.keys() - old.keys()
        )
    return any(
        old[one] > old[other] and not close(old[one], old[other])
        and new[one] < new[other] and not close(new[one], new[other])
        for one in old
        for other in old
    )  # fmt: skip


def _changes(before: Seen, after: Seen) -> Iterator[float]:
    """The change of each score that both answers show, relative to the larger."""
    new = dict(zip(after.uids, after.scores, strict=True))
    yield 0.0
    for uid, score in zip(before.uids, before.scores, strict=True):
        if uid in new and not close(score, new[uid]):
            yield abs(score - new[uid]) / max(abs(score), abs(new[uid]))


PROBES = (
    Probe(
        "P36",
        "scores of words depend on other tenants",
        "interference",
        "medium",
        "How rare a word is, and how long texts are, is counted over all tenants: give each "
        "tenant an index of its own, or filter the statistics, or declare shared_idf.",
        lexical_interference,
        modes=("lexical", "hybrid"),
        arms=("guarded",),
        writes=True,
    ),
    Probe(
        "P37",
        "vector search depends on other tenants",
        "interference",
        "medium",
        "Others' vectors change which own ones are found: search exactly, give each tenant a "
        "partition, or declare the share of the exact answer that is enough.",
        dense_interference,
        modes=("dense",),
        arms=("guarded",),
        writes=True,
    ),
    Probe(
        "P38",
        "deleted chunks leave a trace",
        "interference",
        "low",
        "Deleted foreign chunks still count in the statistics until the index is rewritten: "
        "merge or optimise after deletes, or declare shared_idf.",
        residue,
        modes=("lexical", "hybrid"),
        arms=("guarded",),
        needs=frozenset({"put", "delete"}),
        writes=True,
    ),
)
