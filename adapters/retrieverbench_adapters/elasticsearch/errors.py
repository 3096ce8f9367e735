"""Every error of the client as one of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import ClientConnectorError
from elastic_transport import (
    ApiError,
    ConnectionTimeout,
    SerializationError,
    TlsError,
    TransportError,
)
from elasticsearch import UnsupportedProductError

from retrieverbench.errors import (
    AdapterError,
    Code,
    Rejected,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.remote import error_for, seconds, tls_remedy
from retrieverbench.remote.lucene import error_words


@contextmanager
def errors(endpoint: str) -> Iterator[None]:
    """Every error of the client as one of ours, with the server's own words."""
    try:
        yield
    except UnsupportedProductError as error:
        raise Unsupported(f"elasticsearch: {endpoint} is something else: {error}") from error
    except ApiError as error:
        status = error.meta.status
        raise error_for(
            status,
            f"elasticsearch: {status}: {reason(error)}",
            retry_after=seconds(error.meta.headers.get("retry-after")),
        ) from error
    except ConnectionTimeout as error:
        raise TimedOut(f"elasticsearch: {endpoint} gave no answer in time") from error
    except SerializationError as error:
        if isinstance(error.__context__, TypeError):  # so says the serializer of requests
            raise Rejected(f"elasticsearch: this cannot be sent: {error.__context__}") from error
        raise AdapterError(f"elasticsearch: {endpoint}: {error.message[:500]}") from error
    except TransportError as error:
        # The transport forgets which error of its HTTP library it was; the interpreter does not.
        refused = isinstance(error, TlsError) or isinstance(error.__context__, ClientConnectorError)
        code = Code.CONNECT if refused else Code.RESET
        remedy = tls_remedy(error.message, "options.connect.ca_certs")
        text = f"elasticsearch: {endpoint}: {error.message}"
        raise Unavailable(text, code=code, remedy=remedy) from error


def reason(error: ApiError) -> str:
    """The server's own words."""
    body = error.body
    return error_words(body["error"] if isinstance(body, dict) and "error" in body else body)
