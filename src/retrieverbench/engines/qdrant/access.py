"""What stands before the routes: the keys, and the path under which the front lies."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from retrieverbench.engines.qdrant.answers import refused
from retrieverbench.engines.qdrant.bodies import Refusal

OPEN = frozenset({"/", "/healthz", "/livez", "/readyz"})
"""Paths that answer without a key."""

_READING_POSTS = ("/points", "/query", "/batch", "/count", "/scroll", "/facet")


@dataclass(frozen=True, slots=True)
class Keys:
    """The key that may do everything, and the one that may read only."""

    manage: str
    read: str


class Guard:
    """Asks for a key on every path but the open ones, unknown paths included."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 in plain text or 403 in JSON, as the server does, or pass it on."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            return await self._app(scope, receive, send)
        given = _given(dict(scope["headers"]))
        if given is None:
            text = "Must provide an API key or an Authorization bearer token"
            return await Response(text, 401)(scope, receive, send)
        if hmac.compare_digest(given, self._keys.manage.encode()):
            return await self._app(scope, receive, send)
        if not hmac.compare_digest(given, self._keys.read.encode()):
            return await Response("Invalid API key or JWT", 401)(scope, receive, send)
        if not _reads(scope["method"], scope["path"]):
            answer = refused(Refusal(403, "Forbidden: Global manage access is required"))
            return await answer(scope, receive, send)
        return await self._app(scope, receive, send)


class Prefixed:
    """An application that lies under a path, as behind a proxy; 404 for all others."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what lies under the prefix, without it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        before, found, inner = scope["path"].partition(self._prefix)
        if before or not found or (inner and not inner.startswith("/")):
            return await Response(status_code=404)(scope, receive, send)
        return await self._app({**scope, "path": inner or "/"}, receive, send)


def _given(headers: dict[bytes, bytes]) -> bytes | None:
    key = headers.get(b"api-key")
    bearer = headers.get(b"authorization", b"")
    if key is None and bearer.startswith(b"Bearer "):
        return bearer.removeprefix(b"Bearer ")
    return key


def _reads(method: str, path: str) -> bool:
    """Whether a request only reads; of the writes, none ends as a reading POST does."""
    if method == "POST":
        return path.endswith(_READING_POSTS) and not path.endswith("/points/batch")
    return method in {"GET", "HEAD", "OPTIONS"}
