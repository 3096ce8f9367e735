"""What there is to say of a service, beyond what it shows of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from retrieverbench.adapter import Settings
from retrieverbench_adapters.azure_search.answers import Answer
from retrieverbench_adapters.azure_search.definition import read_definition
from retrieverbench_adapters.azure_search.fields import Fields
from retrieverbench_adapters.azure_search.options import Options


def settings_shown(
    settings: Settings,
    options: Options,
    fields: Fields,
    definitions: Mapping[str, Mapping[str, Any]],
) -> dict[str, object]:
    """Settings for the artifact: the index as shown by the service, and what searches send.

    `definitions` holds the index of the place, or those of its tenants, by name; what
    differs between them is told as the number of different definitions.
    """
    read = [read_definition(shown, fields) for shown in definitions.values()]
    different = len({str(one["definition_sha256"]) for one in read})
    return {
        **(read[0] if read else {}),
        **({"different_definitions": different} if different > 1 else {}),
        **{f"search.{name}": value for name, value in asdict(options.search).items()},
        **_own_indexes(settings, len(read)),
        "azure_core": version("azure-core"),
        "credential": _credential(settings, options, known=bool(definitions)),
        "enforced_by": "caller filter" if settings.layout == "filter" else "storage boundary",
    }


def _own_indexes(settings: Settings, count: int) -> dict[str, object]:
    """An index per tenant: how many there are; no tenant's condition is sent."""
    return {} if settings.layout == "filter" else {"indexes": count, "search.tenant_filter": None}


def _credential(settings: Settings, options: Options, *, known: bool) -> str:
    """A key that may not read a definition is a query key; a token's roles are not told."""
    if options.connect.auth == "entra":
        return "token"
    return "admin key" if known or settings.attached is None else "query key"


def properties_of(settings: Settings, options: Options) -> frozenset[str]:
    """The declared properties of this place."""
    found = {"eventual_visibility"}
    if settings.layout == "filter":
        found.add("shared_idf")
    if settings.dimension and options.place.vector_index == "hnsw" and not options.search.exact:
        found.add("approximate")
    return frozenset(found)


def weaknesses_of(
    settings: Settings, options: Options, shown: Mapping[str, object], answer: Answer
) -> list[str]:
    """What makes isolation or figures worth less than the layout promises.

    `answer` is one of the service's: its headers say whether it is a stand-in that is broken.
    """
    found = []
    if answer.broken is not None:
        found.append(f"the stand-in is broken on purpose ({answer.broken}); start one that is not")
    if shown.get("credential") == "admin key":
        found.append(
            "searches are made with an admin key, which may read and write "
            "every index of the service; an application should search with a query key"
        )
    if settings.layout == "filter" and options.search.vector_filter_mode != "preFilter":
        found.append(
            f"vector_filter_mode is {options.search.vector_filter_mode}: the tenant's condition "
            "comes after the k nearest chunks of all tenants are chosen; use preFilter"
        )
    if shown.get("tenant.normalizer"):
        found.append(
            "the tenant field has a normalizer, so names that differ in case are one tenant; "
            "make the field without one"
        )
    return found
