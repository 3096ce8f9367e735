"""The clients of the service, over one pool of connections, and what they show as credential."""

from __future__ import annotations

import ssl
from typing import Any, Self

import aiohttp
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.pipeline.transport import AioHttpTransport
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from retrieverbench.adapter import Settings
from retrieverbench.errors import MissingClient
from retrieverbench_adapters.azure_search.options import Connect, is_loopback
from retrieverbench_adapters.azure_search.recording import Recording

_NEVER = 253_402_300_799  # the last second of the year 9999


class Clients:
    """One client for definitions and one per index for documents; no retries, one pool."""

    def __init__(self, settings: Settings, connect: Connect) -> None:
        """Nothing is sent. MissingClient when azure-identity is needed and not there."""
        self._endpoint = settings.endpoint.rstrip("/")
        self._credential: Any = _credential(settings, connect)
        self._close_credential = getattr(self._credential, "close", None)  # keys have none
        self._session = _session(settings, connect)
        self._shared: dict[str, Any] = {
            "api_version": connect.api_version,
            "audience": connect.audience,
            "transport": AioHttpTransport(
                session=self._session,
                session_owner=False,
                connection_timeout=settings.timeout,
                read_timeout=settings.timeout,
                use_env_settings=not is_loopback(settings.endpoint),
            ),
            "retry_total": 0,
            "permit_redirects": False,
        }
        if settings.recorder is not None:
            shared = settings.layout == "filter"
            self._shared["per_call_policies"] = [Recording(settings.recorder, shared=shared)]
        self._documents: dict[str, SearchClient] = {}
        self.indexes = SearchIndexClient(self._endpoint, self._credential, **self._shared)

    def documents(self, index: str) -> SearchClient:
        """The client for one index, made when first asked for."""
        if index not in self._documents:
            self._documents[index] = SearchClient(
                self._endpoint, index, self._credential, **self._shared
            )
        return self._documents[index]

    async def close(self) -> None:
        """Release the connections."""
        for documents in self._documents.values():
            await documents.close()
        await self.indexes.close()
        await self._session.close()
        if self._close_credential is not None:
            await self._close_credential()


class _GivenToken:
    """A token that the user got elsewhere, as the client wants it; it is never renewed."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *_scopes: str, **_more: Any) -> AccessToken:
        return AccessToken(self._token, _NEVER)

    async def close(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Nothing is held."""


def _credential(settings: Settings, connect: Connect) -> Any:
    if connect.auth == "key":
        return AzureKeyCredential(settings.secrets["api_key"].reveal())
    if "token" in settings.secrets:
        return _GivenToken(settings.secrets["token"].reveal())
    try:
        from azure.identity.aio import DefaultAzureCredential
    except ImportError:
        raise MissingClient(
            "azure_search: auth = 'entra' without the secret 'token' needs azure-identity; "
            "run: pip install azure-identity"
        ) from None
    return DefaultAzureCredential()


def _session(settings: Settings, connect: Connect) -> aiohttp.ClientSession:
    """A pool large enough for every search in flight."""
    trusted = ssl.create_default_context(cafile=connect.ca_file) if connect.ca_file else True
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=settings.concurrency + 1, ssl=trusted),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=not is_loopback(settings.endpoint),
    )
