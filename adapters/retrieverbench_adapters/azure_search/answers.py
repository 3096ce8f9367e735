"""Answers: hits, the failures of items, and errors, each as ours."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import aiohttp
import anyio
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.search.documents.models import IndexingResult

from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    Refused,
    TimedOut,
    Unavailable,
)
from retrieverbench.model import Fidelity, Hit, TenantId
from retrieverbench.remote import error_for, hide_secrets, tls_remedy
from retrieverbench_adapters.azure_search.fields import Fields, text_in

_FIDELITY_HEADER = "x-retrieverbench-fidelity"
_BROKEN_HEADER = "x-retrieverbench-broken-on-purpose"
_FIDELITIES: tuple[Fidelity, ...] = ("server", "engine", "stand-in")


@dataclass(slots=True)
class Answer:
    """Sees an answer before the client does: raises errors, keeps what the client drops.

    The client splits a batch answered by 413 wrongly (12.0.0) and logs a traceback for an
    error without body; raising here forestalls both. `tolerated` is a status that the
    client may handle itself.
    """

    secrets: tuple[str, ...] = field(repr=False)
    tolerated: int = 0
    status: int = 0
    server_ms: float | None = None
    fidelity: Fidelity | None = None
    broken: str | None = None

    def __call__(self, response: Any) -> None:
        """Look at a response of the client's pipeline; a failure is raised as ours."""
        http = response.http_response
        self.status, headers = http.status_code, http.headers
        shown = headers.get(_FIDELITY_HEADER)
        self.fidelity = next((word for word in _FIDELITIES if word == shown), None)
        self.broken = headers.get(_BROKEN_HEADER)
        self.server_ms = _number(headers.get("elapsed-time"))
        if self.status >= 400 and self.status != self.tolerated:
            text = error_text(self.status, http.text())
            text = hide_secrets(text, self.secrets)
            raise http_error(self.status, text, _number(headers.get("retry-after")))


_UNREADABLE = (AzureError, KeyError, TypeError, ValueError, AttributeError, zlib.error)


@contextmanager
def calling(doing: str, timeout: float) -> Iterator[None]:
    """One deadline in seconds around the client, and its exceptions as ours."""
    place = f"azure_search: {doing}"
    try:
        with anyio.fail_after(timeout):
            yield
    except (TimeoutError, ServiceRequestTimeoutError, ServiceResponseTimeoutError) as error:
        raise TimedOut(f"{place}: no answer in {timeout:g} s") from error
    except (ServiceRequestError, ServiceResponseError) as error:
        refused = isinstance(error.inner_exception, aiohttp.ClientConnectorError)
        code = Code.CONNECT if refused else Code.RESET
        remedy = tls_remedy(error.message, "options.connect.ca_file")
        raise Unavailable(f"{place}: {error.message}", code=code, remedy=remedy) from error
    except ClientAuthenticationError as error:
        raise Refused(f"{place}: no token: {' '.join(error.message.split())[:300]}") from error
    except _UNREADABLE as error:
        raise AdapterError(f"{place}: unexpected answer: {error!r:.300}") from error


def http_error(status: int, text: str, retry_after: float | None) -> BackendError:
    """The error for a status; `text` is the service's own."""
    return error_for(
        status, f"azure_search: {text}", retry_after=retry_after, throttling=(429, 503)
    )


_WITHOUT_TEXT = {403: "this key or role may not do that, or is none of this service"}


def error_text(status: int, body: str) -> str:
    """The service's message on one line, or what is known when there is none."""
    try:
        error = json.loads(body)["error"]
        message = f"{error.get('code') or ''} {error['message']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        message = body or _WITHOUT_TEXT.get(status, "the service sent no text")
    return f"status {status}: {' '.join(message.split())[:1000]}"


def check_items(batch: Sequence[Mapping[str, Any]], items: Sequence[IndexingResult]) -> None:
    """Raise what the client only reports: items that failed, or are not mentioned at all."""
    failed = [item for item in items if not item.succeeded]
    if failed:
        uids = {item["key"]: item["uid"] for item in batch}
        first = failed[0]
        text = (
            f"status {first.status_code}: chunk {uids.get(first.key)!r}: {first.error_message}; "
            f"{len(failed)} of {len(batch)} chunks were refused"
        )
        raise http_error(first.status_code, text, None)
    if {item.key for item in items} != {item["key"] for item in batch}:
        raise AdapterError("azure_search: put: the answer does not name every chunk sent")


def read_hit(raw: Mapping[str, Any], fields: Fields, *, want_text: bool) -> Hit:
    """One hit, checked; its text is in `content` where a chunk of ours has no title."""
    uid, score, tenant = raw[fields.id], raw["@search.score"], raw[fields.tenant]
    if not isinstance(uid, str) or not isinstance(score, float) or not math.isfinite(score):
        shown = f"{fields.id} {uid!r:.80} with score {score!r}"
        remedy = "" if isinstance(uid, str) or fields.own else "name a field of text as attach.id"
        raise AdapterError(f"azure_search: search: a hit has {shown}", remedy=remedy)
    text = None
    if want_text and fields.own:
        text = raw["content"] if raw["text"] is None else raw["text"]
    elif want_text:
        text = text_in(raw, fields.text)
    return Hit(uid, score, None if tenant is None else str(tenant), text)


def only_asked_for(
    rows: Sequence[dict[str, Any]], tenant: TenantId, uids: Sequence[str]
) -> Sequence[dict[str, Any]]:
    """Nothing is changed by key that was not asked for, whatever the service let through."""
    if any(row["tenant"] != tenant.value or row["uid"] not in uids for row in rows):
        raise AdapterError("azure_search: a search by id found other documents; nothing is changed")
    return rows


def plain(model: Any) -> dict[str, Any]:
    """A model of the client as the JSON that the service sent."""
    return cast("dict[str, Any]", model.as_dict())


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
