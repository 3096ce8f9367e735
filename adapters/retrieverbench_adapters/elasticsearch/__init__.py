"""Elasticsearch by its official client: BM25, kNN, and both fused by reciprocal rank."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, ClassVar, Self

import anyio
from elasticsearch import AsyncElasticsearch

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import BackendError, InputError, Refused, Unsupported
from retrieverbench.model import Chunk, Fidelity, Hit, Plan, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench.remote.lucene import (
    FILTER_MODES,
    Indices,
    Json,
    bind,
    delete,
    describe,
    explain,
    field_at,
    get,
    move,
    object_in,
    remove_left,
    search,
    shares_statistics,
    vector_kind,
)
from retrieverbench_adapters.elasticsearch.client import connect
from retrieverbench_adapters.elasticsearch.errors import errors
from retrieverbench_adapters.elasticsearch.options import Options, faults
from retrieverbench_adapters.elasticsearch.requests import (
    isolation,
    legs,
    place_body,
    search_body,
    text_index,
)

__all__ = ["Elasticsearch"]

_CLIENT = version("elasticsearch")
_UNTOLD = "not told to this credential"


class Elasticsearch:
    """Indices of one shard; secrets are `api_key`, or `user` and `password`.

    Layouts: `filter` is one index, `partition` one index whose tenants are routed to shards,
    `index` one per tenant. Differences from the other backends:
    - score: dense (1 + cosine) / 2; lexical BM25 times (k1 + 1); hybrid Σ 1 / (rrf_k + rank).
    - ties: ordered by uid among the k hits; which of equal hits is the k-th, the server decides.
    - visibility: after a refresh, which `settle` asks for; the index does not refresh by itself.
    - filter: inside the kNN search (`knn_filter`) and in the bool query, in both legs of hybrid;
      in layout `index` and with `filtered_alias` the name alone.
    - statistics: per shard, of all tenants in it (`shared_idf`, but in layout `index`), and of
      replaced chunks for as long as the server keeps them, which a merge need not end
      (`docs_deleted`).
    - fusion: in the client, or in the server (`fusion = "server"`) with a paid licence.
    - metadata: each condition is one exact term of name and value; types are kept as in JSON.
    - total: by words the matches, by vector all chunks that pass the conditions.
    - by id: read, deleted and moved only after a search under the tenant's condition found it.
    - attached: an index or alias of the user's is only read; its id is a keyword or whole number,
      or `_id`; an exact search needs vectors indexed as `flat`. A key with the right `read` is
      enough; what it may not read (mapping, version) is listed as not checked.
    """

    options: ClassVar[type] = Options
    address: ClassVar[str] = "http://HOST:9200"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "partition", "index", "where", "exact"}
        | {"put", "attach", "get", "delete", "move", "explain", "total", "record"}
        | {"resume", "remove"}
    )
    filter_modes: ClassVar[Mapping[str, Mapping[str, Mapping[str, object]]]] = FILTER_MODES

    def __init__(self, settings: Settings, options: Options, client: AsyncElasticsearch) -> None:
        self._settings = settings
        self._options = options
        self._client = client
        self._text = text_index(settings, options)
        self._indices = Indices(
            backend="elasticsearch",
            send=self._send,
            place=settings.attached.name if settings.attached else settings.place,
            isolation=isolation(settings, options),
            text=self._text,
            body={} if settings.attached else place_body(settings, options),
            timeout=options.place.timeout,
            attached=settings.attached is not None,
            resume=settings.resume,
            stored={"exclude_vectors": False},
        )
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check settings, versions and licence; make the index, or take one of equal schema.

        An attached index is only read; its id may be the document's own (`id = "_id"`).
        """
        options = parse_options(Options, settings.options, "elasticsearch: options")
        wrong = faults(settings, options)
        if wrong:
            raise InputError(*wrong)
        adapter = cls(settings, options, connect(settings, options.connect))
        try:
            await adapter._check_server()
            await adapter._open_place()
            await adapter._check_fusion()
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BackendError):
                await adapter.close()
            raise
        return adapter

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """The index of this name with its aliases, or those of its tenants."""
        options = parse_options(Options, settings.options, "elasticsearch: options")
        adapter = cls(settings, options, connect(settings, options.connect))
        await remove_left(adapter._indices, adapter.close)

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Bulk requests of at most `batch_bytes`; the first item that fails is raised."""
        await self._indices.put(chunks, self._options.place.batch_bytes)

    async def settle(self) -> None:
        """Refresh; with `force_merge` first merge to one segment."""
        await self._indices.settle(force_merge=self._options.place.force_merge)

    async def search(self, query: Query) -> Response:
        """One request, also for hybrid: there both legs go in one `_msearch`."""
        bodies = self._bodies(query, fused=self._options.search.fusion == "server")
        return await search(self._indices, query, bodies, self._options.search.rrf_k)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks, found by a search under its condition."""
        return await get(self._indices, tenant, uids)

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Delete the tenant's own among these chunks, found by a search under its condition."""
        await delete(self._indices, tenant, uids)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the tenant's field; with places per tenant delete here and write there."""
        await move(self._indices, uid, source, target)

    async def explain(self, query: Query) -> Plan:
        """The server's profile of this search, of hybrid mode both searches."""
        return await explain(self._indices, query, self._bodies(query, fused=False))

    async def describe(self) -> Description:
        """Versions, mapping, settings and counts as the server tells them."""
        version = await self._version()
        properties = {
            "shared_idf": shares_statistics(self._settings),
            "approximate": self._settings.dimension and self._vector_kind() != "flat",
        }
        client = ("elasticsearch-py", _CLIENT)
        kinds: dict[str, Fidelity | None] = {"embedded": "engine", _UNTOLD: None}
        fidelity = kinds.get(version["build_type"], "server")
        request = asdict(self._options.search)
        return await describe(self._indices, version, client, fidelity, request, properties)

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

    def _bodies(self, query: Query, *, fused: bool) -> list[Json]:
        """One search, or of hybrid mode the two that are fused in the client."""
        options, scope = self._options.search, self._indices.scope(query.tenant)
        if query.mode == "hybrid" and not fused:
            return legs(query, scope, options, self._text)
        return [search_body(query, scope, options, self._text)]

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
            return object_in(answer.body, "elasticsearch", path)

    async def _open_place(self) -> None:
        if self._settings.attached is None:
            await self._indices.open()
            return
        await bind(self._indices, self._settings)
        if self._options.search.exact and self._vector_kind() != "flat":
            raise InputError(
                "elasticsearch: options.search.exact: true needs vectors indexed as 'flat', and "
                f"{self._settings.attached.vector!r} is {self._vector_kind()}; leave it out"
            )

    def _vector_kind(self) -> str | None:
        """How vectors are indexed; None where the mapping could not be read."""
        mappings = self._indices.body.get("mappings", {})
        return vector_kind(field_at(mappings, self._text.names.vector) or {})

    async def _version(self) -> Json:
        """The server's account of itself, which a key that only reads an index may not have."""
        try:
            found: Json = (await self._send("GET", "/"))["version"]
        except Refused:
            if self._settings.attached is None:
                raise
            return dict.fromkeys(("number", "build_type", "lucene_version"), _UNTOLD)
        return found

    async def _check_server(self) -> None:
        client = int(_CLIENT.split(".")[0])
        remedy = "install the client of the server's major version: pip install"
        try:
            server = (await self._version())["number"]
        except BackendError as error:
            if "media_type_header_exception" not in str(error):
                raise
            # So an older server answers a newer client (elasticsearch-py#2923).
            raise Unsupported(
                f"elasticsearch: this server is older than client {client}; {remedy} "
                f"'elasticsearch[async]<{client}'; it says: {error}"
            ) from error
        if server != _UNTOLD and int(server.split(".")[0]) != client:
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
