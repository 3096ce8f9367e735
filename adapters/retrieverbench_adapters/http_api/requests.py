"""One question as a request: placeholders become values, never parts of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from retrieverbench.adapter import Secret
from retrieverbench.errors import TenantError
from retrieverbench.model import Query, TenantId
from retrieverbench_adapters.http_api.options import PLACEHOLDER, Connect

_IN_HEADER = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
"""What comes out of a header as it went in: blanks at its ends do not."""
_NO_SEGMENT = frozenset({"", ".", ".."})
"""What a URL's path does not keep as a segment of its own."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `names` is the tenant that it names, None where it names nobody."""

    method: str
    path: str
    headers: Mapping[str, str]
    shown_headers: Mapping[str, str]
    body: object
    names: str | None


def fill(query: Query, connect: Connect, credential: Secret | None, *, is_named: bool) -> Request:
    """`is_named`: whether the request, or the credential, says who asks.

    Raises TenantError for a tenant that no request can name unchanged.
    """
    tenant = checked(query.tenant)
    values: dict[str, object] = {
        "query": query.text,
        "tenant": tenant,
        "k": query.k,
        "vector": None if query.vector is None else list(query.vector),
        "mode": query.mode,
    }
    headers = {"accept": "application/json"}
    if connect.body:
        headers["content-type"] = "application/json"
    shown = dict(headers)
    for name, value in ((name.lower(), value) for name, value in connect.headers.items()):
        if "{credential}" in value:
            if credential is not None:
                headers[name] = value.replace("{credential}", credential.reveal())
                shown[name] = value.replace("{credential}", "***")
            continue
        headers[name] = shown[name] = _in_header(tenant) if value == "{tenant}" else value
    return Request(
        connect.method,
        _path(connect.path, values, tenant),
        headers,
        shown,
        _filled(connect.body, values) if connect.body else None,
        tenant if is_named else None,
    )


def checked(tenant: TenantId) -> str:
    """Below the guard a tenant may be anything; only a text can be sent."""
    value: object = tenant.value
    if type(value) is not str:
        raise TenantError(f"http_api: tenant {value!r:.80} is {type(value).__name__}, not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TenantError(f"http_api: tenant {value!r:.80} is no Unicode text") from None
    return value


def _in_header(tenant: str) -> str:
    if _IN_HEADER.fullmatch(tenant) is None:
        raise TenantError(f"http_api: tenant {tenant!r:.80} cannot stand in a header unchanged")
    return tenant


def _path(template: str, values: Mapping[str, object], tenant: str) -> str:
    segments, question, parameters = template.partition("?")
    if "{tenant}" in segments and tenant in _NO_SEGMENT:
        raise TenantError(f"http_api: tenant {tenant!r} cannot stand in a path unchanged")
    # Nothing is left as it is, so that a slash or a question mark ends no part.
    encoded = {name: quote(str(value), safe="") for name, value in values.items()}
    filled = [
        PLACEHOLDER.sub(lambda found: encoded[found[1]], part) for part in (segments, parameters)
    ]
    return f"{filled[0]}{question}{filled[1]}"


def _filled(template: object, values: Mapping[str, object]) -> object:
    """The template with every placeholder replaced by its value; keys stay as they are."""
    if isinstance(template, str):
        found = PLACEHOLDER.fullmatch(template)
        return template if found is None else values[found[1]]
    if isinstance(template, Mapping):
        return {key: _filled(part, values) for key, part in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(part, values) for part in template]
    return template
