"""The client: one node, no retries, and a recorder next to the socket if there is one."""

from __future__ import annotations

import re
import ssl
from typing import Any
from urllib.parse import urlsplit

from elastic_transport import AiohttpHttpNode, BaseNode, NodePool, OrjsonSerializer
from elasticsearch import AsyncElasticsearch

from retrieverbench.adapter import Recorder, Settings
from retrieverbench.errors import InputError
from retrieverbench.remote.lucene import Json, show_request, show_response
from retrieverbench_adapters.elasticsearch.options import Connect


class _Pool(NodePool):
    """The client's own, which would log every failure of the one node that there is."""

    def mark_dead(self, node: BaseNode, _now: float | None = None) -> None:
        """Errors are raised, not logged; there is no other node to prefer."""


def connect(settings: Settings, options: Connect) -> AsyncElasticsearch:
    """A client with a kept connection for every search in flight, without retries."""
    secret = {name: value.reveal() for name, value in settings.secrets.items()}
    more: Json = _trust(settings.endpoint, options)
    if "api_key" in secret:
        more["api_key"] = secret["api_key"]
    if "password" in secret:
        more["basic_auth"] = (secret.get("user", "elastic"), secret["password"])
    if settings.recorder is not None:
        more["node_class"] = _recorded(settings.recorder)
    try:
        return AsyncElasticsearch(
            settings.endpoint,
            connections_per_node=settings.concurrency,
            max_retries=0,
            retry_on_timeout=False,
            request_timeout=settings.timeout,
            serializer=OrjsonSerializer(),
            node_pool_class=_Pool,
            **more,
        )
    except ValueError as error:
        raise InputError(f"elasticsearch: endpoint {settings.endpoint!r}: {error}") from None


def _trust(endpoint: str, options: Connect) -> Json:
    """Whose certificates are trusted, and that they are the host's, also where that is an address.

    The client itself lets any certificate of the authority pass for a host that is named by its
    IP address: whoever has one would be given the credentials.
    """
    parts = urlsplit(endpoint)
    is_address = re.fullmatch(r"[0-9.]+|.*:.*", parts.hostname or "") is not None
    if parts.scheme != "https" or not (options.ca_certs or is_address):
        return {"ca_certs": options.ca_certs} if options.ca_certs else {}
    try:
        return {"ssl_context": ssl.create_default_context(cafile=options.ca_certs)}
    except OSError as error:
        raise InputError(
            f"elasticsearch: options.connect.ca_certs: {options.ca_certs!r} for endpoint "
            f"{endpoint!r} holds no certificates that can be read: {error}"
        ) from None


def _recorded(recorder: Recorder) -> type[AiohttpHttpNode]:
    """The client's own node, which shows everything; the client takes no object, only a class."""

    class Recorded(AiohttpHttpNode):
        async def perform_request(  # type: ignore[override]  # its base is no coroutine
            self, method: str, target: str, body: bytes | None = None, *rest: Any, **more: Any
        ) -> Any:
            show_request(recorder, method, target, body)
            answer = await super().perform_request(method, target, body, *rest, **more)
            told, content = answer
            show_response(recorder, f"{method} {target}", told.status, told.headers, content)
            return answer

    return Recorded
