"""Qdrant through its official asyncio client (REST), one collection for all tenants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from math import isfinite
from typing import ClassVar, Self, TypeVar

import anyio
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from retrieverbench.adapter import OWN_PREFIX, Description, Settings
from retrieverbench.errors import (
    AdapterError,
    InputError,
    MissingClient,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Chunk, Hit, Query, Response
from retrieverbench.options import parse_options
from retrieverbench_adapters.qdrant.client import make_client, translated
from retrieverbench_adapters.qdrant.collection import (
    check_schema,
    check_tenant_index,
    dense_config,
    hnsw_config,
    is_settled,
    settings_of,
    sparse_config,
)
from retrieverbench_adapters.qdrant.options import Options
from retrieverbench_adapters.qdrant.requests import (
    DENSE,
    SPARSE,
    TENANT,
    WHERE,
    bodies,
    build_request,
    pieces,
    point_id,
    point_row,
    sparse_vector,
    tenant_text,
    vector_row,
)
from retrieverbench_adapters.qdrant.terms import Lexicon, TermCounts, document_weights

__all__ = ["Options", "Qdrant"]

T = TypeVar("T")
_CLIENT_FLOOR = (1, 20)  # older ones drop root filters of fusions in their local mode
_RRF_CONSTANT_SINCE, _IDF_CORPUS_SINCE = (1, 16), (1, 19)
_NO_TERMS = TermCounts({}, 0)


class Qdrant:
    """Dense vectors (cosine), BM25 as sparse vectors, and both fused by the server's RRF.

    Differences:
    - Scores: cosine in dense; BM25 without Lucene's lossy lengths in lexical; in hybrid the
      sum of 1/(rank_constant + rank), for which the server's own k is one more.
    - Lexical: terms, frequencies and lengths are ours (words, lower case, Lucene's English
      stop words, Porter's stems), IDF is the server's: over the tenant's own chunks
      (`idf = "tenant"`, server 1.19 and newer), else over all. Terms are 32-bit hashes; two
      terms of one hash count as one, and `describe` tells how many do.
    - Average length: counted at the first `settle` that knows the tenant (all tenants, with
      `idf = "collection"`), then kept. Tenants thus move no score of each other's.
    - Ties leave the server's fusion in random order. They are ordered by uid here, but a tie
      at the cut can still change which hits there are: `stable_ties` is not claimed.
    - `where` is compared with values stored for it as JSON of (key, value): numbers are
      equal as numbers (1 = 1.0), a boolean only to a boolean. Filters work inside the search.
    - Visibility: a write is searchable when it returns. `settle` waits for the optimiser; a
      segment below `indexing_threshold` stays unindexed and is scanned: `indexed_share`.
    - A collection that exists with the same schema is used, and not removed by `close`.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options, client: AsyncQdrantClient) -> None:
        """For `open` only."""
        self._settings = settings
        self._options = options
        self._client = client
        self._server = models.VersionInfo(title="", version="0.0")
        self._idf_corpus = False
        self._created = False
        self._closed = False
        self._lexicon = Lexicon()
        self._average: dict[str, float] = {}
        self._unweighted: dict[str, dict[str, TermCounts]] = {}

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """See Adapter. The secret `api_key` is optional; a URL without port means 6333."""
        options = parse_options(Options, settings.options, "qdrant options")
        _check(settings)
        self = cls(settings, options, make_client(settings))
        try:
            self._server = await self._call(self._client.info())
            self._check_server()
            if await self._call(self._client.collection_exists(settings.place)):
                check_schema(await self._information(), settings, options.place)
            else:
                await self._create()
        except BaseException:
            await self.close()
            raise
        return self

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """In bodies of at most `batch_bytes`; all are applied when this returns."""
        rows = (point_row(chunk, self._vectors(chunk)) for chunk in chunks)
        for body in bodies(rows, self._options.connect.batch_bytes):
            await self._write("points", body)

    async def settle(self) -> None:
        """Weigh new tenants' terms, start the optimiser, wait until it has nothing to do."""
        seconds = self._options.place.settle_timeout
        try:
            async with asyncio.timeout(seconds):
                await self._weigh()
                await self._call(
                    self._client.update_collection(
                        self._settings.place, optimizers_config=models.OptimizersConfigDiff()
                    )
                )
                information = await self._wait_for_optimizer()
        except TimeoutError:
            raise TimedOut(
                f"collection {self._settings.place!r} did not settle within {seconds:g} s; "
                "raise options.place.settle_timeout"
            ) from None
        check_tenant_index(information, self._settings.place)

    async def search(self, query: Query) -> Response:
        """One request, whatever the mode; `build_request` makes it."""
        counts = _NO_TERMS if query.mode == "dense" else self._lexicon.count_query(query.text)
        request = build_request(query, counts, self._options.search, idf_corpus=self._idf_corpus)
        answer = await self._call(
            self._client.http.search_api.query_points(
                collection_name=self._settings.place, query_request=request
            )
        )
        return _to_response(answer)

    async def describe(self) -> Description:
        """Chunks are counted by the server's exact facet of the tenant field."""
        place = self._settings.place
        information = await self._information()
        total = (await self._call(self._client.count(place, exact=True))).count
        facet = await self._call(
            self._client.facet(place, key=TENANT, limit=max(total, 1), exact=True)
        )
        chunks = {str(hit.value): hit.count for hit in facet.hits}
        if sum(chunks.values()) != total:
            raise AdapterError(
                f"collection {place!r}: {total} points, but {sum(chunks.values())} have a tenant"
            )
        return Description(
            server="qdrant",
            server_version=self._server.version,
            client="qdrant-client",
            client_version=version("qdrant-client"),
            settings=settings_of(information) | self._lexical_settings(),
            chunks=chunks,
            properties=self._properties(),
            fidelity="engine" if (self._server.commit or "").startswith("qdrant-edge") else None,
            unchecked=self._unchecked(),
        )

    async def close(self) -> None:
        """Remove the collection if this object made it, and close the connections."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):  # Ctrl-C must not leave the collection there
            try:
                if self._created:
                    await self._call(self._client.delete_collection(self._settings.place))
            finally:
                await self._client.close()

    async def _call(self, request: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await request
        except (ApiException, QdrantException, TimeoutError) as error:
            raise translated(error, self._settings) from error

    async def _information(self) -> models.CollectionInfo:
        return await self._call(self._client.get_collection(self._settings.place))

    async def _write(self, what: str, body: bytes) -> None:
        """A body of our own through the client: its models cost five times as much CPU."""
        await self._call(
            self._client.http.client.request(
                type_=models.InlineResponse2008,
                method="PUT",
                url=f"/collections/{{place}}/{what}",
                path_params={"place": self._settings.place},
                params={"wait": "true"},
                headers={
                    "Content-Type": "application/json",
                    "Content-Length": str(len(body)),
                },
                content=pieces(body),
            )
        )

    async def _wait_for_optimizer(self) -> models.CollectionInfo:
        pause = 0.02
        while True:
            information = await self._information()
            if information.status == models.CollectionStatus.RED:
                raise Unavailable(
                    f"collection {self._settings.place!r}: {information.optimizer_status}"
                )
            if is_settled(information):
                return information
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.5)

    def _check_server(self) -> None:
        served = _numbers(self._server.version)
        if "hybrid" in self._settings.modes and served < _RRF_CONSTANT_SINCE:
            raise Unsupported(
                f"qdrant {self._server.version} cannot set the rank constant of RRF; use 1.16 "
                "or newer, or leave out mode hybrid"
            )
        wanted = self._options.search.idf == "tenant"
        self._idf_corpus = wanted and served >= _IDF_CORPUS_SINCE

    async def _create(self) -> None:
        place, options = self._settings.place, self._options.place
        await self._call(
            self._client.create_collection(
                place,
                vectors_config=dense_config(self._settings),
                sparse_vectors_config=sparse_config(self._settings),
                hnsw_config=hnsw_config(options),
                optimizers_config=models.OptimizersConfigDiff(
                    indexing_threshold=options.indexing_threshold
                ),
            )
        )
        self._created = True
        keyword = models.KeywordIndexType.KEYWORD
        for name, tenant in ((TENANT, True), (WHERE, None)):
            schema = models.KeywordIndexParams(type=keyword, is_tenant=tenant)
            await self._call(self._client.create_payload_index(place, name, schema, wait=True))

    def _vectors(self, chunk: Chunk) -> dict[str, object]:
        import numpy as np

        vectors: dict[str, object] = {}
        if self._settings.modes & {"dense", "hybrid"}:
            if chunk.vector is None:
                raise InputError(f"chunk {chunk.uid!r}: vector: missing; embed the corpus first")
            vectors[DENSE] = np.frombuffer(chunk.vector, dtype=np.float32)
        if self._settings.modes & {"lexical", "hybrid"}:
            counts = self._lexicon.count_chunk(chunk.searchable_text)
            group = tenant_text(chunk.tenant) if self._idf_corpus else ""
            average = self._options.place.avg_len or self._average.get(group)
            if average is None:
                self._unweighted.setdefault(group, {})[point_id(chunk.uid)] = counts
            elif counts.by_id:
                vectors[SPARSE] = self._weighted(counts, average)
        return vectors

    def _weighted(self, counts: TermCounts, average: float) -> dict[str, object]:
        options = self._options.place
        weights = document_weights(counts, average=average, k1=options.k1, b=options.b)
        return sparse_vector(counts, weights)

    async def _weigh(self) -> None:
        """Send the sparse vectors that had to wait for an average length."""
        for group, waiting in list(self._unweighted.items()):
            average = max(sum(one.length for one in waiting.values()) / len(waiting), 1.0)
            rows = (
                vector_row(identity, {SPARSE: self._weighted(counts, average)})
                for identity, counts in waiting.items()
                if counts.by_id
            )
            for body in bodies(rows, self._options.connect.batch_bytes):
                await self._write("points/vectors", body)
            self._average[group] = average
            del self._unweighted[group]

    def _lexical_settings(self) -> dict[str, object]:
        """What the client's side of BM25 came to; no server can tell it."""
        if not self._settings.modes & {"lexical", "hybrid"}:
            return {}
        fixed = self._options.place.avg_len
        averages = sorted(self._average.values()) if fixed is None else [fixed]
        return {
            "idf": "tenant" if self._idf_corpus else "collection",
            "avg_len_smallest": averages[0] if averages else None,
            "avg_len_largest": averages[-1] if averages else None,
            "term_hash_collisions": self._lexicon.collisions(),
        }

    def _properties(self) -> frozenset[str]:
        approximate = self._settings.modes & {"dense", "hybrid"} and not self._options.search.exact
        shared = self._settings.modes & {"lexical", "hybrid"} and not self._idf_corpus
        named = {"approximate": approximate, "shared_idf": shared}
        return frozenset(name for name, holds in named.items() if holds)

    def _unchecked(self) -> tuple[str, ...]:
        unchecked = ["search settings and BM25's k1 and b: sent or applied, not readable"]
        client, served = _numbers(version("qdrant-client")), _numbers(self._server.version)
        if client[0] != served[0] or abs(client[1] - served[1]) > 1:
            unchecked.append(
                f"client {version('qdrant-client')} is not made for server {self._server.version}"
            )
        return tuple(unchecked)


def _check(settings: Settings) -> None:
    installed = version("qdrant-client")
    if _numbers(installed) < _CLIENT_FLOOR:
        raise MissingClient(
            f"qdrant-client {installed} is too old; run: pip install 'retrieverbench[qdrant]'"
        )
    faults = []
    if not settings.endpoint:
        faults.append("qdrant: endpoint: empty; give the server's URL")
    if settings.layout != "filter":
        faults.append(f"qdrant: layout: {settings.layout!r} is not supported; use 'filter'")
    if not settings.place.startswith(OWN_PREFIX):
        faults.append(f"qdrant: place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.modes & {"dense", "hybrid"} and settings.dimension < 1:
        faults.append(f"qdrant: dimension: {settings.dimension}; dense vectors need one")
    if settings.concurrency < 1:
        faults.append(f"qdrant: concurrency: {settings.concurrency}; must be 1 or more")
    if faults:
        raise InputError(*faults)


def _to_response(answer: models.InlineResponse20022) -> Response:
    if answer.result is None:
        raise AdapterError("qdrant: an answer without result")
    hits = []
    for point in answer.result.points:
        payload = point.payload or {}
        uid = payload.get("uid")
        if type(uid) is not str or not isfinite(point.score):
            raise AdapterError(f"qdrant: point {point.id}: uid {uid!r:.80}, score {point.score}")
        hits.append(Hit(uid, point.score, payload.get(TENANT), payload.get("text")))
    hits.sort(key=lambda hit: (-hit.score, hit.uid))
    return Response(hits, server_ms=None if answer.time is None else answer.time * 1000)


def _numbers(text: str) -> tuple[int, int]:
    """Major and minor of a version; (0, 0) for what is none."""
    parts = text.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return 0, 0
    return int(parts[0]), int(parts[1])
