"""Elasticsearch by its official client: BM25, kNN, and both fused by reciprocal rank."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, ClassVar, Self

import anyio
from elastic_transport import BaseNode, NodePool, OrjsonSerializer
from elasticsearch import AsyncElasticsearch

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import BackendError, InputError, Unsupported
from retrieverbench.model import Chunk, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench.remote.lucene import Indices, Json, read_fused, read_response
from retrieverbench_adapters.elasticsearch.errors import errors
from retrieverbench_adapters.elasticsearch.options import Connect, Options, faults
from retrieverbench_adapters.elasticsearch.requests import (
    isolation,
    legs,
    place_body,
    search_body,
    text_index,
)

__all__ = ["Elasticsearch"]

_CLIENT = version("elasticsearch")


class Elasticsearch:
    """Indices of one shard; secrets are `api_key`, or `user` and `password`.

    Layouts: `filter` is one index, `partition` one index whose tenants are routed to shards,
    `index` one per tenant. Differences from the other backends:
    - score: dense (1 + cosine) / 2; lexical BM25 times (k1 + 1); hybrid Σ 1 / (rrf_k + rank).
    - ties: ordered by uid among the k hits; which of equal hits is the k-th, the server decides.
    - visibility: after a refresh, which `settle` asks for; the index does not refresh by itself.
    - filter: inside the kNN search and in the bool query, in both legs of hybrid; in layout
      `index` and with `filtered_alias` the name alone.
    - statistics: per shard, of all tenants in it (`shared_idf`, but in layout `index`), and of
      replaced chunks for as long as the server keeps them, which a merge need not end
      (`docs_deleted`).
    - fusion: in the client, or in the server (`fusion = "server"`) with a paid licence.
    - metadata: each condition is one exact term of name and value; types are kept as in JSON.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "partition", "index", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options, client: AsyncElasticsearch) -> None:
        self._settings = settings
        self._options = options
        self._client = client
        self._text = text_index(options)
        self._indices = Indices(
            backend="elasticsearch",
            send=self._send,
            place=settings.place,
            isolation=isolation(settings, options),
            text=self._text,
            body=place_body(settings, options),
            timeout=options.place.timeout,
        )
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check settings, versions and licence; make the index, or take one of equal schema."""
        options = parse_options(Options, settings.options, "elasticsearch: options")
        wrong = faults(settings, options)
        if wrong:
            raise InputError(*wrong)
        adapter = cls(settings, options, _connect(settings, options.connect))
        try:
            await adapter._check_server()
            await adapter._indices.open()
            await adapter._check_fusion()
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BackendError):
                await adapter.close()
            raise
        return adapter

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Bulk requests of at most `batch_bytes`; the first item that fails is raised."""
        await self._indices.put(chunks, self._options.place.batch_bytes)

    async def settle(self) -> None:
        """Refresh; with `force_merge` first merge to one segment."""
        await self._indices.settle(force_merge=self._options.place.force_merge)

    async def search(self, query: Query) -> Response:
        """One request, also for hybrid: there both legs go in one `_msearch`."""
        search, scope = self._options.search, self._indices.scope(query.tenant)
        if query.mode != "hybrid" or search.fusion == "server":
            body = search_body(query, scope, search, self._text)
            return read_response(await self._indices.search(query, body), query)
        both = legs(query, scope, search, self._text)
        answer = await self._indices.search_both(query, both)
        return read_fused("elasticsearch", answer, query, search.rrf_k)

    async def describe(self) -> Description:
        """Versions, mapping, settings and counts as the server tells them."""
        info = await self._send("GET", "/")
        found, weaknesses = await self._indices.settings()
        search, modes = self._options.search, self._settings.modes
        shared = modes & {"lexical", "hybrid"} and self._settings.layout != "index"
        kind = found.get("mapping.vector.index_options.type", "flat")
        named = {"shared_idf": shared, "approximate": kind != "flat"}
        return Description(
            server="elasticsearch",
            server_version=info["version"]["number"],
            client="elasticsearch-py",
            client_version=_CLIENT,
            settings={
                "build_type": info["version"]["build_type"],
                "lucene": info["version"]["lucene_version"],
                **found,
                # Parameters of every request; the server does not keep them.
                **{f"request.{name}": value for name, value in asdict(search).items()},
            },
            chunks=await self._indices.counts(),
            properties=frozenset(name for name, holds in named.items() if holds),
            fidelity="engine" if info["version"]["build_type"] == "embedded" else "server",
            weaknesses=weaknesses,
        )

    async def close(self) -> None:
        """Remove the indices that this object made, and close the connections."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._indices.remove()
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.close()

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """One request through the client; its errors as ours."""
        client = self._client if timeout is None else self._client.options(request_timeout=timeout)
        headers = {"accept": "application/json"}
        if body is not None:
            lines = path.endswith(("_bulk", "_msearch"))
            headers["content-type"] = "application/x-ndjson" if lines else "application/json"
        with errors(self._settings.endpoint):
            answer = await client.perform_request(
                method, path, params=params, headers=headers, body=body
            )
            return answer.body

    async def _check_server(self) -> None:
        client = int(_CLIENT.split(".")[0])
        remedy = "install the client of the server's major version: pip install"
        try:
            server = (await self._send("GET", "/"))["version"]["number"]
        except BackendError as error:
            if "media_type_header_exception" not in str(error):
                raise
            # So an older server answers a newer client (elasticsearch-py#2923).
            raise Unsupported(
                f"elasticsearch: this server is older than client {client}; {remedy} "
                f"'elasticsearch[async]<{client}'; it says: {error}"
            ) from error
        if int(server.split(".")[0]) != client:
            raise Unsupported(
                f"elasticsearch: server {server} with client {_CLIENT}; "
                f"{remedy} 'elasticsearch[async]=={server.split('.')[0]}.*'"
            )

    async def _check_fusion(self) -> None:
        if self._options.search.fusion == "client" or "hybrid" not in self._settings.modes:
            return
        vector = array("f", [1.0] * self._settings.dimension)
        try:
            await self.search(Query("probe", TenantId("probe"), 1, "hybrid", vector))
        except BackendError as error:
            raise Unsupported(
                'elasticsearch: options.search.fusion = "server" is not to be had on this '
                f'server; use fusion = "client"; it says: {error}'
            ) from error


class _Pool(NodePool):
    """The client's own, which would log every failure of the one node that there is."""

    def mark_dead(self, node: BaseNode, _now: float | None = None) -> None:
        """Errors are raised, not logged; there is no other node to prefer."""


def _connect(settings: Settings, connect: Connect) -> AsyncElasticsearch:
    secret = {name: value.reveal() for name, value in settings.secrets.items()}
    more: Json = {"ca_certs": connect.ca_certs} if connect.ca_certs else {}
    if "api_key" in secret:
        more["api_key"] = secret["api_key"]
    if "password" in secret:
        more["basic_auth"] = (secret.get("user", "elastic"), secret["password"])
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
