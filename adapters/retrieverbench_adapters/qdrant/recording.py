"""Every request and answer, shown to a recorder before anything else sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
from qdrant_client import models

from retrieverbench.adapter import Leg, Recorder

_FINDS = re.compile(
    r"/collections/[^/]+/(points(/query(/batch)?|/scroll|/count|/delete|/payload)?|facet)$"
)
"""Posts that find points by a filter or by ids; what is put finds none."""


def http_hooks(recorder: Recorder) -> dict[str, list[Callable[..., Awaitable[None]]]]:
    """Hooks of the HTTP client; headers of requests, which hold the key, are not shown."""

    async def before(request: httpx.Request) -> None:
        body = _value(await request.aread())
        recorder.request(_operation(request), legs_of(request.method, request.url.path, body), body)

    async def after(response: httpx.Response) -> None:
        shown = {
            "status": response.status_code,
            "headers": dict(response.headers),
            "body": _value(await response.aread()),
        }
        recorder.response(_operation(response.request), shown)

    return {"request": [before], "response": [after]}


def legs_of(method: str, path: str, body: object) -> tuple[Leg, ...]:
    """The root of a request that finds points, and every prefetch at any depth."""
    if method != "POST" or _FINDS.search(path) is None or not isinstance(body, Mapping):
        return ()
    searches = body.get("searches")
    if isinstance(searches, list):
        return tuple(leg for n, one in enumerate(searches) for leg in _legs(f"searches[{n}]", one))
    return tuple(_legs("root", body))


def legs_of_request(request: models.QueryRequest) -> tuple[Leg, ...]:
    """The same of a search that was read back from gRPC, where no clause is an empty one."""
    return tuple(
        Leg(leg.path, _without_empty(leg.condition))
        for leg in _legs("root", json.loads(request.model_dump_json(exclude_none=True)))
    )


def _legs(path: str, body: Mapping[str, Any]) -> Iterator[Leg]:
    yield Leg(path, body.get("filter"))
    inner = body.get("prefetch") or []
    for number, one in enumerate(inner if isinstance(inner, list) else [inner]):
        yield from _legs(f"{path}.prefetch[{number}]", one)


def _without_empty(condition: Any) -> Any:
    if isinstance(condition, list):
        return [_without_empty(one) for one in condition]
    if not isinstance(condition, Mapping):
        return condition
    kept = {key: _without_empty(value) for key, value in condition.items()}
    return {key: value for key, value in kept.items() if key not in _CLAUSES or value != []}


_CLAUSES = frozenset({"must", "should", "must_not"})


def _operation(request: httpx.Request) -> str:
    return f"{request.method} {request.url.path}"


def _value(content: bytes) -> object:
    """JSON as values; whatever else as text."""
    try:
        return json.loads(content) if content else None
    except ValueError:
        return content.decode("utf-8", "replace")
