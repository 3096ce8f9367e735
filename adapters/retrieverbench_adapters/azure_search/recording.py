"""Every request and answer, shown to a recorder before anything else sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline.policies import SansIOHTTPPolicy

from retrieverbench.adapter import Leg, Recorder

_SEARCH = re.compile(r"/indexes\('([^']+)'\)/docs/search\.post\.search")
_LOOKUP = re.compile(r"/indexes\('[^']+'\)/docs\('[^']+'\)")


class Recording(SansIOHTTPPolicy[Any, Any]):
    """A step of the client's pipeline (the client takes no other class), once per call.

    It stands before the step that adds the credential. `shared` is whether several tenants'
    chunks lie in one index; where they do not, the index itself is the condition.
    """

    def __init__(self, recorder: Recorder, *, shared: bool) -> None:
        self._recorder = recorder
        self._shared = shared

    def on_request(self, request: Any) -> None:
        """Show what is about to be sent."""
        http = request.http_request
        path, body = urlsplit(http.url).path, _value(http.content)
        legs = tuple(legs_of(path, body, shared=self._shared))
        self._recorder.request(f"{http.method} {path}", legs, body)

    def on_response(self, request: Any, response: Any) -> None:
        """Show what came back."""
        http = request.http_request
        answer = response.http_response
        shown = {
            "status": answer.status_code,
            "headers": dict(answer.headers),
            "body": _value(answer.text()),
        }
        self._recorder.response(f"{http.method} {urlsplit(http.url).path}", shown)


def legs_of(path: str, body: object, *, shared: bool) -> Iterator[Leg]:
    """The text list and every list of a vector field, each with the filter that governs it."""
    if _LOOKUP.fullmatch(path):
        yield Leg("lookup", None)
    found = _SEARCH.fullmatch(path)
    if found is None or not isinstance(body, Mapping):
        return

    def condition(own: object = None) -> object:
        text = body.get("filter") if own is None else own
        return text if shared else {"index": found[1], "filter": text}

    vectors = body.get("vectorQueries") or []
    if "search" in body or not vectors:
        yield Leg("search", condition())
    for number, query in enumerate(vectors):
        for field in str(query.get("fields")).split(","):
            # An override replaces the filter of the whole, the tenant's part included.
            yield Leg(f"vectorQueries[{number}].{field}", condition(query.get("filterOverride")))


def _value(content: object) -> object:
    """JSON as values; whatever else as text."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        return json.loads(text) if isinstance(text, str) and text else None
    except ValueError:
        return text
