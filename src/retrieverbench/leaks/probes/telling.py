"""What is told beside the hits: totals, chunks by id, errors (P27, P39, P40)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from retrieverbench.adapter import ReadsById
from retrieverbench.errors import AdapterError, BackendError, TenantError, plural
from retrieverbench.leaks.asking import WANTED
from retrieverbench.leaks.elsewhere import Told
from retrieverbench.leaks.hostile import KEYS, spelled
from retrieverbench.leaks.probe import BELOW, UNSEEN, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Hit, Response, TenantId, make_uid
from retrieverbench.run import Abandoned, BadAnswer, read_response

TOTAL = frozenset({"total"})
MANY = 50
MALFORMED = 4
"""Keys in the syntax of a query language; probe P15 asks for all of them."""
_INSIDES = re.compile(
    r"\b(?:select\s.+\sfrom|insert\s+into|update\s+\w+\s+set)\b|traceback \(most recent",
    re.IGNORECASE | re.DOTALL,
)
"""Text of a statement, or a trace. Adapters name the address that they were given."""


async def totals(scene: Scene) -> None:
    """A total counts the asker's own chunks only, one that nobody asked for, too."""
    scene.shelf = scene.shelf and scene.shelf.anew()
    tenants = scene.world.tenants
    pairs = list(zip(tenants, tenants[1:] + tenants[:1], strict=True))
    is_told = [await _ordinary(scene, *pair) for pair in pairs]
    if "total" in scene.capabilities:
        await _asked_for(scene, pairs)
    elif not any(is_told):
        scene.left_out = "the adapter does not declare total, and its ordinary answers bear none"


async def _asked_for(scene: Scene, pairs: Sequence[tuple[TenantId, TenantId]]) -> None:
    """What it says of totals: how many of the asker's chunks match."""
    for tenant, other in pairs:
        await _beside_absent(scene, tenant, other, TOTAL)
        own = scene.world.owned(tenant)
        vector = scene.world.chunks[tenant][0].vector
        for asked in (tenant, other):
            seen = await scene.ask(tenant.value, scene.world.only[asked], vector, want=TOTAL)
            who = f"{tenant.value!r}, which owns {plural(own, 'chunk')},"
            scene.expect(seen.error is None, f"{who} got an error: {seen.error!s:.200}")
            if seen.error is not None:
                continue
            scene.expect(seen.total is not None, f"{who} asked for a total and got none")
            total = seen.total or 0
            if asked == tenant:
                words = scene.world.own_words
                scene.control(bool(seen.uids), f"{who} finds chunks by {words}", seen)
                scene.expect(
                    total > 0 or not seen.uids,
                    f"{who} was told a total of 0 for chunks that it found",
                )


async def _ordinary(scene: Scene, tenant: TenantId, other: TenantId) -> bool:
    """Whether answers to ordinary questions bear a total, of which nobody said what it counts."""
    world, vector = scene.world, scene.world.chunks[tenant][0].vector
    own = await scene.ask(tenant.value, world.only[tenant], vector)
    scene.control(bool(own.uids), f"{tenant.value!r} finds chunks by {world.own_words}", own)
    seen = [own, *await _beside_absent(scene, tenant, other, WANTED)]
    return any(each.total is not None for each in seen)


async def _beside_absent(
    scene: Scene, tenant: TenantId, other: TenantId, want: frozenset[str]
) -> list[Seen]:
    """What others' chunks meet, each beside what no chunk meets; none of a user's own place.

    Hits, matches or all that the tenant owns: none of these totals grows by what others' chunks
    alone meet. All of its own that do are asked for, so that they are among the hits.
    """
    world = scene.world
    if world.exported:
        return []
    vector = world.chunks[tenant][0].vector
    ask = partial(scene.ask, tenant.value, vector=vector, k=world.owned(tenant), want=want)
    absent = scene.draw.words("absent")[0]
    seen = [await ask(world.only[other]), await ask(absent)]
    _expect_no_more(scene, tenant, seen, 0, "a word that only others use")
    if "where" in scene.capabilities:
        key = scene.draw.words("keys")[0]
        value = world.chunks[tenant][0].metadata[key]
        seen += [await ask(world.only[tenant], where={key: each}) for each in (value, absent)]
        passing = sum(chunk.metadata.get(key) == value for chunk in world.chunks[tenant])
        _expect_no_more(scene, tenant, seen[2:], passing, "a value that others' chunks have")
    return seen


def _expect_no_more(
    scene: Scene, tenant: TenantId, seen: Sequence[Seen], own: int, what: str
) -> None:
    """Beside the answer for what no chunk meets one for `what`, which `own` of the asker's meet."""
    told, without = (each.total or 0 for each in seen)
    more, rest = (
        number - len(each.uids) for number, each in zip((told, without), seen, strict=True)
    )
    scene.expect(
        told <= max(own, without) or more <= rest,
        f"{tenant.value!r} was told a total of {told} for {what}, which {own} of its own chunks "
        f"meet, and of {without} for one that no chunk has",
        accept="global_totals",
    )


async def by_id(scene: Scene) -> None:
    """A foreign id is answered exactly as one that does not exist."""
    asker, other = scene.world.tenants[:2]
    own, foreign = scene.world.chunks[asker][0].uid, scene.world.canaries[other].uid
    absent = make_uid(other, scene.draw.words("absent")[1])
    read = await _got(scene, asker, [own])
    scene.control(
        read == [own], f"{asker.value!r} reads its own chunk", f"it got {read or 'nothing'}"
    )
    for each in scene.misplaced:
        told = replace(scene, hint=each.told)
        await _got(told, TenantId(each.shown_to), [each.uid])
    many = [chunk.uid for chunk in scene.world.chunks[other]][:MANY]
    for uids in (
        *([foreign], [absent], [own, foreign], [foreign, own, absent], []),
        *([foreign, foreign], [*many, own]),
    ):
        found = await _got(scene, asker, uids)
        wanted = [uid for uid in uids if uid == own]
        scene.expect(
            found == wanted,
            f"{asker.value!r} read {plural(len(uids), 'id')} and got {found!s:.200}",
        )
    for name in {*scene.draw.words("nobody"), other.value.upper()} - scene.world.owners:
        try:
            unknown = scene.tenant(name)
        except TenantError:
            continue  # the guard refuses it
        found = await _got(scene, unknown, [own, foreign])
        scene.expect(found == [], f"an unknown tenant read chunks by id: {found!s:.200}")


async def _got(scene: Scene, tenant: TenantId, uids: Sequence[str]) -> list[str] | str:
    """The uids that come back, or the error's text; foreign ones and tokens are findings."""
    if not isinstance(scene.adapter, ReadsById):
        raise AdapterError("the adapter claims 'get' and lacks it")
    try:
        asked = [scene.key(uid) for uid in uids]
        got: list[Hit] = await scene.call("get", partial(scene.adapter.get, tenant, asked))
        hits = read_response(Response(got), len(asked)).hits
    except Abandoned:
        raise
    except BadAnswer as error:
        told = Told([error.answer], str(error), asked=uids)
        scene.judge(tenant, [scene.uid(key) for key in error.uids], told)
        return str(error)
    except BackendError as error:
        scene.judge(tenant, [], Told(error=str(error), asked=uids))
        return str(error)
    found = [scene.uid(hit.uid) for hit in hits]
    scene.judge(tenant, found, Told(hits, asked=uids))
    return found


async def errors(scene: Scene) -> None:
    """What is refused, and what finds nothing, says nothing of others or of the inside."""
    asker, other = scene.world.tenants[:2]
    mark = scene.draw.words("keys")[2]
    chunk = scene.world.chunks[asker][0]
    own = await scene.ask(asker.value, chunk.text, chunk.vector)
    scene.control(bool(own.uids), f"{asker.value!r} finds chunks", own)
    if "where" in scene.capabilities and not scene.world.exported:
        foreign, absent = [
            await scene.ask(asker.value, chunk.text, chunk.vector, where={mark: value})
            for value in (scene.world.only[other], scene.draw.words("absent")[0])
        ]
        scene.expect(
            (foreign.uids, foreign.total, _text(foreign.error))
            == (absent.uids, absent.total, _text(absent.error)),
            "a value that only others' chunks have is answered otherwise than one that none has",
            accept="distinguishable_absence",
        )
        await _tenants_alike(scene, asker, other)
        for key in spelled(KEYS[:MALFORMED], scene.draw):
            seen = await scene.ask(asker.value, chunk.text, chunk.vector, where={key: "x"})
            _expect_nothing_told(scene, asker, _text(seen.error))
    if scene.mode != "lexical" and chunk.vector is not None:
        seen = await scene.ask(asker.value, chunk.text, chunk.vector[:-1])
        _expect_nothing_told(scene, asker, _text(seen.error))
        scene.facts["error"] = "none" if seen.error is None else type(seen.error).__name__
        # What an error leaves behind concerns the next question, whoever asks it.
        foreign_chunk = scene.world.chunks[other][0]
        await scene.ask(asker.value, scene.draw.words("absent")[0], foreign_chunk.vector)


async def _tenants_alike(scene: Scene, asker: TenantId, other: TenantId) -> None:
    """A condition on a foreign tenant is answered as one on a tenant that does not exist."""
    chunk = scene.world.chunks[asker][0]
    told = []
    for name in (other.value, scene.draw.words("nobody")[0]):
        seen = await scene.ask(asker.value, chunk.text, chunk.vector, where={"tenant": name})
        told.append((seen.uids, seen.total, _text(seen.error).replace(name, "")))
    scene.expect(
        told[0] == told[1],
        "a condition on a foreign tenant is answered otherwise than one on a tenant of no name",
    )


def _expect_nothing_told(scene: Scene, asker: TenantId, text: str) -> None:
    """An error's text, "" for none: no statement, no trace, no tenant that none could know."""
    scene.expect(_INSIDES.search(text) is None, f"an error shows a statement or trace: {text:.200}")
    # A name of the corpus may be an ordinary word of an error.
    foreign = {tenant.value for tenant in scene.world.tenants} - {asker.value, *scene.draw.known}
    named = sorted(name for name in foreign if name in text)
    scene.expect(not named, f"an error of {asker.value!r} names {', '.join(named)}")


def _text(error: BackendError | None) -> str:
    return "" if error is None else str(error)


PROBES = (
    Probe(
        "P27",
        "chunks by id",
        "leak",
        "critical",
        "A foreign id is read, or told from one that does not exist: read by id under the "
        "tenant's condition.",
        by_id,
        asks_only=True,
        needs=frozenset({"get"}),
        modes=(),
    ),
    Probe(
        "P39",
        "totals",
        "side channel",
        "medium",
        "A total counts others' chunks: count under the condition that is searched under, or tell "
        "none. Every total in any answer is judged, whether the adapter declares `total` or not.",
        totals,
        asks_only=True,
        arms=BELOW,
    ),
    Probe(
        "P40",
        "errors",
        "side channel",
        "medium",
        "An error, or an empty answer, tells something of others' chunks or of the inside: "
        "answer foreign and absent alike, and keep statements out of messages.",
        errors,
        asks_only=True,
        arms=BELOW,
        limit=f"addresses in an error: adapters name the one that they were given; {UNSEEN}",
    ),
)
