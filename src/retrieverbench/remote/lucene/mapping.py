"""Fields of an index as its mapping tells them, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping

from retrieverbench.remote.lucene.requests import Json
from retrieverbench.remote.numbers import INTEGER, LONG

WHOLE: Mapping[str, range] = {
    "long": LONG,
    "integer": INTEGER,
    "short": range(-(2**15), 2**15),
    "byte": range(-(2**7), 2**7),
    "unsigned_long": range(2**64),
}
"""Types of whole numbers, and which each of them holds."""


def field_at(mappings: Json, path: str, *, nested: bool = False) -> Json | None:
    """A field by its path, through objects and sub-fields; None where there is none.

    A field inside a nested object is none, unless `nested`: a plain condition does not reach it.
    """
    found: Json = {"properties": mappings.get("properties", {})}
    rest = path
    while rest:
        inside: Json = found.get("properties", {}) | found.get("fields", {})
        name = next((n for n in (rest, rest.partition(".")[0]) if n in inside), None)
        if name is None or (inside[name].get("type") == "nested" and not nested):
            return None
        found, rest = inside[name], rest[len(name) :].removeprefix(".")
    return found


def kind_at(mappings: Json, path: str, *, nested: bool = False) -> str | None:
    """The type of a field; None where there is none."""
    kind: str | None = (field_at(mappings, path, nested=nested) or {}).get("type")
    return kind


def vector_kind(field: Json) -> str | None:
    """How vectors are indexed (`hnsw`, `int8_hnsw`, `flat`...); None where it is not told."""
    kind: str | None = field.get("index_options", {}).get("type")
    return kind or field.get("method", {}).get("name")


def flat_names(mappings: Json, prefix: str = "") -> list[str]:
    """Every field's path."""
    found = []
    for part in ("properties", "fields"):
        for name, field in mappings.get(part, {}).items():
            path = f"{prefix}{name}"
            found += [path, *flat_names(field, f"{path}.")]
    return found
