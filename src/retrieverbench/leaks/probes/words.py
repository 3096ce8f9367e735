"""Words of a question: few matches, and texts in the syntax of query languages (P11, P14)."""

from __future__ import annotations

from retrieverbench.errors import BackendError, Rejected, plural
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.hostile import QUESTIONS, spelled
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.model import Severity, TenantId

ALL = 20
"""More than a tenant owns."""
OWN: Severity = "medium"
"""Of own chunks that do not match, as a search by parts of words shows them."""


async def few_matches(scene: Scene) -> None:
    """More results are asked for than match: the rest must stay empty."""
    common = scene.draw.words("common")
    asked: list[Asked] = []
    matching: list[set[str]] = []
    for tenant in scene.world.tenants:
        own = scene.world.chunks[tenant]
        holders = {word: {c.uid for c in own if word in c.text.split()} for word in common}
        word = min((w for w in common if holders[w]), key=lambda w: len(holders[w]))
        asked.append(Asked(tenant.value, word, own[0].vector, k=ALL))
        matching.append(holders[word])
    answers = zip(scene.world.tenants, matching, await scene.ask_all(asked), strict=True)
    for tenant, wanted, seen in answers:
        own = scene.world.chunks[tenant]
        scene.control(wanted <= set(seen.uids), f"{tenant.value!r} finds what matches", seen)
        if scene.mode == "lexical":
            extra = len(set(seen.uids) - wanted)
            told = f"{tenant.value!r} got {plural(extra, 'own chunk')} without the word"
            scene.expect(not extra, told, severity=OWN)
        scene.expect(
            len(seen.uids) <= len(own),
            f"{tenant.value!r} got {len(seen.uids)} of {plural(len(own), 'chunk')}",
        )


async def hostile_questions(scene: Scene) -> None:
    """Questions in the syntax of query languages are words, and no chunk holds them."""
    asker = scene.world.tenants[0]
    vector = scene.world.chunks[asker][0].vector
    if scene.world.exported:
        await _of_a_users_place(scene, asker)
        return
    texts = spelled(QUESTIONS, scene.draw, scene.draw.new_names)
    own = scene.world.only[asker]
    alone = await scene.ask_all([Asked(asker.value, text, vector) for text in texts])
    with_own = await scene.ask_all([Asked(asker.value, f"{text} {own}", vector) for text in texts])
    if all(isinstance(each.error, Rejected) for each in (*alone, *with_own)):
        # No query language has an error for each of these signs: it turns all of them away.
        plain = " ".join(scene.world.chunks[asker][0].text.split()[:2])
        known = await scene.ask(asker.value, plain, vector)
        scene.control(bool(known.uids), f"{asker.value!r} finds chunks by two plain words", known)
        return
    for text, seen, beside in zip(texts, alone, with_own, strict=True):
        if scene.mode == "lexical":
            scene.expect(
                not seen.uids,
                f"the question {text!r} found {plural(len(seen.uids), 'own chunk')} without a word",
                severity=OWN,
            )
        scene.control(
            bool(beside.uids), f"the tenant's own word beside {text!r} finds chunks", beside
        )
        # Without words a question may be turned away, as long as its signs beside one are not.
        is_turned_away = isinstance(seen.error, Rejected) and beside.error is None
        scene.expect(
            seen.error is None or is_turned_away,
            f"the question {text!r} got an error: {seen.error!s:.200}",
        )


async def _of_a_users_place(scene: Scene, asker: TenantId) -> None:
    """There such a word may be in a chunk, and a service may turn a question without words away.

    An error that a harmless word gets as well is none of the question's syntax.
    """
    own, vector = scene.world.only[asker], scene.world.chunks[asker][0].vector
    known = await scene.ask(asker.value, own, vector)
    scene.control(bool(known.uids), f"{asker.value!r} finds chunks by its own question", known)
    harmless = scene.draw.words("absent")[0]
    usual = set()
    for asked in (harmless, f"{harmless} {own}"):
        seen = await scene.ask(asker.value, asked, vector)
        is_answered = seen.error is None or isinstance(seen.error, Rejected)
        scene.control(is_answered, f"the harmless question {asked!r:.80} is answered", seen)
        usual.add(_kind(seen.error))
    for text in spelled(QUESTIONS, scene.draw, scene.draw.new_names):
        for asked in (text, f"{text} {own}"):
            error = (await scene.ask(asker.value, asked, vector)).error
            scene.expect(
                _kind(error) in usual or isinstance(error, Rejected),
                f"the question {text!r} got an error: {error!s:.200}",
            )


def _kind(error: BackendError | None) -> str:
    return "" if error is None else f"{type(error).__name__} {error.code.word}"


PROBES = (
    Probe(
        "P11",
        "results that do not match",
        "leak",
        "critical",
        "A lexical list is filled up with chunks that do not match: cut it at the last match.",
        few_matches,
        modes=("lexical", "hybrid"),
        arms=BELOW,
    ),
    Probe(
        "P14",
        "hostile questions",
        "leak",
        "critical",
        "A question's text reached a query language: send it as words, by `match` or as lexemes.",
        hostile_questions,
        asks_only=True,
        modes=("lexical", "hybrid"),
        arms=BELOW,
    ),
)
