"""The world of a place that is only read: the user's chunks, and questions that find some of them.

The corpus file is the record of who owns what; the questions are those of the golden set.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.leaks.scan import plain_words
from retrieverbench.leaks.world import World
from retrieverbench.model import Chunk, GoldenCase, TenantId, make_uid

MOST_TENANTS, MOST_TRIED, MOST_QUESTIONS = 6, 20, 8
"""Tenants that ask; questions of each that are tried, and that are kept."""
SHORTEST = 40
"""Letters and digits of a text by which a chunk is known wherever it stands."""
Vectors = Mapping[str, "array[float]"]
Ask = Callable[[TenantId, str, "array[float] | None"], Awaitable[Sequence[Sequence[str]]]]
"""Uids of the answers to one question, mode by mode; nothing of a question that failed."""


async def find_questions(
    chunks: Sequence[Chunk], cases: Sequence[GoldenCase], vectors: Vectors, ask: Ask
) -> World:
    """A world whose chunks are found by their owners in every mode, as far as `ask` shows.

    A tenant that finds nothing of its own keeps its first question: probes will say that their
    control failed. `vectors` are those of the questions, by case id.
    """
    by_uid = {chunk.uid: chunk for chunk in chunks}
    found: dict[TenantId, list[Chunk]] = {}
    for tenant in _askers(chunks, cases):
        found[tenant] = []
        own = [case for case in cases if case.tenant == tenant and not case.unanswerable]
        for case in own[:MOST_TRIED]:
            vector = vectors.get(case.id)
            answers = await ask(tenant, case.query, vector)
            shown = [by_uid[uid] for uid in _in_all(answers) if uid in by_uid]
            best = _best([chunk for chunk in shown if chunk.tenant == tenant], case)
            if best is not None:
                found[tenant].append(replace(best, title="", text=case.query, vector=vector))
            if len(found[tenant]) == MOST_QUESTIONS:
                break
        if not found[tenant]:
            found[tenant] = [_unfound(tenant, chunks, own, vectors)]
    canaries = {tenant: own[0] for tenant, own in found.items()}
    tokens = dict(_texts(canaries, by_uid))
    return World(found, tokens, canaries, exported=chunks)


def _askers(chunks: Sequence[Chunk], cases: Sequence[GoldenCase]) -> list[TenantId]:
    """Those with most questions first; owners without any where too few have some."""
    owners = dict.fromkeys(chunk.tenant for chunk in chunks)
    asked = [case.tenant for case in cases if not case.unanswerable]
    return sorted(owners, key=lambda tenant: -asked.count(tenant))[:MOST_TENANTS]


def _in_all(answers: Sequence[Sequence[str]]) -> list[str]:
    """What every mode shows, in the order of the first."""
    first, *others = answers or [()]
    return [uid for uid in first if all(uid in other for other in others)]


def _best(own: Sequence[Chunk], case: GoldenCase) -> Chunk | None:
    """The first that the golden set calls relevant, else the first."""
    relevant = {*(case.relevant or ()), *(case.grades or ())}
    return next((chunk for chunk in own if chunk.id in relevant), own[0] if own else None)


def _unfound(
    tenant: TenantId, chunks: Sequence[Chunk], cases: Sequence[GoldenCase], vectors: Vectors
) -> Chunk:
    """Of a tenant that found nothing: its first question, or the text of its first chunk."""
    own = next(chunk for chunk in chunks if chunk.tenant == tenant)
    some = own.vector or next(iter(vectors.values()), None)
    if not cases:
        return replace(own, title="", vector=some)
    case = cases[0]
    return replace(own, title="", text=case.query, vector=vectors.get(case.id, some))


def _texts(
    canaries: Mapping[TenantId, Chunk], by_uid: Mapping[str, Chunk]
) -> Iterator[tuple[TenantId, str]]:
    """The whole text of a canary, where no chunk of another tenant holds it."""
    plain = [(chunk.tenant, plain_words(chunk.searchable_text)) for chunk in by_uid.values()]
    for tenant, canary in canaries.items():
        text = plain_words(by_uid[make_uid(tenant, canary.id)].text)
        others = (other for owner, other in plain if owner != tenant)
        if len(text) >= SHORTEST and not any(text in other for other in others):
            yield tenant, text
