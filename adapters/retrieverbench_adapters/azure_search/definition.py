"""The index: its name, what is asked for, and what the service shows of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from retrieverbench.model import TenantId
from retrieverbench_adapters.azure_search.fields import Fields, tenant_text
from retrieverbench_adapters.azure_search.options import Place

_INDEX_NAME = re.compile(r"(?!.*(?:--|__|-_|_-))[a-z0-9][a-z0-9_-]{1,127}")


def index_name(place: str) -> str:
    """A legal index name, equal for equal places only: what had to change adds a hash."""
    if _INDEX_NAME.fullmatch(place):
        return place
    letters = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
    return f"{letters[:80]}-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def tenant_index_name(place: str, tenant: TenantId) -> str:
    """The name of one tenant's own index: the place's prefix, and a hash of both."""
    whole = json.dumps([place, tenant_text(tenant)]).encode()
    return f"{tenant_index_prefix(place)}{hashlib.sha256(whole).hexdigest()[:32]}"


def tenant_index_prefix(place: str) -> str:
    """How the names of all tenants' indexes of a place begin, and those of no other place."""
    letters = index_name(place)[:60].rstrip("-_")
    return f"{letters}-{hashlib.sha256(place.encode()).hexdigest()[:12]}-"


def index_definition(
    name: str, dimension: int, place: Place, *, shared: bool = True
) -> dict[str, Any]:
    """The index as it is asked for, every attribute explicit: left out would mean true.

    `shared` is whether all tenants' chunks lie in it. A tenant's own index shows its vectors,
    because a chunk that changes its owner has to be copied.
    """
    fields = [
        _field("key", "key", "filterable", "retrievable"),
        _field("uid", "retrievable"),
        _field("id", "retrievable"),
        # A normalizer would fold the case of tenants; asking for none makes its presence show.
        _field("tenant", "filterable", "facetable", "retrievable") | {"normalizer": None},
        _field("content", "searchable", "retrievable") | {"analyzer": place.analyzer},
        _field("text", "retrievable"),
        _field("metadata", "filterable", kind="Collection(Edm.String)"),
    ]
    definition: dict[str, Any] = {"name": name, "fields": fields}
    if dimension:
        shown = () if shared else ("retrievable",)
        vector = _field("vector", "searchable", *shown, kind="Collection(Edm.Single)")
        fields.append(vector | {"dimensions": dimension, "vectorSearchProfile": "vectors"})
        definition["vectorSearch"] = {
            "algorithms": [_algorithm(place)],
            "profiles": [{"name": "vectors", "algorithm": "graph"}],
        }
    return definition


def _algorithm(place: Place) -> dict[str, Any]:
    graph = {"m": place.m, "efConstruction": place.ef_construction, "efSearch": place.ef_search}
    parameters = {**(graph if place.vector_index == "hnsw" else {}), "metric": "cosine"}
    kind = place.vector_index
    return {"name": "graph", "kind": kind, f"{kind}Parameters": parameters}


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where what the service shows is not what was asked for; it may show more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        pairs = [(name, value, found.get(name)) for name, value in wanted.items()]
    elif isinstance(wanted, list) and isinstance(found, list):
        named = {item["name"]: item for item in found}
        pairs = [(item["name"], item, named.pop(item["name"], None)) for item in wanted]
        pairs += [(name, None, item) for name, item in named.items()]
    else:
        return [] if wanted == found else [f"{path} is {found!r:.60}, not {wanted!r:.60}"]
    return [
        line
        for name, asked, shown in pairs
        for line in differences(asked, shown, f"{path}.{name}".strip("."))
    ]


def read_definition(shown: Mapping[str, Any], fields: Fields) -> dict[str, object]:
    """What matters of a definition, as the service shows it, and a hash of all of it."""
    present = {item["name"]: item for item in shown["fields"]}
    tenant = present[fields.tenant]
    kept = {k: v for k, v in shown.items() if k != "name" and not k.startswith("@odata.")}
    found: dict[str, object] = {
        "definition_sha256": hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest(),
        "analyzer": ", ".join(str(present[name].get("analyzer")) for name in fields.text),
        "tenant.type": tenant.get("type"),
        "tenant.filterable": tenant.get("filterable"),
        "tenant.normalizer": tenant.get("normalizer"),
        "semantic.configurations": ", ".join(
            str(item.get("name"))
            for item in (shown.get("semantic") or {}).get("configurations") or []
        ),
    }
    for name, value in (shown.get("similarity") or {}).items():
        found[f"similarity.{name.removeprefix('@odata.')}"] = value
    return found | _read_vector(shown, present.get(fields.vector) or {})


def _read_vector(shown: Mapping[str, Any], field: Mapping[str, Any]) -> dict[str, object]:
    """The vector field with its profile's algorithm; nothing where there is no such field."""
    search = shown.get("vectorSearch") or {}
    profiles = {item.get("name"): item for item in search.get("profiles") or []}
    profile = profiles.get(field.get("vectorSearchProfile")) or {}
    found: dict[str, object] = {}
    for algorithm in search.get("algorithms") or []:
        if algorithm.get("name") != profile.get("algorithm"):
            continue
        found["vector.dimension"] = field.get("dimensions")
        found["vector.profile"] = field.get("vectorSearchProfile")
        found["vector.index"] = algorithm.get("kind")
        parameters = algorithm.get(f"{algorithm.get('kind')}Parameters") or {}
        found |= {f"vector.{name}": value for name, value in parameters.items()}
    return found


def _field(name: str, *true: str, kind: str = "Edm.String") -> dict[str, Any]:
    flags = ("searchable", "filterable", "sortable", "facetable", "retrievable")
    kept = flags if kind == "Collection(Edm.Single)" else ("key", *flags)
    return {"name": name, "type": kind, **{flag: flag in true for flag in kept}}
