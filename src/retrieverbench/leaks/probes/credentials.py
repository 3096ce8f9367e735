"""One tenant's credential beside another's name (P47)."""

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
    """Each name with the credential of every other tenant, with none, and with a made-up one.

    It must be refused, answered with nothing, or answered as the credential's owner.
    """
    adapter = scene.adapter
    if not isinstance(adapter, NamesBesideCredentials):
        raise AdapterError("the adapter claims 'credentials' and lacks search_with")
    held = adapter.credentials
    if not held:
        scene.left_out = (
            "no tenant has a credential of its own beside its name: a service that is told the "
            "name alone must believe it, and one that is told none cannot be lied to"
        )
        return
    (nobody,) = scene.draw.words("nobody")
    for claimed in scene.world.tenants:
        question = scene.world.chunks[claimed][0]
        own = await scene.ask(claimed.value, question.text, question.vector)
        scene.control(bool(own.uids), f"{claimed.value!r} finds chunks in its own name", own)
        for bearer, credential in _others(scene, claimed, held):
            bearing = cast("Adapter", _Bearer(adapter, credential))
            judged = TenantId(nobody) if bearer is None else bearer
            whose = _whose(bearer, credential)
            hint = f"asked in the name of {claimed.value!r} with {whose}"
            borrowing = replace(scene, adapter=bearing, asker=judged, hint=hint)
            seen = await borrowing.ask(claimed.value, question.text, question.vector)
            scene.trials, scene.sent = borrowing.trials, borrowing.sent
            if seen.error is not None and not isinstance(seen.error, Refused | Rejected):
                scene.control(False, f"it is refused or answered, {hint}", seen)


def _others(
    scene: Scene, claimed: TenantId, held: Mapping[str, Secret]
) -> Iterator[tuple[TenantId | None, Secret | None]]:
    """Whose credential it is, and the credential; nobody's last."""
    for tenant in scene.world.tenants:
        if tenant != claimed and tenant.value in held:
            yield tenant, held[tenant.value]
    yield None, None
    yield None, Secret(scene.draw.new_token())


def _whose(bearer: TenantId | None, credential: Secret | None) -> str:
    if bearer is not None:
        return f"the credential of {bearer.value!r}"
    return "no credential" if credential is None else "a made-up credential"


PROBES = (
    Probe(
        "P47",
        "another's name beside one's own credential",
        "leak",
        "critical",
        "Whoever has a credential, or none, is answered as the tenant that a request names: take "
        "the tenant from the credential, and refuse a name that is not its own.",
        borrowed_names,
        asks_only=True,
        needs=frozenset({"credentials"}),
        arms=BELOW,
    ),
)
