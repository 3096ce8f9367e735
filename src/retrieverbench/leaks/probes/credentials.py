"""Credentials that are another's, none, or not quite the right one (P47)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from retrieverbench.adapter import Adapter, NamesBesideCredentials, Secret
from retrieverbench.errors import AdapterError, Refused, Rejected
from retrieverbench.leaks.probe import BELOW, Probe
from retrieverbench.leaks.scene import Scene
from retrieverbench.model import Query, Response, TenantId


@dataclass(frozen=True, slots=True)
class _Bearer:
    """Asks with this credential, whoever is named."""

    adapter: NamesBesideCredentials
    credential: Secret | None

    async def search(self, query: Query) -> Response:
        return await self.adapter.search_with(query, self.credential)


async def borrowed_names(scene: Scene) -> None:
    """Each tenant with the credential of every other, with none, and with wrong ones.

    It must be refused, answered with nothing, or answered as the credential's owner.
    """
    adapter = scene.adapter
    if not isinstance(adapter, NamesBesideCredentials):
        raise AdapterError("the adapter claims 'credentials' and lacks search_with")
    held = adapter.credentials
    if not held:
        scene.left_out = (
            "no tenant has a credential of its own: a service that is told a name alone must "
            "believe it"
        )
        return
    (nobody,) = scene.draw.words("nobody")
    for claimed in scene.world.tenants:
        question = scene.world.chunks[claimed][0]
        own = await scene.ask(claimed.value, question.text, question.vector)
        scene.control(bool(own.uids), f"{claimed.value!r} finds chunks in its own name", own)
        for bearer, credential, whose in _others(scene, claimed, held):
            bearing = cast("Adapter", _Bearer(adapter, credential))
            judged = TenantId(nobody) if bearer is None else bearer
            hint = f"asked in the name of {claimed.value!r} with {whose}"
            borrowing = replace(scene, adapter=bearing, asker=judged, hint=hint)
            seen = await borrowing.ask(claimed.value, question.text, question.vector)
            scene.trials, scene.sent = borrowing.trials, borrowing.sent
            if seen.error is not None and not isinstance(seen.error, Refused | Rejected):
                # Its text may repeat a credential that is not quite one that reports hide.
                code = seen.error.code.word
                scene.control(False, f"it is refused or answered, {hint}", f"it failed: {code}")


def _others(
    scene: Scene, claimed: TenantId, held: Mapping[str, Secret]
) -> Iterator[tuple[TenantId | None, Secret | None, str]]:
    """Whose credential it is, nobody's last, the credential, and how findings call it."""
    for tenant in scene.world.tenants:
        if tenant != claimed and tenant.value in held:
            yield tenant, held[tenant.value], f"the credential of {tenant.value!r}"
    yield None, None, "no credential"
    yield None, Secret(scene.draw.new_token()), "a made-up credential"
    if claimed.value in held:
        own = held[claimed.value].reveal()
        yield None, Secret(_altered(own)), "its own credential but for one letter"
        yield None, Secret(own[: len(own) // 2]), "the first half of its own credential"


def _altered(credential: str) -> str:
    """Another letter near its end, where tokens are signed; the last may hold unused bits."""
    place = len(credential) * 9 // 10
    letter = "b" if credential[place] == "a" else "a"
    return f"{credential[:place]}{letter}{credential[place + 1 :]}"


PROBES = (
    Probe(
        "P47",
        "another's name or a wrong credential",
        "leak",
        "critical",
        "Who has no credential, another's or a forged one is answered as a tenant: take the tenant "
        "from the credential, compare or verify all of it, and refuse a name that is not its own.",
        borrowed_names,
        asks_only=True,
        needs=frozenset({"credentials"}),
        arms=BELOW,
    ),
)
