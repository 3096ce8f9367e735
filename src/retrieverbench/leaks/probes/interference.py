"""What a tenant's own answer owes to other tenants' chunks (P36, P37, P38).

For every question and tenant: obs(own and foreign chunks) = obs(own chunks alone), with
obs = chunks in order and their scores.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

from retrieverbench.adapter import Deletes, Writable
from retrieverbench.errors import InputError
from retrieverbench.leaks.asking import K
from retrieverbench.leaks.declared import accepted_by
from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.oracle import close, cosines, recall
from retrieverbench.leaks.places import AS_IS, Variant
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.world import World, unit_vector
from retrieverbench.model import Chunk, TenantId

OWN, FOREIGN = 20, 600
EXACT = Variant(search={"exact": True})


@dataclass(frozen=True, slots=True)
class Question:
    """One text, its vector, and how many are asked for."""

    text: str
    vector: array[float]
    k: int


def make_pair(draw: Draw, *, together: bool) -> World:
    """The asker's chunks, and the other tenant's behind them if `together`.

    One word is in few own chunks and in every foreign one, another in most own ones and in no
    other. Each own chunk repeats its word another number of times: chunks of one score would
    have ranks by chance, and so in hybrid mode scores by chance.
    """
    random = draw.random("quiet and loud")
    asker, other = pair_of(draw)
    rare, common = draw.words("rare and common")
    filler, (near, far, *_) = " ".join(draw.words("filler")[:7]), draw.words("ids")
    own = [
        Chunk(
            f"{near}{n}",
            asker,
            f"{f'{rare if n % 4 == 0 else common} ' * (n + 1)}{filler}",
            vector=unit_vector(random),
        )
        for n in range(OWN)
    ]
    foreign = [
        Chunk(f"{far}{n}", other, f"{rare} {filler} " * 3, vector=unit_vector(random))
        for n in range(FOREIGN)
    ]
    return World(
        {asker: own, other: foreign} if together else {asker: own},
        order=[*own, *foreign] if together else own,
    )


def pair_of(draw: Draw) -> tuple[TenantId, TenantId]:
    """The tenant that asks, and the one beside it."""
    asker, other = draw.words("quiet and loud")
    return TenantId(asker), TenantId(other)


def questions(draw: Draw) -> list[Question]:
    """Each for the best few and for all own matches."""
    random = draw.random("questions")
    vectors = [unit_vector(random) for _ in range(3)]
    rare, common = draw.words("rare and common")
    texts = (f"{rare} {common}", rare, common)
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
        try:
            await _compare_places(scene, EXACT, "")
        except InputError:  # the probe's own search.exact beside the target's options
            told = "the target's options rule it out, as a forced index does"
            told = f"exact search was not compared: {told}"
            scene.limit = "; ".join(filter(None, (scene.limit, told)))
    own = make_pair(scene.draw, together=False).chunks[pair_of(scene.draw)[0]]
    shares = []
    for together in (False, True):
        async with _pair(scene, together=together, variant=AS_IS) as place:
            share = 1.0
            for question in questions(scene.draw):
                seen = await _ask(place, question)
                exact = cosines(own, question.vector)
                share = min(share, recall(seen.uids, exact, question.k))
            place.control(share > 0, "the tenant is answered", "a question found none of its own")
            shares.append(share)
    alone, beside = shares
    scene.facts["recall alone"], scene.facts["recall beside others"] = alone, beside
    floor = scene.declared["approximate"].value if "approximate" in scene.declared else 1.0
    told = f"recall fell from {alone:.2f} to {beside:.2f} beside {FOREIGN} foreign chunks"
    if alone > beside >= floor:
        scene.accept("approximate", told)
        return
    least = math.floor(beside * 100) / 100
    remedy = f"; {accepted_by('approximate', least)}" if least else ""
    scene.expect(alone <= beside, f"{told}{remedy}")


async def residue(scene: Scene) -> None:
    """Foreign chunks come and go: the answer is the first one again."""
    world = make_pair(scene.draw, together=True)
    _asker, other = world.tenants
    async with scene.staged(make_pair(scene.draw, together=False)) as place:
        before = [await _ask(place, question) for question in questions(scene.draw)]
        place.control(
            all(seen.uids for seen in before), "the tenant is answered", "a question found nothing"
        )
        if not await _is_steady(place, before):
            return
        place.world = world
        adapter = place.adapter
        assert isinstance(adapter, Writable)
        assert isinstance(adapter, Deletes)
        foreign = world.chunks[other]
        await place.call("put", partial(adapter.put, foreign))
        await place.call("settle", adapter.settle)
        there = await place.ask(other.value, foreign[0].text, foreign[0].vector)
        place.control(bool(there.uids), "the other tenant's chunks were there", there)
        await place.call("delete", partial(adapter.delete, other, [c.uid for c in foreign]))
        await place.call("settle", adapter.settle)
        after = [await _ask(place, question) for question in questions(scene.draw)]
    _judge(scene, before, after, "shared_idf", "after others' chunks were deleted")
    if not scene.failures and not scene.risks:
        scene.accept("shared_idf", "no trace of deleted chunks", found=False)


async def _compare_places(scene: Scene, variant: Variant, accept: str) -> None:
    answers: list[list[Seen]] = []
    for together in (False, True):
        async with _pair(scene, together=together, variant=variant) as place:
            answers.append([await _ask(place, question) for question in questions(scene.draw)])
            if not together and not await _is_steady(place, answers[0]):
                return
            place.control(
                all(seen.uids for seen in answers[-1]),
                "the tenant is answered",
                "a question found nothing",
            )
            if together:
                _asker, other = pair_of(scene.draw)
                rare = questions(scene.draw)[2]
                there = await place.ask(other.value, rare.text, rare.vector)
                place.control(bool(there.uids), "the other tenant's chunks hold the words", there)
    alone, beside = answers
    _judge(scene, alone, beside, accept, f"beside {FOREIGN} foreign chunks")


async def _is_steady(place: Scene, before: Sequence[Seen]) -> bool:
    """Whether nothing differs where nothing was changed, ties aside; else the control failed."""
    again = [await _ask(place, question) for question in questions(place.draw)]
    is_steady = not any(
        _is_reordered(b, a) or not close(max(_changes(b, a)), 0.0)
        for b, a in zip(before, again, strict=True)
    )
    if not is_steady:
        told = "the same questions get the same chunks and scores twice"
        place.control(False, told, "its answers differ by themselves")
    return is_steady


def _pair(scene: Scene, *, together: bool, variant: Variant) -> AbstractAsyncContextManager[Scene]:
    how = "exact" if variant == EXACT else "as is"
    name = f"{'two tenants' if together else 'one tenant'}, {how}"
    return scene.loaded(name, partial(make_pair, scene.draw, together=together), variant)


async def _ask(place: Scene, question: Question) -> Seen:
    asker = place.world.tenants[0]
    return await place.ask(asker.value, question.text, question.vector, k=question.k)


def _judge(
    scene: Scene, before: Sequence[Seen], after: Sequence[Seen], accept: str, when: str
) -> None:
    """The set of all matches is worth more than the order, and that more than the scores."""
    asked = questions(scene.draw)
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
