"""The client's exceptions in our words, with the server's text and no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping

import aiohttp
from grpc import StatusCode
from grpc.aio import AioRpcError
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
from retrieverbench.remote import error_for, hide_secrets, one_line


def translated(error: Exception, settings: Settings) -> BackendError:
    """The error of `retrieverbench.errors` for one of the client's, with the server's text."""
    made = _translated(error, settings)
    made.args = (hide_secrets(made.reason, (s.reveal() for s in settings.secrets.values())),)
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
    if isinstance(error, AioRpcError):
        return _of_grpc(error, where)
    return Throttled(f"{where}: {error}")  # a Retry-After that is no number


def _of_status(error: UnexpectedResponse, where: str) -> BackendError:
    status = error.status_code or 0
    text = f"{where}: {_server_text(error.content)} (status {status})"
    if status == 404 and not error.content.strip():  # Qdrant says what it lacks, but for routes
        return Rejected(text, remedy=_NO_ROUTE)
    return error_for(status, text)


_NO_ROUTE = (
    "nothing of Qdrant answers at this path: check the path of the endpoint, or leave it out"
)


_TRUST = (
    "name the host that the certificate is for, and a file of its authority in environment "
    "variable SSL_CERT_FILE unless the system trusts it"
)
_BY_GRPC_STATUS: Mapping[StatusCode, type[BackendError]] = {
    StatusCode.DEADLINE_EXCEEDED: TimedOut,
    StatusCode.INVALID_ARGUMENT: Rejected,
    StatusCode.NOT_FOUND: Rejected,
    StatusCode.PERMISSION_DENIED: Refused,
    StatusCode.RESOURCE_EXHAUSTED: Throttled,
    StatusCode.UNAUTHENTICATED: Refused,
    StatusCode.UNIMPLEMENTED: Unsupported,
}


def _of_grpc(error: AioRpcError, where: str) -> BackendError:
    """A connection that cannot be made and one that is lost are both UNAVAILABLE."""
    status = error.code()
    text = f"{where}: {one_line(error.details() or '')} (gRPC status {status.name})"
    if status == StatusCode.UNAVAILABLE:
        remedy = "check that it runs at this address, and that gRPC is on"
        return Unavailable(text, code=Code.CONNECT, remedy=remedy)
    if status in _BY_GRPC_STATUS:
        return _BY_GRPC_STATUS[status](text)
    return Unavailable(text, code=Code.HTTP_5XX)


def says_missing(error: Rejected) -> bool:
    """Whether the server's text says that a collection or a shard key is not there."""
    text = str(error)
    return "doesn't exist!" in text or ("Shard key" in text and "not found" in text)


def _of_connection(source: Exception, where: str, settings: Settings) -> BackendError:
    """The transport tells a lost connection as ConnectTimeout; aiohttp's own word is below."""
    below = source.__cause__
    text = f"{where}: {one_line(str(source) or type(source).__name__)}"
    if isinstance(source, ValueError):
        return AdapterError(f"{where}: an answer that cannot be read: {one_line(str(source))}")
    if isinstance(below, aiohttp.ClientConnectorCertificateError):
        return Unavailable(text, code=Code.CONNECT, remedy=_TRUST)
    if isinstance(below, aiohttp.ClientConnectorError):
        return Unavailable(text, code=Code.CONNECT, remedy=Unavailable.advice)
    if isinstance(below, aiohttp.ConnectionTimeoutError):
        return Unavailable(f"{text}; concurrency {settings.concurrency}", code=Code.POOL_TIMEOUT)
    if isinstance(below, aiohttp.ServerTimeoutError):
        return TimedOut(text)
    return Unavailable(text, code=Code.RESET)


def _server_text(content: bytes) -> str:
    try:
        return one_line(str(json.loads(content)["status"]["error"]))
    except (ValueError, KeyError, TypeError):
        return one_line(content.decode("utf-8", "replace")) or "(no text)"
