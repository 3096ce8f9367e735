"""Request bodies as the server reads them: what it refuses, with its status and its words.

Pure functions from JSON values to plain values; no engine here. The texts are those of
Qdrant 1.19.0. A key that Qdrant does not know is ignored outside `filter`, as the server
does it, unless `strict` is on; a key that Qdrant knows but this front does not translate is
501 with its path, never ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

MAX_BODY_BYTES = 32 * 1024 * 1024
_U32, _U64 = 2**32, 2**64
_NUMBERS = frozenset({float, int})
_FORMAT = "Format error in JSON body: "
_VALIDATION = "Validation error in JSON body: "


class Refusal(Exception):
    """An answer other than 200: its status and the server's text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector of a body, checked."""

    indices: list[int]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Document:
    """A text of which the server makes the sparse vector itself, by its own BM25 model."""

    text: str
    options: Mapping[str, Any]


Vector = list[float] | Sparse | Document


@dataclass(frozen=True, slots=True)
class PointBody:
    """A point of a body, checked. `vectors` is keyed by name, "" for the unnamed one."""

    id: int | str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, Any]


def malformed(text: str) -> Refusal:
    """400, as for JSON that does not fit the server's types."""
    return Refusal(400, _FORMAT + text)


def invalid(path: str, text: str) -> Refusal:
    """422, as for values outside the server's ranges."""
    return Refusal(422, f"{_VALIDATION}[{path}: {text}]")


def wrong(text: str) -> Refusal:
    """400, as for requests that the collection cannot fulfil."""
    return Refusal(400, f"Wrong input: {text}")


def untranslated(path: str) -> Refusal:
    """501: Qdrant may be able to do this, this front is not."""
    return Refusal(501, f"not translated by this front of qdrant-edge-py: {path}")


def parse_json(raw: bytes) -> Any:
    """The JSON value of a request body; the parser's messages are those of the server's."""
    from pydantic_core import from_json

    if len(raw) > MAX_BODY_BYTES:
        raise Refusal(
            400,
            f"JSON payload ({len(raw)} bytes) is larger than allowed "
            f"(limit: {MAX_BODY_BYTES} bytes).",
        )
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise malformed(str(error)) from None


def take(
    body: Any, what: str, translated: Sequence[str], known: Sequence[str] = (), *, strict: bool
) -> dict[str, Any]:
    """The object's entries that are not null, its keys checked against a closed set."""
    if not isinstance(body, dict):
        raise malformed(f"invalid type: {_type_name(body)}, expected struct {what}")
    present = {key: value for key, value in body.items() if value is not None}
    for key in present:
        if key in known:
            raise untranslated(f"{what}.{key}")
        if key not in translated and strict:
            expected = ", ".join(f"`{name}`" for name in translated)
            raise malformed(f"unknown field `{key}` in {what}, expected one of {expected}")
    return {key: value for key, value in present.items() if key in translated}


def whole_number(value: Any, path: str, least: int) -> int:
    """An unsigned number of at least `least`: 400 for another type, 422 below."""
    if type(value) is not int or value < 0:
        raise malformed(f"invalid value: {value!r} for {path}, expected usize")
    if value < least:
        raise invalid(path, f"value {value} invalid, must be {least} or larger")
    return value


def point_id(value: Any) -> int | str:
    """An unsigned 64-bit number, or a UUID in any of its spellings, as dashed lower case."""
    if type(value) is int and 0 <= value < _U64:
        return value
    if type(value) is str:
        try:
            return str(UUID(value))
        except ValueError:
            pass
    shown = value if isinstance(value, str) else str(value).lower()
    raise malformed(
        f"value {shown} is not a valid point ID, valid values are either an unsigned "
        "integer or a UUID"
    )


def dense(value: Any, path: str) -> list[float]:
    """A list of finite numbers, not empty."""
    if not isinstance(value, list) or not _NUMBERS.issuperset(map(type, value)):
        raise malformed("data did not match any variant of untagged enum VectorStruct")
    if not value:
        raise invalid(f"{path}.vector", "dense vector must not be empty")
    if not all(map(math.isfinite, value)):
        raise malformed("number out of range")
    return value


def sparse(value: Mapping[str, Any], path: str) -> Sparse:
    """Parallel lists of distinct 32-bit indices and numbers."""
    indices, values = value.get("indices"), value.get("values")
    if (
        not isinstance(indices, list)
        or not isinstance(values, list)
        or any(type(index) is not int or not 0 <= index < _U32 for index in indices)
        or not _NUMBERS.issuperset(map(type, values))
    ):
        raise malformed("data did not match any variant of untagged enum VectorStruct")
    if len(indices) != len(values):
        raise invalid(f"{path}.?.indices", "must be the same length as indices [{}]")
    if len(set(indices)) != len(indices):
        raise invalid(f"{path}.?.indices", "Validation error: must be unique [{}]")
    return Sparse(indices, [float(number) for number in values])


def document(value: Mapping[str, Any], path: str) -> Document:
    """A text for the server's own BM25; its answer for other models is that it has none."""
    if type(value["text"]) is not str or type(value.get("model")) is not str:
        raise malformed("data did not match any variant of untagged enum VectorStruct")
    if value["model"].lower() != _BM25:
        raise Refusal(
            500,
            "Service internal error: InferenceService URL not configured - "
            "please provide valid address in config",
        )
    options = value.get("options") or {}
    if not isinstance(options, dict) or options.keys() - _BM25_OPTIONS:
        raise untranslated(f"{path}.options of {_BM25}")
    return Document(value["text"], options)


_BM25 = "qdrant/bm25"
_BM25_OPTIONS = frozenset({"k", "b", "avg_len", "language"})


def vectors(value: Any, path: str) -> dict[str, Vector]:
    """All vectors of a point: a list, one sparse object, or an object of either by name."""
    if isinstance(value, list):
        return {"": dense(value, path)}
    if not isinstance(value, dict):
        raise malformed("data did not match any variant of untagged enum VectorStruct")
    if {"text", "model"} <= value.keys():
        raise untranslated(f"{path}: embedding by the server of the unnamed vector")
    return {name: _named_vector(vector, path) for name, vector in value.items()}


def _named_vector(value: Any, path: str) -> Vector:
    if not isinstance(value, dict):
        return dense(value, path)
    return document(value, path) if "text" in value else sparse(value, path)


def points(body: Any, *, strict: bool, with_payload: bool = True) -> list[PointBody]:
    """The points of an upsert, or of a vector update if `with_payload` is off."""
    if isinstance(body, dict) and "batch" in body and with_payload:
        fields = take(body, "PointsBatch", ("batch", "shard_key"), _UPSERT_KNOWN, strict=strict)
        rows: Any = _batch_rows(fields["batch"], strict=strict)
    elif isinstance(body, dict) and "points" in body:
        fields = take(body, "PointsList", ("points", "shard_key"), _UPSERT_KNOWN, strict=strict)
        rows = fields.get("points")
    else:
        raise malformed("Invalid PointInsertOperations format")
    if not isinstance(rows, list):
        raise malformed(f"invalid type: {_type_name(rows)}, expected a sequence")
    if not rows:
        raise Refusal(400, "Bad request: Empty update request")
    keys = ("id", "vector", "payload") if with_payload else ("id", "vector")
    return [_point(row, f"points[{n}]", keys, strict=strict) for n, row in enumerate(rows)]


_UPSERT_KNOWN = ("update_filter", "update_mode")


def _point(row: Any, path: str, keys: Sequence[str], *, strict: bool) -> PointBody:
    fields = take(row, "PointStruct", keys, strict=strict)
    for key in ("id", "vector"):
        if key not in row:
            raise malformed(f"missing field `{key}`")
    payload = fields.get("payload", {})
    if not isinstance(payload, dict):
        raise malformed(f"invalid type: {_type_name(payload)}, expected a map")
    return PointBody(
        point_id(fields.get("id")), vectors(fields.get("vector"), f"{path}.vector"), payload
    )


def _batch_rows(batch: Any, *, strict: bool) -> list[dict[str, Any]]:
    fields = take(batch, "Batch", ("ids", "vectors", "payloads"), strict=strict)
    ids, columns = fields.get("ids"), fields.get("vectors")
    payloads = fields.get("payloads")
    if not isinstance(ids, list) or not isinstance(columns, (list, dict)):
        raise malformed("Invalid PointInsertOperations format")
    named = columns if isinstance(columns, dict) else {"": columns}
    for kind, column in [("vectors", c) for c in named.values()] + [("payloads", payloads)]:
        if column is not None and len(column) != len(ids):
            raise Refusal(
                422,
                f"{_VALIDATION}[batch: number of ids and {kind} must be equal "
                f"({len(ids)} != {len(column)})]",
            )
    rows: list[dict[str, Any]] = []
    for n, identity in enumerate(ids):
        vector = (
            {name: column[n] for name, column in columns.items()}
            if isinstance(columns, dict)
            else columns[n]
        )
        payload = None if payloads is None else payloads[n]
        rows.append({"id": identity, "vector": vector, "payload": payload})
    return rows


def _type_name(value: Any) -> str:
    names = {dict: "map", list: "sequence", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
