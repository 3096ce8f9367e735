"""Tenants whose names are hard to keep apart, or read as something else than a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from retrieverbench.errors import Rejected, plural
from retrieverbench.leaks import hostile
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.named import EACH, open_named, ordinary, shared_text
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.probes.requests import expect_nothing
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.spellings import spellings
from retrieverbench.leaks.unguarded import unchecked_tenant

FAMILIES = (
    hostile.SYNTAX, hostile.CONTROLS, hostile.PREFIXES, hostile.ANALYSED, hostile.FOLDED,
    hostile.UNICODE, hostile.TYPED,
)  # fmt: skip
MOST_CHARACTERS = 62
"""Of a name that every backend should take; a longer one it may refuse, at the load as well."""
FEW = 6
"""So many names of a family are loaded where each of them costs a table or collection."""
MORE_THAN_OWN = 10 * EACH
_EITHER = (
    "own ones are missing, as names were mixed up, or as the search lost them, which a tenant "
    "condition that acts after the search does (see P07 to P10)"
)


async def hostile_names(scene: Scene) -> None:
    """Names that nobody bears, asked in the words of chunks that others own."""
    owner = scene.world.tenants[0]
    chunk = scene.world.chunks[owner][0]
    names = (*_hostile(scene), *_respelt(scene))
    asked = [Asked(name, chunk.text, chunk.vector) for name in names]
    for name, seen in zip(names, await scene.ask_all(asked), strict=True):
        got = plural(len(seen.uids), "chunk")
        scene.expect(not seen.uids, f"the tenant {name!r:.60}, which owns nothing, got {got}")
        scene.expect(
            seen.error is None or _is_too_long(name, seen),
            f"the tenant {name!r:.60} got an error: {seen.error!s:.200}",
        )
    own = await scene.ask(owner.value, chunk.text, chunk.vector)
    scene.control(
        chunk.uid in own.uids, f"{owner.value!r} still finds its chunk by the question", own
    )


def _hostile(scene: Scene) -> list[str]:
    """Made of two tenants that the place holds, so that what is read as syntax finds chunks."""
    one, other = (tenant.value for tenant in scene.world.tenants[:2])
    family = (*hostile.SYNTAX, *hostile.CONTROLS, *hostile.LONG[-2:])
    names = hostile.spelled(family, scene.draw, (one, other))
    return [name for name in names if name not in scene.world.owners]


def _respelt(scene: Scene) -> list[str]:
    """Other spellings of the user's own tenants, where none may be loaded under such names."""
    if not scene.world.exported:
        return []
    one, other = (tenant.value for tenant in scene.world.tenants[:2])
    return [name for name in spellings(one, other) if name not in scene.world.owners]


def exactly(family: Sequence[str], *more: str) -> Callable[[Scene], Awaitable[None]]:
    """Each tenant of these names finds its own chunks, all of them and no other."""

    async def ask(scene: Scene) -> None:
        async with _names(scene, long=family is hostile.LONG) as there:
            vector = there.world.chunks[there.world.tenants[0]][0].vector
            names = [*_few(scene, family), *_few(scene, more)]
            asked = dict.fromkeys([*ordinary(scene.draw), *names])
            text = shared_text(scene.draw)
            found = 0
            questions = [Asked(name, text, vector, k=MORE_THAN_OWN) for name in asked]
            for name, seen in zip(asked, await there.ask_all(questions), strict=True):
                own = {c.uid for c in there.world.chunks.get(unchecked_tenant(name), ())}
                _expect_own(there, name, seen, own)
                found += set(seen.uids) == own != set()
            there.control(found > 0, "tenants find exactly their own chunks", "none of them does")
            there.facts["names"] = len(asked)

    return ask


def _names(scene: Scene, *, long: bool = False) -> AbstractAsyncContextManager[Scene]:
    """The place of all names; of the long ones another, for a load may break on them."""
    families = (hostile.LONG,) if long else FAMILIES
    names = [name for family in families for name in _few(scene, family)]
    called = "long names" if long else "names"
    return scene.shared(called, partial(open_named, scene, names))


def _few(scene: Scene, family: Sequence[str]) -> Sequence[str]:
    few = family[:FEW] if scene.layout == "index" else family
    return hostile.spelled(few, scene.draw)


def _is_too_long(name: str, seen: Seen) -> bool:
    """Whether a backend turned away a name in which nothing but its length can be wrong."""
    is_plain = name.isascii() and name.isalpha()
    return len(name) > MOST_CHARACTERS and is_plain and isinstance(seen.error, Rejected)


def _expect_own(scene: Scene, name: str, seen: Seen, own: set[str]) -> None:
    """Its own chunks; where the name was refused at the load, a refusal or nothing."""
    who = f"the tenant {name!r:.60}"
    if not own and _is_too_long(name, seen):
        return
    scene.expect(seen.error is None, f"{who} got an error: {seen.error!s:.200}")
    if seen.refused and (scene.arm == "guarded" or not own):
        scene.expect(not seen.requests, f"{who} was refused after a request")
        return
    got = set(seen.uids)
    # A chunk that is not its own is a finding already: what fails here are own ones.
    scene.expect(
        got == own,
        f"{who} got {len(own & got)} of its {plural(len(own), 'chunk')}: {_EITHER}",
        missing=True,
    )


async def not_text(scene: Scene) -> None:
    """Values that are no text are refused; the texts that look like them are exact names."""
    await exactly(hostile.TYPED)(scene)
    async with _names(scene) as there:
        vector = there.world.chunks[there.world.tenants[0]][0].vector
        text = shared_text(scene.draw)
        values = hostile.not_text(scene.draw)
        asked = [Asked(value, text, vector) for value in values]
        for value, seen in zip(values, await there.ask_all(asked), strict=True):
            expect_nothing(there, seen, f"the tenant {value!r} ({type(value).__name__})")


async def counted_apart(scene: Scene) -> None:
    """By the backend's own count of its tenant field every name is a tenant of its own."""
    async with _names(scene) as there:
        told = (await there.call("describe", there.adapter.describe)).chunks
        there.control(bool(told), "the backend counts chunks by tenant", "it told no count")
        expected = {t.value: len(chunks) for t, chunks in there.world.chunks.items()}
        for name in expected if told else ():
            there.expect(
                told.get(name) == expected[name],
                f"the backend counts {plural(told.get(name, 0), 'chunk')} of {name!r}, "
                f"of which {expected[name]} were loaded",
            )


_EXACT = "match the tenant as one unchanged text: a keyword field without normalizer, text = text"

PROBES = (
    Probe(
        "P12",
        "hostile names",
        "leak",
        "critical",
        "A name was read as syntax: bind it as a parameter or escape it; write it in one place.",
        hostile_names,
        asks_only=True,
    ),
    Probe(
        "P13",
        "hostile names as tenants",
        "leak",
        "high",
        "A tenant of such a name does not find exactly its own chunks: store and ask for the "
        "name unchanged, or refuse it at both.",
        exactly(hostile.SYNTAX, *hostile.CONTROLS),
    ),
    Probe(
        "P16",
        "prefixes and wildcards",
        "leak",
        "critical",
        f"Names that begin alike or differ in one sign are mixed up; {_EXACT}.",
        exactly(hostile.PREFIXES),
    ),
    Probe(
        "P17",
        "names that analyzers cut",
        "leak",
        "critical",
        f"The tenant field is analysed, so that a word of a name is enough; {_EXACT}.",
        exactly(hostile.ANALYSED),
    ),
    Probe(
        "P18",
        "case and blanks",
        "leak",
        "critical",
        f"Names that differ in case or blanks are one; {_EXACT}.",
        exactly(hostile.FOLDED),
    ),
    Probe(
        "P19",
        "Unicode look-alikes",
        "leak",
        "critical",
        f"Names are normalised, so that two tenants become one; {_EXACT}.",
        exactly(hostile.UNICODE),
    ),
    Probe(
        "P20",
        "types",
        "leak",
        "critical",
        "A number, list or other value passes for a tenant, or texts are read as numbers: "
        "take texts only, compare them as texts.",
        not_text,
    ),
    Probe(
        "P41",
        "long names",
        "leak",
        "critical",
        "Names that are equal in their first characters become one: hash what a limit would cut.",
        exactly(hostile.LONG),
    ),
    Probe(
        "P44",
        "the tenant field counts every name apart",
        "fail-open",
        "high",
        f"The tenant field does not keep names apart; {_EXACT}.",
        counted_apart,
        modes=(),
        arms=BELOW,
        limit="the definition of the tenant field itself: names are loaded, counted and asked for "
        'instead; what a backend says of the field, if anything, stands under "Backends"',
    ),
)
