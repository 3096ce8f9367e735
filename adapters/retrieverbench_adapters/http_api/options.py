"""How a request is made and an answer read, as the suite says; checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from annotated_types import Ge, Le

from retrieverbench.adapter import Attached, Settings
from retrieverbench.options import nearest

PLACEHOLDER = re.compile(r"\{(\w*)\}")
_IN_BODY = frozenset({"query", "tenant", "k", "vector", "mode"})
_ALLOWED: Mapping[str, frozenset[str]] = {
    "body": _IN_BODY,
    "path": _IN_BODY - {"vector"},
    "headers": frozenset({"tenant", "credential"}),
}
_URL = re.compile(r"(?:[!$&-~]|%[0-9A-Fa-f]{2})+")
"""Visible ASCII; no quotation mark, no fragment, and no percent sign that encodes nothing."""
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
Status = Annotated[int, Ge(400), Le(599)]


@dataclass(frozen=True, slots=True)
class Connect:
    """The request. `path` is what follows the endpoint, a query string included.

    Placeholders are `{query}`, `{tenant}`, `{k}`, `{vector}` and `{mode}`. In `body` each is a
    whole value and becomes JSON of its own type; in `path` they are percent-encoded. In
    `headers` a value may be `{tenant}`, or hold `{credential}`, the asking tenant's secret; such
    a header is left out where there is none.
    """

    method: Literal["GET", "POST", "PUT"] = "POST"
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Nothing is made."""


@dataclass(frozen=True, slots=True)
class Search:
    """The answer. `hits` is where the list stands in it; `score` and `owner` stand in a hit.

    Places are JSON pointers (`/results/0/id`) or names joined by dots (`doc.id`); `.` is the
    value itself. An empty `score` takes 1 / rank, an empty `owner` shows none. `refused` are the
    statuses by which the service says that this tenant may not ask.
    """

    hits: str = "hits"
    score: str = "score"
    owner: str = ""
    refused: tuple[Status, ...] = (401, 403)


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def faults(settings: Settings, options: Options) -> Iterator[str]:
    """What is wrong with the description, one line each."""
    connect, attached = options.connect, settings.attached
    yield from _address_faults(settings.endpoint)
    yield from _request_faults(connect)
    yield from _form_faults(connect)
    yield from _place_faults(options.search, attached)
    yield from _secret_faults(settings, connect)
    if attached is None:
        yield "http_api: it only reads; describe the service in [targets.attach]"
    elif not _tells_tenants_apart(connect, attached):
        yield (
            f"http_api: attach.tenant: {attached.tenant!r:.80} is no part of the request that "
            "tells tenants apart; name where in the body {tenant} stands, a header with {tenant} "
            "or {credential}, or 'path'"
        )


def _address_faults(endpoint: str) -> Iterator[str]:
    if not endpoint.startswith(("http://", "https://")):
        yield f"http_api: endpoint {endpoint!r:.80} is no http or https address"
        return
    try:
        parts = urlsplit(endpoint)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        yield f"http_api: endpoint {endpoint!r:.80} names no host, or no port of one"
    elif parts.query or parts.fragment:
        yield f"http_api: endpoint {endpoint!r:.80}: what follows ? or # belongs in connect.path"


def _place_faults(search: Search, attached: Attached | None) -> Iterator[str]:
    """Places at which nothing can stand in any answer."""
    named = [("search.hits", search.hits)]
    named += [(f"search.{key}", getattr(search, key)) for key in ("score", "owner")]
    if attached is not None:
        named += [("attach.id", attached.id), *(("attach.text", place) for place in attached.text)]
    for key, place in named:
        if not place and key not in {"search.score", "search.owner"}:
            yield f"http_api: {key}: empty; name where it stands, or . for the value itself"
        elif place and not is_place(place):
            yield (
                f"http_api: {key}: {place!r:.80} is no place; write names joined by single dots "
                "(doc.id) or a JSON pointer (/doc/id, in which ~0 is ~ and ~1 is /)"
            )


def is_place(place: str) -> bool:
    """Whether a text can say where something stands: a JSON pointer, or names joined by dots."""
    if place.startswith("/"):
        return re.search(r"~(?![01])", place) is None
    return place == "." or all(place.split("."))


def names_tenant(connect: Connect) -> bool:
    """Whether every request says who asks, beside the credential."""
    return any(name == "tenant" for _place, name in _placeholders(connect))


def _request_faults(connect: Connect) -> Iterator[str]:
    used = {name for _place, name in _placeholders(connect)}
    for place, name in _placeholders(connect):
        yield from _misplaced(place, name)
    for place, value in _texts(connect.body, "body"):
        if PLACEHOLDER.search(value) and not PLACEHOLDER.fullmatch(value):
            yield f"http_api: connect.{place}: {value!r:.80} holds more; {_ALONE}"
    for name, value in connect.headers.items():
        if "{tenant}" in value and value != "{tenant}":
            yield f"http_api: connect.headers.{name}: {value!r:.80} holds more; {_ALONE}"
    for needed in ({"k"}, {"query", "vector"}):
        if not needed & used:
            names = " or ".join(f"{{{name}}}" for name in sorted(needed))
            yield f"http_api: connect: the request nowhere says {names}; put it into path or body"
    if "{query}" in connect.path.partition("?")[0]:
        yield "http_api: connect.path: {query} stands before the ?; an empty one is another route"
    if connect.method == "GET" and connect.body:
        yield "http_api: connect.body: a GET has none; put the placeholders into path"


def _form_faults(connect: Connect) -> Iterator[str]:
    """What cannot be sent, whatever stands in the place of the placeholders."""
    if connect.path and (connect.path[0] not in "/?" or not _URL.fullmatch(connect.path)):
        yield (
            f"http_api: connect.path: {connect.path!r:.80} cannot follow an address; begin with / "
            "or ?, and percent-encode what no URL holds"
        )
    for name, value in connect.headers.items():
        if not _NAME.fullmatch(name) or not value.isprintable():
            yield f"http_api: connect.headers: {f'{name}: {value}'!r:.80} is no line of a header"


_ALONE = "let a placeholder stand alone: what is pasted into a text can break out of it"


def _misplaced(place: str, name: str) -> Iterator[str]:
    known = _ALLOWED[place.partition(".")[0]]
    if name not in known:
        yield f"http_api: connect.{place}: {{{name}}} cannot stand here; {nearest(name, known)}"


def _placeholders(connect: Connect) -> Iterator[tuple[str, str]]:
    """Every placeholder, with the key that it stands under."""
    for place, text in (
        ("path", connect.path),
        *((f"headers.{name}", value) for name, value in connect.headers.items()),
        *_texts(connect.body, "body"),
    ):
        yield from ((place, name) for name in PLACEHOLDER.findall(text))


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Every text of a body, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _texts(part, f"{place}.{number}")


def _secret_faults(settings: Settings, connect: Connect) -> Iterator[str]:
    is_used = any(name == "credential" for _place, name in _placeholders(connect))
    for name in settings.secrets:
        if name != "default" and not name.startswith("tenant:"):
            yield f"http_api: secrets: {name!r:.80} is unknown; write default or tenant:<its name>"
    if settings.secrets and not is_used:
        yield "http_api: secrets: no header holds {credential}, so that none of them is sent"
    if is_used and not settings.secrets:
        yield "http_api: connect.headers: {credential} is used, and no secret is named"


def _tells_tenants_apart(connect: Connect, attached: Attached) -> bool:
    named = attached.tenant
    if named == "path":
        return "{tenant}" in connect.path
    values = {name.lower(): value for name, value in connect.headers.items()}
    header = values.get(named.lower(), "")
    in_body = dict(_texts(connect.body, "body")).get(f"body.{named}")
    return "{tenant}" in header or "{credential}" in header or in_body == "{tenant}"
