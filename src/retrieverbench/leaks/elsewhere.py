"""What an answer shows of others' chunks anywhere: beside its hits, in their texts, in an error.

A foreign token, uid, whole text, vector, or a word or name that is one tenant's alone. What the
question itself named is an echo and does not count. A text that is shown in part is not known
again, nor a vector that was rounded, packed or written out as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from retrieverbench.leaks.ledger import TELLING, Ledger
from retrieverbench.leaks.world import DIMENSION, World
from retrieverbench.model import Hit, Query, TenantId, What
from retrieverbench.run.scan import plain_words, strings_in, vectors_in

_BETWEEN = re.compile(r"""[\s"'`,;()\[\]{}<>=]+""")
_SHORTEST_ID = 4
"""Characters of an id within a longer text; "1/0" may be anything."""
MOST_TEXTS = 20_000
"""Of one answer, which has ten fields for each of a thousand hits and as much beside them."""
Shown = Iterator[tuple[str, TenantId, What, str]]
"""Uid and owner of a foreign chunk, one of the owner's where it cannot be told which; what of it
was shown, and the text to look for where that stands, "" for none."""


@dataclass(frozen=True, slots=True)
class Told:
    """All that one question brought.

    `answer` and `error` reached the caller; what the backend `sent` to an adapter may have been
    left out there, and only tokens in it count. `asked` are the texts of the question, its tenant
    and the labels of the hits among them; `vector` is the question's.
    """

    answer: Sequence[object] = ()
    error: str = ""
    sent: Sequence[object] = ()
    asked: Sequence[str] = ()
    vector: Sequence[float] = ()


def asked_in(query: Query, hits: Sequence[Hit]) -> list[str]:
    """The texts of a question; labels of hits are told apart from what answers show."""
    labels = [hit.tenant for hit in hits if isinstance(hit.tenant, str)]
    where = [*query.where, *map(str, query.where.values())]
    return [query.text, str(query.tenant.value), *where, *labels]


def shown_elsewhere(
    told: Told, world: World, ledger: Ledger, asker: TenantId, *, texts_stay: bool
) -> Shown:
    """Everything of others in it; where chunks change hands (not `texts_stay`) no texts."""
    answer, sent = (_strings(parts) for parts in (told.answer, told.sent))
    yield from _tokens([*answer, told.error, *sent], told.asked, world, asker)
    for text, uid, owner in _uids([*answer, told.error], told.asked, ledger, asker):
        # The chunks of a user's may hold paths that look like the uids of others.
        is_whole = text in {uid, told.error}
        if is_whole or not world.exported or not world.holds(asker, uid):
            yield uid, owner, "id", uid
    if texts_stay:
        within = world.texts_within(told.error) if told.error else []
        named = " ".join(told.asked)
        repeated = [text for text in within if text not in named]
        yield from _texts([*answer, *repeated], told.asked, world, asker)
        yield from _words([*answer, told.error], told.asked, world, asker)
        yield from _vectors(told.answer, told.vector, world, asker)


def _strings(parts: Sequence[object]) -> list[str]:
    return list(islice(strings_in(list(parts)), MOST_TEXTS))


def _tokens(texts: Sequence[str], asked: Sequence[str], world: World, asker: TenantId) -> Shown:
    """Whose canaries are shown: tokens are secret and whole, in whatever case and markup.

    Nothing secret was put among the user's own chunks: there the token is a chunk's whole text.
    """
    words, own_words = (plain_words(" ".join(each)) for each in (texts, asked))
    for owner, chunk in world.canaries.items():
        token = world.tokens.get(owner)
        if owner != asker and token and token in words and token not in own_words:
            yield chunk.uid, owner, "text" if world.exported else "secret", token


def _words(texts: Sequence[str], asked: Sequence[str], world: World, asker: TenantId) -> Shown:
    """Whose words or name are shown that nobody else has; the user's own are unknown."""
    if world.exported or not world.only:
        return
    words, named = (set(re.findall(r"\w+", " ".join(each).casefold())) for each in (texts, asked))
    for owner, word in (*world.only.items(), *world.names.items()):
        if owner != asker and word in words and word not in named:
            what: What = "name" if word == world.names.get(owner) else "word"
            yield world.chunks[owner][0].uid, owner, what, word


def _texts(texts: Iterable[str], asked: Sequence[str], world: World, asker: TenantId) -> Shown:
    """Whose chunks' whole texts are shown, in a chunk of one's own joined to it by a line.

    A text of a user's own may hold a line or bear a title that is all of another's chunk.
    """
    for text in dict.fromkeys(texts):
        for part in dict.fromkeys((text,) if world.exported else (text, *text.split("\n"))):
            found = world.with_text(part) if len(part) >= TELLING and part not in asked else {}
            if found and asker not in found.values() and not world.holds(asker, part):
                yield *next(iter(found.items())), "text", part


def _vectors(
    answer: Sequence[object], asked: Sequence[float], world: World, asker: TenantId
) -> Shown:
    """Whose vectors are shown, from which a text can be guessed; the user's own are unknown."""
    if world.exported:
        return
    echo = world.with_vector(asked)
    for vector in vectors_in(list(answer), DIMENSION):
        found = world.with_vector(vector)
        if found and found != echo and asker not in found.values():
            yield *next(iter(found.items())), "vector", ""


def _uids(
    texts: Iterable[str], asked: Sequence[str], ledger: Ledger, asker: TenantId
) -> Iterator[tuple[str, str, TenantId]]:
    """Texts in which uids are shown, as the text or a part of it, the uids and whose they are."""
    for text in dict.fromkeys(texts):
        if ledger.get(text) == asker:
            continue
        for uid in dict.fromkeys([text, *_parts(text)]):
            owner = ledger.get(uid) if "/" in uid else None
            if owner is not None and owner != asker and uid not in asked:
                yield text, uid, owner


def _parts(text: str) -> Iterator[str]:
    for part in _BETWEEN.split(text):
        uid = part.strip(".:!?")
        if len(uid.rpartition("/")[2]) >= _SHORTEST_ID:
            yield uid
