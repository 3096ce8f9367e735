"""Qdrant through its official asyncio client: REST, and gRPC for searches if asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import ClassVar, Self

import anyio
from qdrant_client import models

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import TimedOut, Unsupported
from retrieverbench.model import Chunk, Hit, Plan, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench_adapters.qdrant.attached import Attachment, bind
from retrieverbench_adapters.qdrant.changes import delete_chunks, move_chunk
from retrieverbench_adapters.qdrant.checks import check_server, check_settings
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.collection import dense_vectors, settings_of
from retrieverbench_adapters.qdrant.description import (
    count_attached,
    count_own,
    general_weaknesses,
    not_readable,
    ranking_weakness,
)
from retrieverbench_adapters.qdrant.fields import OWN, tenant_text
from retrieverbench_adapters.qdrant.loading import Loader
from retrieverbench_adapters.qdrant.options import Options
from retrieverbench_adapters.qdrant.places import Places
from retrieverbench_adapters.qdrant.reading import Reader
from retrieverbench_adapters.qdrant.requests import Scheme
from retrieverbench_adapters.qdrant.terms import Lexicon

__all__ = ["Options", "Qdrant"]


class Qdrant:
    """Dense vectors (cosine), BM25 as sparse vectors, and both fused by the server.

    Differences:
    - Scores: cosine in dense; BM25 without Lucene's lossy lengths in lexical; in hybrid the
      sum of 1/(rank_constant + rank), for which the server's own k is one more, or its DBSF.
      Distances of an attached collection (Euclid, Manhattan) are negated: best first.
    - Lexical: terms, frequencies and lengths are ours (words, lower case, Lucene's English
      stop words, Porter's stems), IDF is the server's: over the tenant's own chunks
      (`idf = "tenant"`, server 1.19 and newer), else over all of its shards. Terms are 32-bit
      hashes; two terms of one hash count as one, and `describe` tells how many do. In an
      attached collection the sparse vector `search.sparse` is searched, with terms that the
      server makes (`qdrant/bm25`) or with ours.
    - Average length: counted at the first `settle` that knows the tenant (all tenants, with
      `idf = "collection"`), then kept. Tenants thus move no score of each other's. A chunk
      that is moved keeps the weights that it had.
    - Ties leave the server's fusion in random order. They are ordered by uid here, but a tie
      at the cut can still change which hits there are: `stable_ties` is not claimed.
    - `where` is compared with values stored for it as JSON of (key, value): numbers are
      equal as numbers (1 = 1.0), a boolean only to a boolean. Filters work inside the search.
    - Layouts: `filter` is one collection with a tenant index; `partition` a custom shard per
      tenant (a server in distributed mode); `index` a collection per tenant. The tenant's
      condition is sent in each of them.
    - Visibility: a write is searchable when it returns. `settle` waits for the optimiser; a
      segment below `indexing_threshold` stays unindexed and is scanned: `indexed_share`.
    - `total` counts the chunks that pass the filter; in lexical mode those of them that match.
    - A collection that exists with the same schema is used, and not removed by `close`. With
      `resume` it is a load of ours that was broken off: `settle` reads its texts again, since
      terms are weighed by the average length of all, and once settled `close` removes it.
    - Attached: `id = "@point_id"` stands for the point's own id; `vector` is left out (or
      "@unnamed") for the vector without a name; fields inside others are written `outer.inner`.
    """

    options: ClassVar[type] = Options
    address: ClassVar[str] = "http://HOST:6333"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "partition", "index", "where", "exact"}
        | {"put", "attach", "unnamed_vector", "get", "delete", "move", "explain", "total", "record"}
        | {"resume", "remove"}
    )
    filter_modes: ClassVar[Mapping[str, Mapping[str, Mapping[str, object]]]] = {
        name: {"place": {**graph, "indexing_threshold": 10, "full_scan_threshold": 0}}
        for name, graph in (
            ("one graph over all tenants, always walked", {"m": 16, "payload_m": 0}),
            ("a graph within each tenant, always walked", {"m": 0, "payload_m": 16}),
        )
    }

    def __init__(self, settings: Settings, options: Options) -> None:
        """For `open` only."""
        self._settings = settings
        self._options = options
        self._server = Server(settings, options.connect)
        self._closed = False
        self._version = models.VersionInfo(title="", version="0.0")
        self._places: Places | Attachment
        self._loader: Loader | None = None
        self._reader: Reader

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """See Adapter. The secret `api_key` is optional; a URL without port means 6333."""
        options = parse_options(Options, settings.options, "qdrant options")
        check_settings(settings, options)
        self = cls(settings, options)
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise
        return self

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """The collection of this name, or those of its tenants."""
        options = parse_options(Options, settings.options, "qdrant options")
        server = Server(settings, options.connect)
        try:
            await Places(server, settings, options.place).remove_left()
        finally:
            await server.client.close()

    async def _open(self) -> None:
        settings, search = self._settings, self._options.search
        self._version = await self._server.call(self._server.client.info())
        within_tenant = check_server(self._version.version, settings, search)
        attached = settings.attached
        shared = attached is not None or settings.layout == "filter"  # several tenants together
        corpus = shared and within_tenant and search.idf == "tenant"
        lexicon = Lexicon()
        if attached is None:
            fields = OWN
            self._places = places = Places(self._server, settings, self._options.place)
            self._loader = Loader(
                *(self._server, places, settings, self._options, lexicon),
                shared=shared and not corpus,
            )
            await places.open()
        else:
            self._places = await bind(self._server, settings, attached, search)
            fields = self._places.fields
        self._scheme = Scheme(fields, search, corpus)
        self._shared_idf = shared and not corpus
        self._reader = Reader(
            *(self._server, self._places, self._scheme, lexicon),
            server_terms=attached is not None and search.sparse_model == "qdrant/bm25",
            distances=await self._has_distances(),
        )

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """In bodies of at most `batch_bytes`; all are applied when this returns."""
        await self._own().put(chunks)

    async def settle(self) -> None:
        """Weigh new tenants' terms, start the optimiser, wait until it has nothing to do."""
        loader, seconds = self._own(), self._options.place.settle_timeout
        try:
            async with asyncio.timeout(seconds):
                await loader.weigh()
                await loader.places.settle()
        except TimeoutError:
            raise TimedOut(
                f"collection {self._settings.place!r} did not settle within {seconds:g} s; "
                "raise options.place.settle_timeout"
            ) from None

    async def search(self, query: Query) -> Response:
        """One request, whatever the mode; `build_request` makes it."""
        return await self._reader.search(query)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """By one filter of tenant and ids."""
        return await self._reader.get(tenant, uids)

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """By one filter of tenant and ids."""
        loader = self._own(tenant)
        await loader.weigh()  # what waits to be weighed must still be there
        await delete_chunks(self._server, loader.places, tenant, uids)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """One write where both are in one collection, else a copy and then a removal."""
        loader = self._own(source, target)
        await loader.weigh()
        await move_chunk(self._server, loader.places, self._reader, uid, source, target)

    async def explain(self, query: Query) -> Plan:
        """See `evidence`: Qdrant has no plan to show."""
        return await self._reader.explain(query)

    async def describe(self) -> Description:
        """Chunks are counted by the server's exact facet of the tenant field."""
        information = await self._places.information()
        fields = self._scheme.fields
        if isinstance(self._places, Places):
            found = await count_own(self._server, self._places.collections())
        else:
            name = self._places.name
            found = await count_attached(self._server, name, information[0], fields)
            ranked = ranking_weakness(information[0], fields) if self._settings.dimension else []
            found = replace(
                found,
                weaknesses=(*ranked, *found.weaknesses),
                unchecked=(*found.unchecked, *self._places.unchecked),
            )
        lexical = bool(self._settings.modes & {"lexical", "hybrid"})
        general = general_weaknesses(
            information, key="api_key" in self._settings.secrets, lexical=lexical
        )
        idf = {"idf": "collection" if self._shared_idf else "tenant"} if lexical else {}
        counted = self._loader.settings() if lexical and self._loader else {}
        return Description(
            server="qdrant",
            server_version=self._version.version,
            client="qdrant-client",
            client_version=version("qdrant-client"),
            settings={**settings_of(information, fields), **idf, **counted},
            chunks=found.chunks,
            properties=self._properties(),
            fidelity="engine" if (self._version.commit or "").startswith("qdrant-edge") else None,
            unchecked=(*not_readable(self._version.version), *found.unchecked),
            weaknesses=(*general, *found.weaknesses),
            slow=dict.fromkeys(self._settings.modes, found.slow) if found.slow else {},
        )

    async def close(self) -> None:
        """Remove the collections that this object made, and close the connections."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):  # Ctrl-C must not leave a collection there
            try:
                if self._loader is not None:
                    await self._loader.places.remove()
            finally:
                await self._server.client.close()

    def _own(self, *tenants: TenantId) -> Loader:
        """What writes, for tenants that are some; Unsupported where nothing may be written."""
        if self._loader is None:
            raise Unsupported("qdrant: an attached collection is only read; nothing was sent")
        for tenant in tenants:
            tenant_text(tenant)
        return self._loader

    async def _has_distances(self) -> bool:
        """Whether the smallest score is the best; in our own collections it never is."""
        if isinstance(self._places, Places):
            return False
        vectors = dense_vectors((await self._places.information())[0])
        found = vectors.get(self._scheme.fields.dense)
        near = (models.Distance.EUCLID, models.Distance.MANHATTAN)
        return found is not None and found.distance in near

    def _properties(self) -> frozenset[str]:
        approximate = self._settings.modes & {"dense", "hybrid"} and not self._options.search.exact
        shared = self._settings.modes & {"lexical", "hybrid"} and self._shared_idf
        named = {"approximate": approximate, "shared_idf": shared}
        return frozenset(name for name, holds in named.items() if holds)
