"""Elasticsearch by its official client: BM25, kNN, and both fused by reciprocal rank."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, ClassVar, Self, cast

import anyio
from elastic_transport import ApiError, OrjsonSerializer
from elasticsearch import AsyncElasticsearch

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import (
    BackendError,
    InputError,
    Rejected,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Chunk, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench_adapters.elasticsearch.answers import (
    check_bulk,
    differing,
    errors,
    flat,
    fused,
    reason,
    response,
)
from retrieverbench_adapters.elasticsearch.options import Connect, Options, faults
from retrieverbench_adapters.elasticsearch.requests import (
    Json,
    batches,
    bulk_lines,
    legs,
    place_body,
    search_body,
)

__all__ = ["Elasticsearch"]

_CLIENT = version("elasticsearch")
_PAGE = 1_000


class Elasticsearch:
    """One index of one shard; secrets are `api_key`, or `user` and `password`.

    Differences from the other backends:
    - score: dense (1 + cosine) / 2; lexical BM25 times (k1 + 1); hybrid Σ 1 / (rrf_k + rank).
    - ties: ordered by uid among the k hits; which of equal hits is the k-th, the server decides.
    - visibility: after a refresh, which `settle` asks for; the index does not refresh by itself.
    - filter: inside the kNN search and in the bool query, in both legs of hybrid.
    - statistics: of all tenants (`shared_idf`), and of replaced chunks for as long as the server
      keeps them, which a merge need not end (`docs_deleted`).
    - fusion: in the client, or in the server (`fusion = "server"`) with a paid licence.
    - metadata: each condition is one exact term of name and value; types are kept as in JSON.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options, client: AsyncElasticsearch) -> None:
        self._settings = settings
        self._options = options
        self._client = client
        self._made = False  # only what this object made is removed by it
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
            with errors(settings.endpoint):
                await adapter._check_server()
                await adapter._make_place()
                await adapter._check_fusion()
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BackendError):
                await adapter.close()
            raise
        return adapter

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Bulk requests of at most `batch_bytes`; the first item that fails is raised."""
        client = self._client.options(request_timeout=self._options.place.timeout)
        lines = (bulk_lines(chunk, self._settings.dimension) for chunk in chunks)
        with errors(self._settings.endpoint):
            for batch in batches(lines, self._options.place.batch_bytes):
                answer = await client.bulk(
                    index=self._settings.place, operations=cast("Any", batch)
                )
                check_bulk(answer.body, len(batch))

    async def settle(self) -> None:
        """Refresh; with `force_merge` first merge to one segment."""
        place = self._options.place
        indices = self._client.options(request_timeout=place.timeout).indices
        with anyio.move_on_after(place.timeout) as deadline, errors(self._settings.endpoint):
            if place.force_merge:
                await indices.forcemerge(index=self._settings.place, max_num_segments=1)
            answer = (await indices.refresh(index=self._settings.place)).body
            if answer["_shards"]["failed"]:
                raise Unavailable(f"elasticsearch: refresh failed: {answer['_shards']}")
        if deadline.cancelled_caught:
            raise TimedOut(f"elasticsearch: not settled after {place.timeout:g} s")

    async def search(self, query: Query) -> Response:
        """One request, also for hybrid: there both legs go in one `_msearch`."""
        search = self._options.search
        with errors(self._settings.endpoint):
            if query.mode != "hybrid" or search.fusion == "server":
                body = search_body(query, search)
                answer = await self._client.search(index=self._settings.place, body=body)
                return response(answer.body, query)
            lines = cast("Any", legs(query, search))
            both = await self._client.msearch(index=self._settings.place, searches=lines)
            return fused(both.body, query, search.rrf_k)

    async def describe(self) -> Description:
        """Versions, mapping, settings and counts as the server tells them."""
        place = self._settings.place
        with errors(self._settings.endpoint):
            info = (await self._client.info()).body
            mapping = (await self._client.indices.get_mapping(index=place)).body[place]["mappings"]
            got = await self._client.indices.get_settings(index=place)
            stats = await self._client.indices.stats(index=place, metric="docs,store")
            chunks = await self._counts()
        docs = stats.body["_all"]["primaries"]["docs"]
        search, modes = self._options.search, self._settings.modes
        index = got.body[place]["settings"]["index"]
        vector = mapping["properties"].get("vector", {}).get("index_options", {})
        properties = {"shared_idf"} if modes & {"lexical", "hybrid"} else set()
        properties |= {"approximate"} if vector.get("type", "flat") != "flat" else set()
        return Description(
            server="elasticsearch",
            server_version=info["version"]["number"],
            client="elasticsearch-py",
            client_version=_CLIENT,
            settings={
                "build_type": info["version"]["build_type"],
                "lucene": info["version"]["lucene_version"],
                "shards": int(index["number_of_shards"]),
                "replicas": int(index["number_of_replicas"]),
                "refresh_interval": index["refresh_interval"],
                "durability": index.get("translog", {}).get("durability", "request"),
                **flat("similarity", index.get("similarity", {})),
                **flat("mapping", mapping["properties"]),
                "docs_deleted": docs["deleted"],
                # Parameters of every request; the server does not keep them.
                **{f"request.{name}": value for name, value in asdict(search).items()},
            },
            chunks=chunks,
            properties=frozenset(properties),
            fidelity="engine" if info["version"]["build_type"] == "embedded" else "server",
        )

    async def close(self) -> None:
        """Remove the index if this object made it, and close the connections."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._made:
                with errors(self._settings.endpoint):
                    await self._client.indices.delete(
                        index=self._settings.place, ignore_unavailable=True
                    )
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.close()

    async def _check_server(self) -> None:
        client = int(_CLIENT.split(".")[0])
        remedy = "install the client of the server's major version: pip install"
        try:
            server = (await self._client.info()).body["version"]["number"]
        except ApiError as error:
            if "media_type_header_exception" not in str(error.body):
                raise
            # So an older server answers a newer client (elasticsearch-py#2923).
            raise Unsupported(
                f"elasticsearch: this server is older than client {client}; {remedy} "
                f"'elasticsearch[async]<{client}'; it says: {reason(error)}"
            ) from error
        if int(server.split(".")[0]) != client:
            raise Unsupported(
                f"elasticsearch: server {server} with client {_CLIENT}; "
                f"{remedy} 'elasticsearch[async]=={server.split('.')[0]}.*'"
            )

    async def _make_place(self) -> None:
        place, wanted = self._settings.place, place_body(self._settings, self._options)
        try:
            await self._client.indices.create(index=place, **wanted)
            self._made = True
        except ApiError as error:
            if "resource_already_exists_exception" not in str(error.body):
                raise
            got = (await self._client.indices.get(index=place)).body[place]
            difference = differing(wanted, got)
            if difference:
                raise Rejected(
                    f"elasticsearch: index {place!r} already exists with another schema "
                    f"({difference}); remove it or choose another place"
                ) from error

    async def _check_fusion(self) -> None:
        if self._options.search.fusion == "client" or "hybrid" not in self._settings.modes:
            return
        vector = array("f", [1.0] * self._settings.dimension)
        probe = Query("probe", TenantId("probe"), 1, "hybrid", vector)
        try:
            await self._client.search(
                index=self._settings.place, body=search_body(probe, self._options.search)
            )
        except ApiError as error:
            raise Unsupported(
                'elasticsearch: options.search.fusion = "server" is not to be had on this '
                f'server; use fusion = "client"; it says: {reason(error)}'
            ) from error

    async def _counts(self) -> dict[str, int]:
        """Chunks per tenant, of all tenants: page after page, because a terms list is cut."""
        counts: dict[str, int] = {}
        pages: Json = {"size": _PAGE, "sources": [{"tenant": {"terms": {"field": "tenant"}}}]}
        while True:
            answer = await self._client.search(
                index=self._settings.place, size=0, aggs={"tenants": {"composite": pages}}
            )
            found = answer.body["aggregations"]["tenants"]
            counts.update({b["key"]["tenant"]: b["doc_count"] for b in found["buckets"]})
            if "after_key" not in found:
                return counts
            pages["after"] = found["after_key"]


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
            **more,
        )
    except ValueError as error:
        raise InputError(f"elasticsearch: endpoint {settings.endpoint!r}: {error}") from None
