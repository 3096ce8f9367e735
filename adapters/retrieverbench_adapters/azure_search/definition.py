"""The index: its name, what is asked for, and what the service shows of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from retrieverbench_adapters.azure_search.options import Place

_INDEX_NAME = re.compile(r"(?!.*(?:--|__|-_|_-))[a-z0-9][a-z0-9_-]{1,127}")


def index_name(place: str) -> str:
    """A legal index name, equal for equal places only: what had to change adds a hash."""
    if _INDEX_NAME.fullmatch(place):
        return place
    letters = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
    return f"{letters[:80]}-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def index_definition(name: str, dimension: int, place: Place) -> dict[str, Any]:
    """The index as it is asked for, every attribute explicit: left out would mean true."""
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
        vector = _field("vector", "searchable", kind="Collection(Edm.Single)")
        fields.append(vector | {"dimensions": dimension, "vectorSearchProfile": "vectors"})
        parameters = {
            "m": place.m,
            "efConstruction": place.ef_construction,
            "efSearch": place.ef_search,
            "metric": "cosine",
        }
        definition["vectorSearch"] = {
            "algorithms": [{"name": "graph", "kind": "hnsw", "hnswParameters": parameters}],
            "profiles": [{"name": "vectors", "algorithm": "graph"}],
        }
    return definition


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


def read_definition(shown: Mapping[str, Any]) -> dict[str, object]:
    """What matters of a definition, as the service shows it, and a hash of the rest."""
    fields = {item["name"]: item for item in shown["fields"]}
    kept = {k: v for k, v in shown.items() if k != "name" and not k.startswith("@odata.")}
    found: dict[str, object] = {
        "definition_sha256": hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest(),
        "analyzer": fields["content"].get("analyzer"),
        "tenant.type": fields["tenant"].get("type"),
        "tenant.filterable": fields["tenant"].get("filterable"),
        "tenant.normalizer": fields["tenant"].get("normalizer"),
    }
    for algorithm in (shown.get("vectorSearch") or {}).get("algorithms") or []:
        found["vector.dimension"] = fields["vector"].get("dimensions")
        found["vector.index"] = algorithm.get("kind")
        parameters = algorithm.get("hnswParameters") or {}
        found |= {f"vector.{name}": value for name, value in parameters.items()}
    return found


def _field(name: str, *true: str, kind: str = "Edm.String") -> dict[str, Any]:
    flags = ("searchable", "filterable", "sortable", "facetable", "retrievable")
    kept = flags if kind == "Collection(Edm.Single)" else ("key", *flags)
    return {"name": name, "type": kind, **{flag: flag in true for flag in kept}}
