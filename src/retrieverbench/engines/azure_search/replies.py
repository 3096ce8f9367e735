"""What comes in, what goes out, and how the stand-in says no."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request. `path` is percent-decoded, header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """An answer with an error: status, and the service's shape of code, message, details."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        details: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details

    def reply(self) -> Reply:
        """The error as the service writes it."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details is not None:
            error["details"] = [{"code": self.details[0], "message": self.details[1]}]
        return as_json(self.status, {"error": error}, {"Content-Language": "en"})


class Silent(Exception):
    """An answer with an error status and an empty body, as for a wrong key."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


def as_json(status: int, value: object, headers: Mapping[str, str] | None = None) -> Reply:
    """A JSON answer. Characters stay as they are; NaN cannot occur."""
    content = {"Content-Type": "application/json; odata.metadata=none; charset=utf-8"}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate cannot be encoded; JSON's own escape can name it.
    return Reply(status, text.encode("utf-8", "backslashreplace"), {**content, **(headers or {})})


def not_implemented(feature: str) -> Refusal:
    """501: the service may do this, the stand-in does not guess at it."""
    return Refusal(
        501,
        f"The Azure AI Search stand-in does not implement {feature}; use the service itself.",
        code="NotImplementedByStandIn",
    )


def invalid_definition(message: str, detail: str = "InvalidField") -> Refusal:
    """400 for an index definition."""
    text = f"The request is invalid. Details: definition : {message}"
    return Refusal(400, text, code="InvalidRequestParameter", details=(detail, message))


def invalid_action(position: int, message: str, code: str = "") -> Refusal:
    """400 for a whole indexing request because of one malformed item."""
    text = f"The request is invalid. Details: actions : {position}: {message}"
    details = (code, message) if code else None
    return Refusal(400, text, code=code, details=details)


def invalid_expression(message: str, parameter: str) -> Refusal:
    """400 for a filter or another OData expression of a search."""
    return Refusal(400, f"Invalid expression: {message}\r\nParameter name: {parameter}")
