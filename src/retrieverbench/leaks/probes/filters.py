"""A user's conditions beside the tenant's (P05, P06, P15)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from retrieverbench.errors import Rejected, plural
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.hostile import KEYS, spelled
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Chunk, TenantId, Value

ALL = 20
"""More than a tenant owns."""


async def both_conditions(scene: Scene) -> None:
    """The user's conditions and the tenant's together, as brute force says."""
    tenants, only = scene.world.tenants, scene.world.only
    shelf, level, mark = scene.draw.words("keys")
    (on,) = scene.draw.words("shelf")
    whole = await _without(scene)
    asked: list[tuple[TenantId, Mapping[str, Value]]] = []
    for tenant, other in zip(tenants, tenants[1:] + tenants[:1], strict=True):
        conditions: list[Mapping[str, Value]] = [
            {shelf: f"{on}1"},
            {shelf: f"{on}1", level: 1},
            {level: 2, shelf: f"{on}0"},
            {mark: only[tenant]},
            {mark: only[other]},
            {mark: only[other], shelf: f"{on}1"},
        ]
        asked += [(tenant, where) for where in conditions]
    questions = [_own_word(scene, tenant, where) for tenant, where in asked]
    for (tenant, where), seen in zip(asked, await scene.ask_all(questions), strict=True):
        _brute_force(scene, tenant, where, seen, whole[tenant])


def _own_word(scene: Scene, tenant: TenantId, where: Mapping[str, Value]) -> Asked:
    word, vector = scene.world.only[tenant], scene.world.chunks[tenant][0].vector
    return Asked(tenant.value, word, vector, k=ALL, where=where)


async def _without(scene: Scene) -> Mapping[TenantId, set[str]]:
    """What each finds without any condition: a floor of scores may leave own ones out."""
    tenants = scene.world.tenants
    answers = await scene.ask_all([_own_word(scene, tenant, {}) for tenant in tenants])
    for tenant, seen in zip(tenants, answers, strict=True):
        scene.control(bool(seen.uids), f"{tenant.value!r} finds chunks without a condition", seen)
    return {tenant: set(seen.uids) for tenant, seen in zip(tenants, answers, strict=True)}


def _brute_force(
    scene: Scene, tenant: TenantId, where: Mapping[str, Value], seen: Seen, whole: set[str]
) -> None:
    """What passes both conditions is found, as far as it is found without; nothing else is.

    Who leaves out a share of what matches without a condition, as a reranker may, may leave out
    that share of what passes.
    """
    own, word = scene.world.chunks[tenant], scene.world.only[tenant]
    if scene.mode == "lexical":
        own = [c for c in own if word in c.text.split()]
    passing = [c for c in own if all(c.metadata.get(key) == where[key] for key in where)]
    shown = ", ".join(f"{key} = {value}" for key, value in where.items())
    scene.expect(seen.error is None, f"{tenant.value!r} with {shown} got an error: {seen.error}")
    got, wanted = set(seen.uids), _uids(passing)
    # A limit below k leaves out others when others pass.
    is_all = whole & wanted <= got or len(got) >= len(whole)
    if len(whole) < len(own):
        is_all = is_all or len(got) >= max(1, len(wanted) * len(whole) // len(own))
    declared = scene.declared.get("approximate")
    is_enough = declared is not None and len(got) >= declared.value * len(wanted)
    scene.expect(
        got <= wanted and is_all,
        f"{tenant.value!r} with {shown} got {plural(len(seen.uids), 'chunk')}, of which "
        f"{len(wanted & got)} are among the {len(passing)} that pass both",
        missing=got < wanted,
        accept="approximate" if got <= wanted and is_enough else "",
    )


def _uids(chunks: list[Chunk]) -> set[str]:
    return {chunk.uid for chunk in chunks}


async def callers_own_tenant(scene: Scene) -> None:
    """The caller names a tenant in its own conditions: it may narrow, never replace."""
    tenants = scene.world.tenants
    asker, other = tenants[0], tenants[1]
    word, vector = scene.world.only[asker], scene.world.chunks[asker][0].vector
    words = f"{word} {scene.world.only[other]}"
    own = await scene.ask(asker.value, word, vector, k=ALL)
    scene.control(bool(own.uids), f"{asker.value!r} finds chunks without a condition", own)
    named = list(product(("tenant", "tenant_id", "owner"), (other, asker)))
    asked = [
        Asked(asker.value, words, vector, k=ALL, where={field: name.value}) for field, name in named
    ]
    for (field, name), seen in zip(named, await scene.ask_all(asked), strict=True):
        scene.expect(
            name == asker or not seen.uids,
            f"{asker.value!r} with {field} = {name.value!r} got {plural(len(seen.uids), 'chunk')}, "
            "none of which has that value",
        )


async def hostile_keys(scene: Scene) -> None:
    """Keys of conditions in the syntax of query languages: refused, or no chunk has them."""
    asker = scene.world.tenants[0]
    word, vector = scene.world.only[asker], scene.world.chunks[asker][0].vector
    keys = spelled(KEYS, scene.draw)
    asked = [Asked(asker.value, word, vector, k=ALL, where={key: "x"}) for key in keys]
    for key, seen in zip(keys, await scene.ask_all(asked), strict=True):
        scene.expect(not seen.uids, f"the key {key!r}, which no chunk has, got {len(seen.uids)}")
        turned_away = isinstance(seen.error, Rejected) and not seen.requests
        scene.expect(
            seen.error is None or turned_away, f"the key {key!r} got an error: {seen.error!s:.200}"
        )
    shelf = {scene.draw.words("keys")[0]: f"{scene.draw.words('shelf')[0]}1"}
    known = await scene.ask(asker.value, word, vector, k=ALL, where=shelf)
    scene.control(bool(known.uids), "a key that chunks have finds them", known)


_WHERE = frozenset({"where"})
_OUTSIDE = "put the tenant condition outside and join both by AND, each in parentheses"

PROBES = (
    Probe(
        "P05",
        "user condition and tenant condition",
        "leak",
        "critical",
        f"A user's condition replaces or widens the tenant's, or is lost; {_OUTSIDE}.",
        both_conditions,
        needs=_WHERE,
        arms=BELOW,
    ),
    Probe(
        "P06",
        "the caller names a tenant",
        "leak",
        "critical",
        f"A caller's own condition on the tenant wins over the checked one; {_OUTSIDE}.",
        callers_own_tenant,
        needs=_WHERE,
        arms=BELOW,
    ),
    Probe(
        "P15",
        "hostile keys of conditions",
        "leak",
        "critical",
        "A key of a user's condition was read as syntax: bind keys, or refuse unknown ones.",
        hostile_keys,
        needs=_WHERE,
        arms=BELOW,
    ),
)
