"""The two clients of the service, over one pool of connections."""

from __future__ import annotations

from typing import Any

import aiohttp
from azure.core.credentials import AzureKeyCredential
from azure.core.pipeline.transport import AioHttpTransport
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from retrieverbench.adapter import Settings
from retrieverbench_adapters.azure_search.options import Connect, is_loopback


def make_clients(
    settings: Settings, connect: Connect, index: str
) -> tuple[aiohttp.ClientSession, SearchIndexClient, SearchClient]:
    """A pool large enough for every search in flight, and both clients on it; no retries."""
    proxies = not is_loopback(settings.endpoint)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=settings.concurrency + 1),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=proxies,
    )
    shared: dict[str, Any] = {
        "api_version": connect.api_version,
        "transport": AioHttpTransport(
            session=session,
            session_owner=False,
            connection_timeout=settings.timeout,
            read_timeout=settings.timeout,
            use_env_settings=proxies,
        ),
        "retry_total": 0,
        "permit_redirects": False,
    }
    endpoint = settings.endpoint.rstrip("/")
    credential = AzureKeyCredential(settings.secrets["api_key"].reveal())
    return (
        session,
        SearchIndexClient(endpoint, credential, **shared),
        SearchClient(endpoint, index, credential, **shared),
    )
