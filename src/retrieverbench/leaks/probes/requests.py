"""What goes out: the condition of every leg, and nothing at all for a missing tenant."""

from __future__ import annotations

from collections.abc import Sequence

from retrieverbench.adapter import Leg
from retrieverbench.errors import plural
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.conditions import MISSING, NotUnderstood, holds, is_absent
from retrieverbench.leaks.hostile import MISSING as NO_NAMES
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.record import Request
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen

_BEHIND_A_SERVICE = (
    "what a service makes of a request: that each names its tenant is seen here, the service's own "
    "searches are not"
)


async def every_leg(scene: Scene) -> None:
    """Each leg's condition is true for documents of the asker, and for no other document."""
    if "credentials" in scene.capabilities:
        scene.limit = "; ".join(filter(None, (scene.limit, _BEHIND_A_SERVICE)))
    tenants = scene.world.tenants[:2]
    chunk = scene.world.chunks[tenants[0]][0]
    sent: list[Sequence[Request]] = []
    for tenant in tenants:
        seen = await scene.ask(tenant.value, chunk.text, chunk.vector)
        if tenant == chunk.tenant:
            scene.control(chunk.uid in seen.uids, f"{tenant.value!r} finds its chunk", seen)
        sent.append(seen.requests or ())
    differ = _without_legs(sent[0]) != _without_legs(sent[1])
    for tenant, other, requests in zip(tenants, tenants[::-1], sent, strict=True):
        legs = [leg for request in requests for leg in request.legs]
        scene.control(bool(legs), "the recorder sees the legs of a search", "it saw none")
        for leg in legs:
            if is_absent(leg.condition) and scene.layout == "index" and differ:
                scene.control(True, "another tenant is asked for in another place")
            else:
                _judge_leg(scene, leg, tenant.value, other.value)


def _judge_leg(scene: Scene, leg: Leg, own: str, foreign: str) -> None:
    documents: dict[str, object] = {
        "another tenant": foreign,
        "no owner": MISSING,
        "the owner null": None,
        "an empty owner": "",
        "the owner of a longer name": f"{own}-corp",
        "the owner in capitals": own.upper(),
        "an owner of another type": True,
    }
    try:
        scene.control(holds(leg.condition, own), f"leg {leg.path} finds a document of the asker")
        for name, owner in documents.items():
            if owner != own:
                scene.expect(
                    not holds(leg.condition, owner),
                    f"the condition of leg {leg.path} is true for a document with {name}",
                )
        if holds(leg.condition, [own, foreign]):
            # Engines match each value of a list. No load may store one: probe P24.
            scene.facts["a list of owners"] = "matches each of them"
    except NotUnderstood as error:
        told = (
            f"this audit does not understand {error}; judge that condition by hand, then give your "
            'reason under [leaks] accept_inconclusive = { P04 = "..." }'
        )
        scene.control(False, f"the condition of leg {leg.path} can be judged", told)


def _without_legs(requests: Sequence[Request]) -> list[tuple[str, object]]:
    return [(request.operation, request.body) for request in requests]


async def missing_tenant(scene: Scene) -> None:
    """Nobody asks: None, an empty name, blanks."""
    asker = scene.world.tenants[0]
    chunk = scene.world.chunks[asker][0]
    own = await scene.ask(asker.value, chunk.text, chunk.vector)
    # One control: what a recorder sees of a backend that answers nothing proves nothing.
    is_seen = scene.log is None or bool(own.requests)
    told = " and the recorder sees it" if scene.log is not None else ""
    scene.control(
        chunk.uid in own.uids and is_seen,
        f"{asker.value!r} finds its chunk by the same question{told}",
        own if chunk.uid not in own.uids else "no request was recorded",
    )
    asked = [Asked(name, chunk.text, chunk.vector) for name in NO_NAMES]
    for name, seen in zip(NO_NAMES, await scene.ask_all(asked), strict=True):
        expect_nothing(scene, seen, f"the tenant {name!r}")


def expect_nothing(scene: Scene, seen: Seen, who: str) -> None:
    """Guarded: refused without any request. Below: refused, or nothing found, with a condition."""
    if scene.arm == "guarded":
        scene.expect(seen.refused, f"{who} was not refused")
        scene.expect(
            not seen.requests,
            f"{who} was refused after {plural(len(seen.requests or ()), 'request')}",
        )
        return
    scene.expect(not seen.uids, f"{who} got {plural(len(seen.uids), 'chunk')}")
    scene.expect(seen.error is None, f"{who} got an error: {seen.error}")
    for leg in (leg for request in seen.requests or () for leg in request.legs):
        if is_absent(leg.condition) and scene.layout == "index":
            continue
        try:
            is_open = any(holds(leg.condition, tenant.value) for tenant in scene.world.tenants)
        except NotUnderstood:
            continue  # what it found was judged
        scene.expect(not is_open, f"{who} reached the backend with an open condition")


PROBES = (
    Probe(
        "P04",
        "condition of every leg",
        "leak",
        "critical",
        "A part of the request finds chunks without the asker's condition, or under one that is "
        "true for other documents too: put the tenant condition into every leg.",
        every_leg,
        asks_only=True,
        needs=frozenset({"record"}),
    ),
    Probe(
        "P21",
        "missing tenant",
        "fail-open",
        "critical",
        "A question without a tenant must be refused before any request, never answered.",
        missing_tenant,
        asks_only=True,
    ),
)
