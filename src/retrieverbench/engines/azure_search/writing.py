"""`docs/index`: a batch of actions, refused as a whole or answered item by item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from retrieverbench.engines.azure_search.definition import Definition, Field
from retrieverbench.engines.azure_search.replies import Refusal, Reply, as_json, invalid_action
from retrieverbench.engines.azure_search.store import Index, Options

MAX_TERM_BYTES = 32_766
_KEY = re.compile(r"[A-Za-z0-9\-=][A-Za-z0-9_\-=]{0,1023}")
_ACTIONS = frozenset({"upload", "merge", "mergeOrUpload", "delete"})
_RANGES = {"Edm.Int32": 31, "Edm.Int64": 63}
_INFINITE = frozenset({"NaN", "INF", "-INF"})


def write_documents(index: Index, body: Any, options: Options) -> Reply:
    """Check every action, then apply them in order. 207 if and only if an item failed."""
    actions = body.get("value") if isinstance(body, dict) else None
    limit = options.max_actions
    if not isinstance(actions, list) or not actions:
        message = (
            "The request is invalid. Details: No indexing actions found in the request. "
            f"Please include between 1 and {limit} indexing actions in your request."
        )
        raise Refusal(400, message, code="MissingRequiredParameter")
    if len(actions) > limit:
        raise Refusal(
            400,
            "The request is invalid. Details: There are too many indexing actions found in the "
            f"request: {len(actions)}. Please include between 1 and {limit} indexing actions.",
        )
    checked = [_check(i, action, index.definition) for i, action in enumerate(actions)]
    items = [_apply(index, action, values) for action, values in checked]
    index.refresh()  # indexing is paid by the writer, not by the next reader
    failed = any(not item["status"] for item in items)
    return as_json(207 if failed else 200, {"value": items})


def _check(position: int, raw: Any, definition: Definition) -> tuple[str, dict[str, Any]]:
    """The action's name and its fields; a malformed item fails the whole request."""
    if not isinstance(raw, dict):
        raise invalid_action(position, "An object was expected.")
    values = {name: value for name, value in raw.items() if not name.startswith("@")}
    action = raw.get("@search.action", "upload")
    if action not in _ACTIONS:
        raise invalid_action(position, f"Unknown indexing action '{action}'.", "InvalidAction")
    _check_key(position, values.get(definition.key))
    for name, value in values.items():
        field = definition.fields.get(name)
        if field is None:
            raise invalid_action(
                position,
                f"The property '{name}' does not exist on type 'search.documentFields'. "
                "Make sure to only use property names that are defined by the type.",
            )
        if action != "delete":
            _check_value(position, field, value)
    return action, values


def _check_key(position: int, key: Any) -> None:
    if not isinstance(key, str) or not key:
        raise invalid_action(position, "Document key cannot be missing or empty.\r\n")
    if _KEY.fullmatch(key) is None:
        raise invalid_action(
            position,
            f"Invalid document key: '{key}'. Keys can only contain letters, digits, underscore "
            "(_), dash (-), or equal sign (=). A key has at most 1024 of them and does not begin "
            "with an underscore.",
            "InvalidName",
        )


def _check_value(position: int, field: Field, value: Any) -> None:
    if field.is_vector:
        _check_vector(position, field, value)
        return
    values = value if field.is_collection else [value]
    if not isinstance(values, list) or (field.is_collection and None in values):
        raise _wrong_type(position, field, value)
    for item in values:
        if item is not None and not _is_of(field.element, item):
            raise _wrong_type(position, field, item)


def _check_vector(position: int, field: Field, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, list) or any(type(n) not in {int, float} for n in value):
        raise _wrong_type(position, field, value)
    if len(value) != field.dimensions:
        size = field.dimensions
        raise invalid_action(
            position,
            f"There's a mismatch in vector dimensions. The vector field '{field.name}', with "
            f"dimension of '{size}', expects a length of '{size}'. However, the provided vector "
            f"has a length of '{len(value)}'. Please ensure that the vector length matches the "
            "expected length of the vector field.",
            "OperationNotAllowed",
        )


def _wrong_type(position: int, field: Field, value: Any) -> Refusal:
    return invalid_action(
        position, f"Cannot convert the value '{value!r:.60}' of '{field.name}' to '{field.type}'."
    )


def _is_of(kind: str, value: Any) -> bool:
    match kind:
        case "Edm.String":
            return isinstance(value, str)
        case "Edm.Boolean":
            return isinstance(value, bool)
        case "Edm.Double":
            return type(value) in {int, float} or value in _INFINITE
        case "Edm.DateTimeOffset":
            return isinstance(value, str) and _is_moment(value)
    bits = _RANGES[kind]
    return type(value) is int and -(2**bits) <= value < 2**bits


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _apply(index: Index, action: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Do one action; the item's result as the service writes it."""
    key = values[index.definition.key]
    mutant = index.options.BROKEN_ON_PURPOSE
    if action == "delete":
        if mutant != "stale_delete":
            index.write(key, None)
        return _item(key, 200)
    present = index.stored(key)
    if action == "merge" and present is None:
        return _item(key, 404, "Document not found.")
    too_long = _too_long(index.definition, values)
    if too_long is not None:
        return _item(key, 400, too_long)
    merged = {**present, **values} if present is not None and action != "upload" else values
    stale = present if mutant == "stale_move" and merged is not values else None
    index.write(key, {name: _stored(index, name, value) for name, value in merged.items()}, stale)
    return _item(key, 201 if present is None else 200)


def _stored(index: Index, name: str, value: Any) -> Any:
    """Numbers of a Double are floats from here on, NaN and the infinities included."""
    if index.definition.fields[name].element != "Edm.Double" or value is None:
        return value
    return [float(n) for n in value] if isinstance(value, list) else float(value)


def _too_long(definition: Definition, values: Mapping[str, Any]) -> str | None:
    for name, value in values.items():
        field = definition.fields[name]
        if field.element != "Edm.String" or not (field.filterable or field.facetable):
            continue
        for text in value if isinstance(value, list) else [value or ""]:
            if len(text.encode("utf-8", "surrogatepass")) > MAX_TERM_BYTES:
                return (
                    f"Field '{name}' contains a term that is too large to process. The max "
                    f"length for UTF-8 encoded terms is {MAX_TERM_BYTES} bytes."
                )
    return None


def _item(key: str, status: int, message: str | None = None) -> dict[str, Any]:
    return {
        "key": key,
        "status": message is None,
        "errorMessage": message,
        "statusCode": status,
    }
