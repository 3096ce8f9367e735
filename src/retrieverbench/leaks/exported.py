"""The world of a place that is only read: the user's chunks, and questions that find some of them.

The corpus file is the record of who owns what; the questions are those of the golden set.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from retrieverbench.leaks.world import Question, World
from retrieverbench.model import Chunk, GoldenCase, Mode, TenantId, make_uid
from retrieverbench.run.scan import plain_words
from retrieverbench.storage import ChunkStore, stored

MOST_TENANTS, MOST_TRIED, MOST_QUESTIONS = 6, 20, 8
"""Tenants whose chunks are looked for; questions of each that are tried, and that are kept.

Probes ask by these, at times twice and in every spelling; P01 alone asks every question.
"""
SHORTEST = 40
"""Letters and digits of a text by which a chunk is known wherever it stands."""
Vectors = Mapping[str, "array[float]"]
Ask = Callable[[Mode, TenantId, str, "array[float] | None"], Awaitable[Sequence[str]]]
"""Uids of the answer to one question in one mode; none of a question that failed."""
AskInMode = Callable[[TenantId, str, "array[float] | None"], Awaitable[Sequence[str]]]


async def find_questions(
    chunks: Sequence[Chunk],
    cases: Sequence[GoldenCase],
    vectors: Vectors,
    ask: Ask,
    *,
    modes: Sequence[Mode],
    depth: int,
) -> dict[Mode, World]:
    """For each mode a world whose chunks are found by their owners in it, as far as `ask` shows.

    A mode that ranks badly takes no question from another. A tenant that finds nothing of its own
    keeps its first question: probes will say that their control failed. `vectors` are those of the
    questions, by case id. `depth` is the number of hits that `run` asks for.
    """
    store = stored(chunks)
    found = {mode: await _found(store, cases, vectors, partial(ask, mode)) for mode in modes}
    shared = {mode: await _shared(store, found[mode], partial(ask, mode)) for mode in modes}
    texts = _texts(store, (own[0] for of_mode in found.values() for own in of_mode.values()))
    questions = [
        Question(c.query, c.tenant, depth, vectors.get(c.id), not c.unanswerable) for c in cases
    ]
    capped = _capped(store, found.values(), cases)
    return {
        mode: World(
            of_mode,
            {t: texts[own[0].uid] for t, own in of_mode.items() if own[0].uid in texts},
            {tenant: own[0] for tenant, own in of_mode.items()},
            exported=store,
            only={tenant: own[0].text for tenant, own in of_mode.items()},
            twins=shared[mode],
            questions=questions,
            capped=capped,
        )
        for mode, of_mode in found.items()
    }


async def _found(
    store: ChunkStore, cases: Sequence[GoldenCase], vectors: Vectors, ask: AskInMode
) -> dict[TenantId, list[Chunk]]:
    """The chunks that some tenants find, each with the question that finds it for its text."""
    found: dict[TenantId, list[Chunk]] = {}
    for tenant in _askers(store, cases):
        found[tenant] = []
        own = [case for case in cases if case.tenant == tenant and not case.unanswerable]
        for case in own[:MOST_TRIED]:
            vector = vectors.get(case.id)
            best = _best(_own(store, tenant, await ask(tenant, case.query, vector)), case)
            if best is not None:
                found[tenant].append(replace(best, title="", text=case.query, vector=vector))
            if len(found[tenant]) == MOST_QUESTIONS:
                break
        if not found[tenant]:
            found[tenant] = [_unfound(store, tenant, own, vectors)]
    return found


def _capped(
    store: ChunkStore,
    found: Collection[Mapping[TenantId, Sequence[Chunk]]],
    cases: Sequence[GoldenCase],
) -> str:
    """What probes that ask by `found`, of each mode, leave out, with its numbers."""
    tenants = len(store.per_tenant)
    askers = max(map(len, found))
    asked = max(sum(map(len, of_mode.values())) for of_mode in found)
    if askers == tenants and asked >= len(cases):
        return ""
    left = [
        *([f"{tenants - askers} of {tenants} tenants"] if askers < tenants else []),
        *([f"{len(cases) - asked} of {len(cases)} questions"] if asked < len(cases) else []),
    ]
    return (
        f"{' and '.join(left)} of the golden set were left out by these probes; as its own tenant "
        "P01 asks every question"
    )


async def _shared(
    store: ChunkStore, found: Mapping[TenantId, Sequence[Chunk]], ask: AskInMode
) -> dict[TenantId, list[Chunk]]:
    """A question of the first tenant that the second finds chunks by, too; empty for none."""
    first, *others = found
    for other in others[:1]:
        for question in found[first]:
            if _own(store, other, await ask(other, question.text, question.vector)):
                return {first: [question], other: [question]}
    return {}


def _askers(store: ChunkStore, cases: Sequence[GoldenCase]) -> list[TenantId]:
    """Those with most questions first; owners without any where too few have some."""
    asked = [case.tenant for case in cases if not case.unanswerable]
    return sorted(store.per_tenant, key=lambda tenant: -asked.count(tenant))[:MOST_TENANTS]


def _own(store: ChunkStore, tenant: TenantId, uids: Sequence[str]) -> list[Chunk]:
    ids = (uid.removeprefix(make_uid(tenant, "")) for uid in uids if store.owner(uid) == tenant)
    return [chunk for id_ in ids if (chunk := store.own(tenant, id_)) is not None]


def _best(own: Sequence[Chunk], case: GoldenCase) -> Chunk | None:
    """The first that the golden set calls relevant, else the first."""
    relevant = {*(case.relevant or ()), *(case.grades or ())}
    return next((chunk for chunk in own if chunk.id in relevant), own[0] if own else None)


def _unfound(
    store: ChunkStore, tenant: TenantId, cases: Sequence[GoldenCase], vectors: Vectors
) -> Chunk:
    """Of a tenant that found nothing: its first question, or the text of its first chunk."""
    own = next(chunk for chunk in store if chunk.tenant == tenant)
    some = own.vector or next(iter(vectors.values()), None)
    if not cases:
        return replace(own, title="", vector=some)
    case = cases[0]
    return replace(own, title="", text=case.query, vector=vectors.get(case.id, some))


def _texts(store: ChunkStore, known_by: Iterable[Chunk]) -> dict[str, str]:
    """By uid the whole text of these, where no chunk of another tenant holds it."""
    originals = [own for each in known_by if (own := store.own(each.tenant, each.id))]
    plain = {chunk.uid: (chunk.tenant, plain_words(chunk.text)) for chunk in originals}
    texts = {uid: pair for uid, pair in plain.items() if len(pair[1]) >= SHORTEST}
    for chunk in store:
        words = plain_words(chunk.searchable_text)
        for uid, (owner, text) in list(texts.items()):
            if owner != chunk.tenant and text in words:
                del texts[uid]
    return {uid: text for uid, (_owner, text) in texts.items()}
