"""What is there, as the server tells it, and what of a suite cannot be."""

from __future__ import annotations

from collections.abc import Mapping

from retrieverbench.adapter import OWN_PREFIX, Description, Settings
from retrieverbench.model import Fidelity
from retrieverbench.remote.lucene.indices import Indices
from retrieverbench.remote.lucene.requests import Json


def settings_faults(backend: str, settings: Settings, secrets: str) -> list[str]:
    """One line for everything that is wrong; `secrets` are the names that may be, in words."""
    found = []
    if settings.attached is None and not settings.place.startswith(OWN_PREFIX):
        found.append(f"{backend}: place: {settings.place!r} must begin with {OWN_PREFIX!r}")
    if settings.layout == "rls":
        found.append(f"{backend}: layout: 'rls' is not supported; use filter, partition or index")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        found.append(f"{backend}: dimension: 0 with a mode that needs vectors")
    known = secrets.replace(",", " ").split()
    unknown = sorted(set(settings.secrets) - set(known))
    found += [f"{backend}: secret {name!r}: use {secrets}" for name in unknown]
    return found


async def describe(
    indices: Indices,
    version: Json,
    client: tuple[str, str],
    fidelity: Fidelity | None,
    request: Mapping[str, object],
    properties: Mapping[str, object],
) -> Description:
    """`request` are parameters of every search, which the server does not keep.

    `version` is the server's own account of itself; of the `properties` those that hold count.
    """
    found, weaknesses = await indices.settings()
    chunks, total = await indices.counts()
    if total < sum(chunks.values()):
        told = f"tenant field {indices.text.names.tenant!r} holds several owners in some of {total}"
        remedy = "each of them finds these; store a document per owner"
        weaknesses = (*weaknesses, f"{told} documents: {remedy}")
    return Description(
        server=indices.backend,
        server_version=version["number"],
        client=client[0],
        client_version=client[1],
        settings={
            "build_type": version["build_type"],
            "lucene": version["lucene_version"],
            **found,
            **{f"request.{name}": value for name, value in request.items()},
        },
        chunks=chunks,
        properties=frozenset(name for name, holds in properties.items() if holds),
        fidelity=fidelity,
        unchecked=indices.unchecked,
        weaknesses=weaknesses,
    )


def shares_statistics(settings: Settings) -> bool:
    """Whether a text score depends on other tenants' chunks."""
    return bool(settings.modes & {"lexical", "hybrid"}) and settings.layout != "index"
