"""Questions and numbers of hits that few tests ask, in the words of foreign chunks (P48)."""

from __future__ import annotations

from collections.abc import Mapping

from retrieverbench.leaks.asking import Asked, K
from retrieverbench.leaks.probe import BELOW, UNSEEN, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.model import Chunk, TenantId, Value

DEPTHS = (1, 2, 3, 11, 21, 51, 101, 1_000)
"""Numbers of hits on both sides of the pages and limits that backends have."""
MANY = 300
"""So often a long question repeats its words."""


async def unusual_questions(scene: Scene) -> None:
    """Two tenants ask in each other's words; who turns a question away has shown nothing."""
    two = scene.world.tenants[:2]
    for asker, other in zip(two, two[::-1], strict=True):
        own, foreign = scene.world.chunks[asker][0], scene.world.chunks[other][0]
        words = f"{scene.world.only[asker]} {scene.world.only[other]}"
        seen = await scene.ask(asker.value, words, own.vector)
        scene.control(bool(seen.uids), f"{asker.value!r} finds chunks by the plain question", seen)
        texts = (*_texts(words), *_naming(scene, asker, other, foreign))
        asked = [Asked(asker.value, text, foreign.vector) for text in texts]
        asked += [Asked(asker.value, words, foreign.vector, k=k) for k in DEPTHS]
        answers = await scene.ask_all(asked)
        turned_away = sum(seen.refused or seen.error is not None for seen in answers)
        bare = Asked(asker.value, words, foreign.vector, k=K + 1, want=frozenset())
        await scene.ask_all([bare, *_with_conditions(scene, asker, other, foreign)])
        scene.facts["turned away"] = max(turned_away, int(scene.facts.get("turned away", 0)))


def _texts(words: str) -> list[str]:
    """Nothing, much, capitals, other letters, numbers, lines, signs."""
    return [
        "", " ", "\n", " ".join([words] * MANY), f"{'x' * MANY} {words}", words.upper(),
        words.title(), f"{words} é ß 東京", f"{words} 2024 3.14", f"{words}\n\n{words}",
        f"{words}?!", f"{words} \N{GRINNING FACE}", f"<b>{words}</b>",
    ]  # fmt: skip


def _naming(scene: Scene, asker: TenantId, other: TenantId, foreign: Chunk) -> list[str]:
    """What names another tenant or its chunk, quotes, excludes, begins or misspells its word."""
    own, word = scene.world.only[asker], scene.world.only[other]
    return [
        f"{own} for {other.value}", f"{own} of {other.value}", f"{other.value}: {word}",
        f"@{other.value} {word}", other.value, foreign.id, foreign.uid, f"id:{foreign.id}",
        f'"{word}"', f'"{own} {word}"', f"{own} -{word}", f"{own} NOT {word}", f"+{word}",
        word[:2], word[:3], word[:5], f"{word[:4]}*", word[:-1],
        f"{word[:1]}{word[2:3]}{word[1:2]}{word[3:]}",
    ]  # fmt: skip


def _with_conditions(scene: Scene, asker: TenantId, other: TenantId, foreign: Chunk) -> list[Asked]:
    """Many conditions at once, and values of every type."""
    if "where" not in scene.capabilities or scene.world.exported:
        return []
    shelf, level, mark = scene.draw.words("keys")
    theirs = dict(foreign.metadata)
    conditions: list[Mapping[str, Value]] = [
        theirs,
        {mark: scene.world.only[other], shelf: theirs[shelf], level: theirs[level]},
        {level: 0.5},
        {level: float(theirs[level])},
        {mark: True},
        {level: -1},
        {mark: ""},
    ]
    word = scene.world.only[other]
    return [Asked(asker.value, word, foreign.vector, where=where) for where in conditions]


PROBES = (
    Probe(
        "P48",
        "unusual questions",
        "leak",
        "critical",
        "An empty, long or otherwise unusual question, or a large number of hits, takes a way "
        "that lacks the tenant condition: put it where every way passes.",
        unusual_questions,
        asks_only=True,
        arms=BELOW,
        limit=f"what shows itself only above k = {DEPTHS[-1]}, or in questions longer than "
        f"{MANY} times a text; {UNSEEN}",
    ),
)
