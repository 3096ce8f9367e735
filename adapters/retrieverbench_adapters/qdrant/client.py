"""The official client, set up to measure with, and its exceptions in our words."""

from __future__ import annotations

import json
import math

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from retrieverbench.adapter import Settings
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)

_IDLE_SECONDS = 3.0
"""Less than the server keeps an idle connection (4.8 s): a query that meets a connection
just being closed by the server would be counted as an error of the server's."""
_LONGEST_TEXT = 500


def make_client(settings: Settings) -> AsyncQdrantClient:
    """A client with a connection for every search in flight, kept alive, without retries.

    Over aiohttp: httpx's own transport costs 2.4 times as much CPU per search, and the
    client would open a new connection per request to 127.0.0.1. Deadlines are the caller's
    (see `translated`); the client's own, whole seconds only, lies above them.
    """
    limits = httpx.Limits(
        max_connections=settings.concurrency,
        max_keepalive_connections=settings.concurrency,
        keepalive_expiry=_IDLE_SECONDS,
    )
    encrypted = settings.endpoint.startswith("https:")  # else no certificates are read
    key = settings.secrets.get("api_key")
    return AsyncQdrantClient(
        url=settings.endpoint,
        timeout=math.ceil(settings.timeout) + 1,
        check_compatibility=False,  # a thread and a warning; `describe` tells it instead
        headers={} if key is None else {"api-key": key.reveal()},
        limits=limits,
        transport=AiohttpTransport(verify=encrypted, limits=limits),
    )


def translated(error: Exception, settings: Settings) -> BackendError:
    """The error of `retrieverbench.errors` for one of the client's, with the server's text."""
    made = _translated(error, settings)
    for secret in settings.secrets.values():
        hidden = str(made).replace(secret.reveal(), "***") if secret.reveal() else str(made)
        made.args = (hidden,)
    return made


def _translated(error: Exception, settings: Settings) -> BackendError:
    where = f"qdrant at {settings.endpoint}"
    if isinstance(error, TimeoutError):
        return TimedOut(f"{where}: no answer within {settings.timeout:g} s")
    if isinstance(error, ResourceExhaustedResponse):
        return Throttled(f"{where}: {error.message}", retry_after=float(error.retry_after_s))
    if isinstance(error, UnexpectedResponse):
        return _of_status(error, where)
    if isinstance(error, ResponseHandlingException):
        return _of_connection(error.source, where, settings)
    return Throttled(f"{where}: {error}")  # a Retry-After that is no number


def _of_status(error: UnexpectedResponse, where: str) -> BackendError:
    status = error.status_code or 0
    text = f"{where}: {_server_text(error.content)} (status {status})"
    if status in {401, 403}:
        return Refused(text)
    if status == 408:
        return TimedOut(text)
    if status == 429:
        return Throttled(text)
    if status == 501:
        return Unsupported(text)
    if status >= 500:
        return Unavailable(text, code=Code.HTTP_5XX)
    return Rejected(text)


def _of_connection(source: Exception, where: str, settings: Settings) -> BackendError:
    """The transport tells a lost connection as ConnectTimeout; aiohttp's own word is below."""
    below = source.__cause__
    text = f"{where}: {_one_line(str(source) or type(source).__name__)}"
    if isinstance(source, ValueError):
        return AdapterError(f"{where}: an answer that cannot be read: {_one_line(str(source))}")
    if isinstance(below, aiohttp.ClientConnectorError):
        return Unavailable(f"{text}; is it running?", code=Code.CONNECT)
    if isinstance(below, aiohttp.ConnectionTimeoutError):
        return Unavailable(f"{text}; concurrency {settings.concurrency}", code=Code.POOL_TIMEOUT)
    if isinstance(below, aiohttp.ServerTimeoutError):
        return TimedOut(text)
    return Unavailable(text, code=Code.RESET)


def _server_text(content: bytes) -> str:
    try:
        return _one_line(str(json.loads(content)["status"]["error"]))
    except (ValueError, KeyError, TypeError):
        return _one_line(content.decode("utf-8", "replace")) or "(no text)"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_TEXT]
