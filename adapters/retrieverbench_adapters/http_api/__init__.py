"""A retrieval service behind an HTTP API of the user's own, described in the suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import ClassVar, Self

import aiohttp
import orjson
from yarl import URL

from retrieverbench.adapter import NOT_TOLD, Description, Leg, Secret, Settings
from retrieverbench.errors import (
    AdapterError,
    Code,
    InputError,
    Refused,
    TimedOut,
    Unavailable,
)
from retrieverbench.model import Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench.remote import error_for, hide_secrets, one_line, seconds, tls_remedy
from retrieverbench_adapters.http_api.answers import read_hits
from retrieverbench_adapters.http_api.options import Options, faults, names_tenant
from retrieverbench_adapters.http_api.requests import Request, checked, fill

__all__ = ["HttpApi"]

_MOST_BYTES = 32 << 20
"""Of one answer, unpacked: a thousand hits with a vector each have no more."""
_OF_TENANT = "tenant:"
_TRUST = "environment variable SSL_CERT_FILE"
_IDLE_SECONDS = 3.0
"""Less than servers keep an idle connection (5 s is usual): a question that meets one just being
closed would be counted as an error of the service."""


class HttpApi:
    """One request per question; nothing is ever written.

    Secrets are `tenant:<name>`, the credential of one tenant, and `default`, that of all others.
    Differences from the other backends:
    - mode: what the suite calls it; the service decides, and is told by `{mode}` if it asks.
    - score: the service's own; without one 1 / rank.
    - filter: the service's own. A recorded condition says whom a request names, not what the
      service makes of it: only its answers show that.
    - tenant: sent as a JSON value, percent-encoded in a URL, and in a header only if a header can
      hold it unchanged; what cannot be sent unchanged is refused before any request.
    - refusal: status 401 or 403, or what `search.refused` lists.
    """

    options: ClassVar[type] = Options
    address: ClassVar[str] = "https://HOST"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "attach", "record", "credentials"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._is_named = names_tenant(options.connect)
        self._secrets = {name: secret.reveal() for name, secret in settings.secrets.items()}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=settings.concurrency, keepalive_timeout=_IDLE_SECONDS
            ),
            timeout=aiohttp.ClientTimeout(total=settings.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),  # a cookie of one tenant would reach the next
        )
        # Its one silent retry, of a GET over a connection that was closed, has no public switch.
        self._session._retry_connection = False  # noqa: SLF001 - aiohttp has no public name

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check the description of the request; nothing is sent before the first question."""
        options = parse_options(Options, settings.options, "http_api: options")
        wrong = list(faults(settings, options))
        if wrong:
            raise InputError(*wrong)
        return cls(settings, options)

    async def search(self, query: Query) -> Response:
        """The service's answer, in its own order."""
        secrets = self._settings.secrets
        own = secrets.get(f"{_OF_TENANT}{checked(query.tenant)}")
        is_named = self._is_named or own is not None
        return await self._ask(query, own or secrets.get("default"), is_named=is_named)

    async def search_with(self, query: Query, credential: Secret | None) -> Response:
        """The same with this credential, whoever is named."""
        return await self._ask(query, credential, is_named=self._is_named)

    @property
    def credentials(self) -> Mapping[str, Secret]:
        """Those of single tenants."""
        return {
            name.removeprefix(_OF_TENANT): secret
            for name, secret in self._settings.secrets.items()
            if name.startswith(_OF_TENANT)
        }

    async def describe(self) -> Description:
        """What little can be known of a service that answers questions and nothing else."""
        clear = self._settings.endpoint.startswith("http:") and bool(self._secrets)
        host = URL(self._settings.endpoint).host or ""
        return Description(
            server="http_api",
            server_version="not told",
            client="aiohttp",
            client_version=version("aiohttp"),
            settings={},
            chunks={},
            unchecked=("what the service holds, its version and its settings",),
            weaknesses=("credentials go over the network unencrypted; use https",)
            if clear and host not in {"127.0.0.1", "::1", "localhost"}
            else (NOT_TOLD,),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _ask(self, query: Query, credential: Secret | None, *, is_named: bool) -> Response:
        attached, options = self._settings.attached, self._options
        assert attached is not None, "checked when it was opened"
        request = fill(query, options.connect, credential, is_named=is_named)
        answer = await self._send(request, query.tenant)
        return Response(read_hits(answer, attached, options.search, query.want))

    async def _send(self, request: Request, asker: TenantId) -> object:
        recorder = self._settings.recorder
        operation = f"{request.method} {request.path}"
        if recorder is not None:
            names = request.names
            legs = [] if names is None else [Leg("request", {"term": {"tenant": names}})]
            shown = {"headers": request.shown_headers, "body": request.body}
            recorder.request(operation, legs, shown)
        with self._errors():
            async with self._session.request(
                request.method,
                URL(f"{self._settings.endpoint.rstrip('/')}{request.path}", encoded=True),
                headers=request.headers,
                data=None if request.body is None else orjson.dumps(request.body),
                allow_redirects=False,
            ) as answer:
                content = await _content(answer)
                status, headers = answer.status, dict(answer.headers)
        if recorder is not None:
            body = self._hidden(content.decode("utf-8", "replace"))
            shown = {"status": status, "headers": headers, "body": _parsed(body)}
            recorder.response(operation, shown)
        self._check(status, headers.get("Retry-After"), content, asker)
        try:
            return orjson.loads(content)
        except ValueError as error:
            raise AdapterError(f"http_api: an answer is no JSON: {error}") from error

    def _check(self, status: int, retry_after: str | None, content: bytes, asker: TenantId) -> None:
        """Raise the error that the status calls for; all but success is one."""
        text = f"http_api: {status}: {self._hidden(one_line(content.decode('utf-8', 'replace')))}"
        if status in self._options.search.refused:
            raise Refused(text, remedy=self._advice(asker.value))
        if 300 <= status < 400:
            text += "; redirects are not followed: give the address that answers"
        if not 200 <= status < 300:
            raise error_for(status, text, retry_after=seconds(retry_after))

    def _advice(self, asker: str) -> str:
        """Whose rights to look at, and by which credential it asked."""
        own = f"{_OF_TENANT}{asker}"
        name = own if own in self._secrets else "default"
        by = f"its credential, secret {name!r}, and" if name in self._secrets else "whether it has"
        return f"check for tenant {asker!r:.80} {by} the rights to ask"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        where = f"http_api: {self._settings.endpoint}"
        try:
            yield
        except TimeoutError as error:
            raise TimedOut(f"{where} gave no answer in time") from error
        except aiohttp.ClientConnectorError as error:
            text, remedy = f"{where}: {error.strerror or error}", tls_remedy(str(error), _TRUST)
            raise Unavailable(text, code=Code.CONNECT, remedy=remedy) from error
        except aiohttp.ClientResponseError as error:
            raise AdapterError(f"{where}: {one_line(self._hidden(error.message))}") from error
        except (aiohttp.ClientError, OSError) as error:
            text = self._hidden(one_line(str(error)))
            raise Unavailable(f"{where}: {text}", code=Code.RESET) from error

    def _hidden(self, text: str) -> str:
        return hide_secrets(text, self._secrets.values())


async def _content(answer: aiohttp.ClientResponse) -> bytes:
    """The body, read no further than _MOST_BYTES: a small one may unpack to any length."""
    content = bytearray()
    async for part in answer.content.iter_any():
        content += part
        if len(content) > _MOST_BYTES:
            raise AdapterError(
                f"http_api: {answer.status}: an answer is longer than {_MOST_BYTES >> 20} MiB, and "
                "was read no further; let the service return less with a hit"
            )
    return bytes(content)


def _parsed(text: str) -> object:
    """The values of a body, which are looked through one by one; the text if it is no JSON."""
    try:
        return orjson.loads(text)
    except ValueError:
        return text
