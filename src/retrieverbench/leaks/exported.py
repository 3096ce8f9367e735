"""The world of a place that is only read: the user's chunks, and questions that find some of them.

The corpus file is the record of who owns what; the questions are those of the golden set.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from retrieverbench.leaks.world import Question, World
from retrieverbench.model import Chunk, GoldenCase, TenantId, make_uid
from retrieverbench.run.scan import plain_words
from retrieverbench.storage import ChunkStore, stored

MOST_TENANTS, MOST_TRIED, MOST_QUESTIONS = 6, 20, 8
"""Tenants whose chunks are looked for; questions of each that are tried, and that are kept.

Probes ask by these, at times twice and in every spelling; P01 alone asks every question.
"""
SHORTEST = 40
"""Letters and digits of a text by which a chunk is known wherever it stands."""
Vectors = Mapping[str, "array[float]"]
Ask = Callable[[TenantId, str, "array[float] | None"], Awaitable[Sequence[Sequence[str]]]]
"""Uids of the answers to one question, mode by mode; nothing of a question that failed."""


async def find_questions(
    chunks: Sequence[Chunk],
    cases: Sequence[GoldenCase],
    vectors: Vectors,
    ask: Ask,
    *,
    depth: int,
) -> World:
    """A world whose chunks are found by their owners in every mode, as far as `ask` shows.

    A tenant that finds nothing of its own keeps its first question: probes will say that their
    control failed. `vectors` are those of the questions, by case id. `depth` is the number of hits
    that `run` asks for.
    """
    store = stored(chunks)
    found: dict[TenantId, list[Chunk]] = {}
    for tenant in _askers(store, cases):
        found[tenant] = []
        own = [case for case in cases if case.tenant == tenant and not case.unanswerable]
        for case in own[:MOST_TRIED]:
            vector = vectors.get(case.id)
            answers = await ask(tenant, case.query, vector)
            best = _best(_own(store, tenant, _in_all(answers)), case)
            if best is not None:
                found[tenant].append(replace(best, title="", text=case.query, vector=vector))
            if len(found[tenant]) == MOST_QUESTIONS:
                break
        if not found[tenant]:
            found[tenant] = [_unfound(store, tenant, own, vectors)]
    canaries = {tenant: own[0] for tenant, own in found.items()}
    return World(
        found,
        _texts(store, canaries),
        canaries,
        exported=store,
        only={tenant: own[0].text for tenant, own in found.items()},
        twins=await _shared(store, found, ask),
        questions=[
            Question(c.query, c.tenant, depth, vectors.get(c.id), not c.unanswerable) for c in cases
        ],
        capped=_capped(store, found, cases),
    )


def _capped(
    store: ChunkStore, found: Mapping[TenantId, Sequence[Chunk]], cases: Sequence[GoldenCase]
) -> str:
    """What probes that ask by `found` leave out, with its numbers."""
    tenants, asked = len(store.per_tenant), sum(map(len, found.values()))
    if len(found) == tenants and asked >= len(cases):
        return ""
    return (
        f"other tenants and questions than some of the golden set: at most {len(found)} of "
        f"{tenants} tenants and {asked} of {len(cases)} questions; P01 asks all of them"
    )


async def _shared(
    store: ChunkStore, found: Mapping[TenantId, Sequence[Chunk]], ask: Ask
) -> dict[TenantId, list[Chunk]]:
    """A question of the first tenant that the second finds chunks by, too; empty for none."""
    first, *others = found
    for other in others[:1]:
        for question in found[first]:
            answers = await ask(other, question.text, question.vector)
            if _own(store, other, _in_all(answers)):
                return {first: [question], other: [question]}
    return {}


def _askers(store: ChunkStore, cases: Sequence[GoldenCase]) -> list[TenantId]:
    """Those with most questions first; owners without any where too few have some."""
    asked = [case.tenant for case in cases if not case.unanswerable]
    return sorted(store.per_tenant, key=lambda tenant: -asked.count(tenant))[:MOST_TENANTS]


def _in_all(answers: Sequence[Sequence[str]]) -> list[str]:
    """What every mode shows, in the order of the first."""
    first, *others = answers or [()]
    return [uid for uid in first if all(uid in other for other in others)]


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


def _texts(store: ChunkStore, canaries: Mapping[TenantId, Chunk]) -> dict[TenantId, str]:
    """The whole text of a canary, where no chunk of another tenant holds it."""
    originals = {t: store.own(t, canary.id) for t, canary in canaries.items()}
    texts = {tenant: plain_words(chunk.text) for tenant, chunk in originals.items() if chunk}
    texts = {tenant: text for tenant, text in texts.items() if len(text) >= SHORTEST}
    for chunk in store:
        plain = plain_words(chunk.searchable_text)
        texts = {t: text for t, text in texts.items() if t == chunk.tenant or text not in plain}
    return texts
