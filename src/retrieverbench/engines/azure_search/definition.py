"""Index definitions: what a field may be, checked as the service checks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from retrieverbench.engines.azure_search.analysis import ANALYZERS
from retrieverbench.engines.azure_search.replies import (
    Refusal,
    invalid_definition,
    not_implemented,
)

VECTOR = "Collection(Edm.Single)"
_PRIMITIVE = ("String", "Int32", "Int64", "Double", "Boolean", "DateTimeOffset")
_TYPES = frozenset(f"Edm.{t}" for t in _PRIMITIVE) | {f"Collection(Edm.{t})" for t in _PRIMITIVE}
_INDEX_NAME = re.compile(r"(?!.*(?:--|__|-_|_-))[a-z0-9][a-z0-9_-]{1,127}")
_FIELD_NAME = re.compile(r"(?!azureSearch)[A-Za-z][A-Za-z0-9_]{0,127}")
_USED = frozenset({"name", "fields", "vectorSearch", "similarity", "description", "@odata.etag"})
_UNUSED_TEXT = (
    "scoringProfiles defaultScoringProfile corsOptions suggesters analyzers tokenizers "
    "tokenFilters charFilters normalizers encryptionKey semantic"
)
_UNUSED = frozenset(_UNUSED_TEXT.split())
_FIELD_KEYS_TEXT = (
    "name type key searchable filterable sortable facetable retrievable stored analyzer "
    "searchAnalyzer indexAnalyzer normalizer dimensions vectorSearchProfile vectorEncoding "
    "synonymMaps fields"
)
_FIELD_KEYS = frozenset(_FIELD_KEYS_TEXT.split())
_FLAGS = ("searchable", "filterable", "sortable", "facetable", "retrievable")


@dataclass(frozen=True, slots=True)
class Field:
    """One field, every attribute explicit."""

    name: str
    type: str
    key: bool
    searchable: bool
    filterable: bool
    sortable: bool
    facetable: bool
    retrievable: bool
    analyzer: str
    dimensions: int

    @property
    def is_vector(self) -> bool:
        """Vectors are ranked, never filtered."""
        return self.type == VECTOR

    @property
    def is_collection(self) -> bool:
        """Several values per document."""
        return self.type.startswith("Collection(")

    @property
    def element(self) -> str:
        """The type of one value."""
        return self.type.removeprefix("Collection(").removesuffix(")")


@dataclass(frozen=True, slots=True)
class Definition:
    """A checked definition and the JSON the service would show of it."""

    name: str
    fields: Mapping[str, Field]
    shown: Mapping[str, Any]
    k1: float = 1.2
    b: float = 0.75

    @property
    def key(self) -> str:
        """The name of the key field."""
        return next(f.name for f in self.fields.values() if f.key)


def parse_definition(raw: Any) -> Definition:
    """Check a definition; Refusal 400 for what the service refuses, 501 for what we lack."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise invalid_definition("The index must have a name.", "InvalidName")
    name = raw["name"]
    if _INDEX_NAME.fullmatch(name) is None:
        raise invalid_definition(
            f"Invalid index name: '{name}'. Use 2 to 128 lower-case letters, digits, dashes "
            "and underscores, beginning with a letter or digit, none of them doubled.",
            "InvalidName",
        )
    _check_index_keys(raw)
    fields_raw = raw.get("fields")
    if not isinstance(fields_raw, list) or not fields_raw:
        raise invalid_definition("The index must have at least one field.")
    profiles = _vector_profiles(raw.get("vectorSearch") or {})
    fields = [_field(f, profiles) for f in fields_raw]
    if len({f.name.lower() for f in fields}) != len(fields):
        raise invalid_definition("Two fields have the same name.")
    if [f.type for f in fields if f.key] != ["Edm.String"]:
        raise invalid_definition("The index must have exactly one key field of type Edm.String.")
    k1, b = _similarity(raw.get("similarity"))
    shown = {
        **{k: v for k, v in raw.items() if v is not None and k != "@odata.etag"},
        "fields": [_shown_field(f, r) for f, r in zip(fields, fields_raw, strict=True)],
    }
    return Definition(name, {f.name: f for f in fields}, shown, k1, b)


def _check_index_keys(raw: Mapping[str, Any]) -> None:
    for key, value in raw.items():
        if key in _UNUSED:
            if value:
                raise not_implemented(f"'{key}' of an index")
        elif key not in _USED and not key.startswith("@odata."):
            raise Refusal(
                400,
                f"The request is invalid. Details: definition : The property '{key}' does not "
                "exist on type 'Microsoft.Azure.Search.V2026_04_01.IndexDefinition'.",
            )


def _field(raw: Any, profiles: frozenset[str]) -> Field:
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise invalid_definition("Every field must have a name.")
    name, kind = raw["name"], raw.get("type")
    for key, value in raw.items():
        if key not in _FIELD_KEYS:
            raise invalid_definition(f"The property '{key}' of field '{name}' does not exist.")
        if key in {"normalizer", "synonymMaps", "fields", "vectorEncoding"} and value:
            raise not_implemented(f"'{key}' of a field")
    if _FIELD_NAME.fullmatch(name) is None:
        raise invalid_definition(f"Invalid field name: '{name}'.", "InvalidName")
    if kind == VECTOR:
        return _vector_field(name, raw, profiles)
    if kind not in _TYPES:
        raise not_implemented(f"fields of type '{kind}'")
    return _plain_field(name, cast("str", kind), raw)


def _vector_field(name: str, raw: Mapping[str, Any], profiles: frozenset[str]) -> Field:
    dimensions = raw.get("dimensions")
    if dimensions is None:
        raise invalid_definition(
            f"The vector field '{name}' must have the property 'dimensions' set."
        )
    if type(dimensions) is not int or not 2 <= dimensions <= 4096:
        raise invalid_definition(f"The dimensions of '{name}' must be between 2 and 4096.")
    profile = raw.get("vectorSearchProfile")
    if profile is None:
        raise invalid_definition(
            f"The vector field '{name}' must have the property 'vectorSearchProfile' set."
        )
    if profile not in profiles:
        raise invalid_definition(f"The vector search profile '{profile}' does not exist.")
    for flag in ("filterable", "sortable", "facetable", "key", "analyzer"):
        if raw.get(flag):
            raise invalid_definition(f"The vector field '{name}' cannot be '{flag}'.")
    retrievable = raw.get("retrievable") is not False and raw.get("stored") is not False
    return Field(
        name, VECTOR, False, True, False, False, False, retrievable, "", dimensions
    )  # fmt: skip


def _plain_field(name: str, kind: str, raw: Mapping[str, Any]) -> Field:
    text = kind.endswith(("Edm.String", "Edm.String)"))
    analyzer = raw.get("analyzer") or raw.get("indexAnalyzer") or "standard.lucene"
    if raw.get("searchAnalyzer") not in {None, analyzer}:
        raise not_implemented("different analyzers for indexing and searching")
    if analyzer not in ANALYZERS:
        raise not_implemented(f"the analyzer '{analyzer}'")
    # Attributes left out of the body are true on the server.
    flags = {flag: raw.get(flag) is not False for flag in _FLAGS}
    if not text:
        if raw.get("searchable"):
            raise invalid_definition(f"Field '{name}' of type {kind} cannot be searchable.")
        flags["searchable"] = False
    if kind.startswith("Collection("):
        if raw.get("sortable"):
            raise invalid_definition(f"Field '{name}' of type {kind} cannot be sortable.")
        flags["sortable"] = False
    return Field(
        name=name, type=kind, key=raw.get("key") is True, analyzer=analyzer, dimensions=0, **flags
    )


def _shown_field(field: Field, raw: Mapping[str, Any]) -> dict[str, Any]:
    shown = {k: v for k, v in raw.items() if v is not None}
    shown["key"] = field.key
    shown.update({flag: getattr(field, flag) for flag in _FLAGS})
    if field.searchable and not field.is_vector:
        shown["analyzer"] = field.analyzer
    return shown


def _vector_profiles(raw: Mapping[str, Any]) -> frozenset[str]:
    algorithms = set()
    for algorithm in raw.get("algorithms") or []:
        kind = algorithm.get("kind")
        if kind not in {"hnsw", "exhaustiveKnn"}:
            raise invalid_definition(f"Unknown algorithm kind '{kind}'.", "InvalidAlgorithm")
        parameters = algorithm.get(f"{kind}Parameters") or {}
        _check_hnsw(parameters)
        if parameters.get("metric", "cosine") != "cosine":
            raise not_implemented(f"the metric '{parameters['metric']}'")
        algorithms.add(algorithm.get("name"))
    if raw.get("vectorizers"):
        raise not_implemented("vectorizers")
    for profile in raw.get("profiles") or []:
        if profile.get("algorithm") not in algorithms:
            raise invalid_definition(f"The algorithm '{profile.get('algorithm')}' does not exist.")
    return frozenset(p.get("name") for p in raw.get("profiles") or [])


def _check_hnsw(parameters: Mapping[str, Any]) -> None:
    limits = {"m": (4, 10), "efConstruction": (100, 1000), "efSearch": (100, 1000)}
    for key, (low, high) in limits.items():
        if not low <= (parameters.get(key) or low) <= high:
            raise invalid_definition(f"'{key}' must be between {low} and {high}.")


def _similarity(raw: Any) -> tuple[float, float]:
    if raw is None:
        return 1.2, 0.75
    if not str(raw.get("@odata.type", "")).endswith("BM25Similarity"):
        raise invalid_definition("Only BM25Similarity is supported.", "InvalidSimilarity")
    k1, b = raw.get("k1"), raw.get("b")
    return (1.2 if k1 is None else float(k1)), (0.75 if b is None else float(b))
