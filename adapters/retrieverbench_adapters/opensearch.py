"""OpenSearch by its official client: BM25, k-NN of Lucene, and both fused by reciprocal rank."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlencode

import anyio
import orjson
from aiohttp import ClientConnectorError
from annotated_types import Ge, Gt, Le
from opensearchpy import AIOHttpConnection, AsyncOpenSearch, JSONSerializer, exceptions

from retrieverbench.adapter import Description, Recorder, Settings
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Chunk, Fidelity, Hit, Plan, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench.remote import error_for, lucene, one_line, tls_remedy
from retrieverbench.remote.lucene import Indices, Json, Scope, TextIndex, answer_part, words

__all__ = ["OpenSearch"]

_TRUST = "options.connect.ca_certs"
_OLDEST = (2, 19)  # older ones cannot fuse by rank


@dataclass(frozen=True, slots=True)
class Connect:
    """`ca_certs` is the path of the certificate authority's file for https."""

    ca_certs: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How chunks are indexed; vectors always by Lucene's HNSW.

    The other settings mean what they mean in the adapter elasticsearch.
    """

    analyzer: str = "english"
    k1: Annotated[float, Ge(0)] = 1.2
    b: Annotated[float, Ge(0), Le(1)] = 0.75
    fields: Literal["flat", "summed", "best_fields"] = "flat"
    m: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Ge(1)] = 100
    partitions: Annotated[int, Ge(1), Le(1024)] = 4
    force_merge: bool = False
    batch_bytes: Annotated[int, Ge(1)] = 1_000_000
    timeout: Annotated[float, Gt(0)] = 300.0


@dataclass(frozen=True, slots=True)
class Search:
    """`ef_search` is sent with every search: left out, the server takes k, and recall falls.

    `exact` compares every chunk of the tenant by a script. `depth` is the length of each
    leg's list before fusion, at least k. `knn_filter` means what it means in elasticsearch.
    """

    exact: bool = False
    ef_search: Annotated[int, Ge(1), Le(10_000)] = 100
    knn_filter: lucene.KnnFilter = "inside"
    tie_breaker: Annotated[float, Ge(0), Le(1)] = 0.5
    fusion: Literal["server", "client"] = "server"
    rrf_k: Annotated[int, Ge(1)] = 60
    depth: Annotated[int, Ge(1), Le(10_000)] = 100


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


class OpenSearch:
    """Indices of one shard; secrets are `user` and `password`.

    Layouts: `filter` is one index, `partition` one index whose tenants are routed to shards,
    `index` one per tenant. Differences from the other backends:
    - score: dense (1 + cosine) / 2; lexical BM25, times (k1 + 1) before version 3; hybrid
      Σ 1 / (rrf_k + rank).
    - ties: ordered by uid among the k hits; which of equal hits is the k-th, the server decides.
    - filter: inside the k-NN query and in the bool query, in both legs of hybrid; in layout
      `index` the name alone.
    - statistics: per shard, of all tenants in it (`shared_idf`, but in layout `index`).
    - fusion: in the server by a search pipeline that each request carries, or in the client.
    - engine: Lucene is always named; the default, faiss, needs a native library.
    - total, by id, attached: as in the adapter elasticsearch.
    - questions: of at most 1,024 words, counted in each field, unless the server is told more.
    """

    options: ClassVar[type] = Options
    address: ClassVar[str] = "http://HOST:9200"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "partition", "index", "where", "exact"}
        | {"put", "attach", "get", "delete", "move", "explain", "total", "record"}
        | {"resume", "remove"}
    )
    filter_modes: ClassVar[Mapping[str, Mapping[str, Mapping[str, object]]]] = lucene.FILTER_MODES

    def __init__(self, settings: Settings, options: Options, client: AsyncOpenSearch) -> None:
        place = options.place
        self._settings = settings
        self._options = options
        self._client = client
        fields = lucene.attached_fields(settings.attached)
        self._text = TextIndex(
            *(place.analyzer, place.k1, place.b, place.fields, options.search.tie_breaker, fields)
        )
        self._indices = Indices(
            backend="opensearch",
            send=self._send,
            place=settings.attached.name if settings.attached else settings.place,
            isolation=settings.layout,
            text=self._text,
            body={} if settings.attached else _index(settings, place, self._text),
            timeout=place.timeout,
            attached=settings.attached is not None,
            resume=settings.resume,
        )
        self._pipeline: Json | None = None
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check settings and version; make the index, take one of equal schema, or bind to one."""
        options = parse_options(Options, settings.options, "opensearch: options")
        wrong = lucene.settings_faults("opensearch", settings, "user, password")
        if wrong:
            raise InputError(*wrong)
        adapter = cls(settings, options, _connect(settings, options.connect))
        try:
            served = _checked_version(await adapter._send("GET", "/"))
            if options.search.fusion == "server":
                adapter._pipeline = _pipeline(options.search, served)
            if settings.attached:
                await lucene.bind(adapter._indices, settings, by_script=options.search.exact)
            await adapter._indices.open()
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BackendError):
                await adapter.close()
            raise
        return adapter

    @classmethod
    async def remove(cls, settings: Settings) -> None:
        """The index of this name, or those of its tenants."""
        options = parse_options(Options, settings.options, "opensearch: options")
        adapter = cls(settings, options, _connect(settings, options.connect))
        await lucene.remove_left(adapter._indices, adapter.close)

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Bulk requests of at most `batch_bytes`; the first item that fails is raised."""
        await self._indices.put(chunks, self._options.place.batch_bytes)

    async def settle(self) -> None:
        """Refresh; with `force_merge` first merge to one segment."""
        await self._indices.settle(force_merge=self._options.place.force_merge)

    async def search(self, query: Query) -> Response:
        """One request, also for hybrid."""
        bodies = self._bodies(query, self._pipeline)
        found = await lucene.search(self._indices, query, bodies, self._options.search.rrf_k)
        if found.hits and found.hits[-1].score < 0:  # so answers a server without the pipeline
            raise AdapterError("opensearch: the server did not fuse: it answers negative scores")
        return found

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks, found by a search under its condition."""
        return await lucene.get(self._indices, tenant, uids)

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Delete the tenant's own among these chunks, found by a search under its condition."""
        await lucene.delete(self._indices, tenant, uids)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the tenant's field; with places per tenant delete here and write there."""
        await lucene.move(self._indices, uid, source, target)

    async def explain(self, query: Query) -> Plan:
        """The server's profile, of hybrid mode that of both searches: it profiles no fusion."""
        return await lucene.explain(self._indices, query, self._bodies(query, None))

    async def describe(self) -> Description:
        """Versions, mapping, settings and counts as the server tells them."""
        told = (await self._send("GET", "/"))["version"]
        options, dense = self._options.search, self._settings.modes & {"dense", "hybrid"}
        properties = {
            "shared_idf": lucene.shares_statistics(self._settings),
            "approximate": dense and not options.exact,
        }
        # Every release says how it was packed; jars put together by a launcher cannot.
        fidelity: Fidelity = "engine" if told["build_type"] == "unknown" else "server"
        client = ("opensearch-py", version("opensearch-py"))
        return await lucene.describe(
            self._indices, told, client, fidelity, asdict(options), properties
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

    def _bodies(self, query: Query, pipeline: Json | None) -> list[Json]:
        """One search; of hybrid mode without a pipeline the two whose ranks the client fuses."""
        search, scope, text = self._options.search, self._indices.scope(query.tenant), self._text
        shown = answer_part(query, query.k, text)
        if query.mode == "lexical":
            return [{"query": words(query, scope, text), **shown}]
        if query.mode == "dense":
            return [{"query": _nearest(query, scope, query.k, search, text), **shown}]
        depth = max(query.k, search.depth)
        queries = [words(query, scope, text), _nearest(query, scope, depth, search, text)]
        if pipeline is None:
            return [{"query": one, **shown, "size": depth} for one in queries]
        hybrid = {"hybrid": {"queries": queries, "pagination_depth": depth}}
        return [{"query": hybrid, "search_pipeline": pipeline, **shown}]

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """One request through the client; its errors as ours."""
        lines = path.endswith(("_bulk", "_msearch"))
        with _errors(self._settings.endpoint):
            answer = await self._client.transport.perform_request(
                method,
                path,
                params=dict(params or {}),
                body=body,
                timeout=timeout or self._settings.timeout,
                headers={"content-type": "application/x-ndjson"} if lines else None,
            )
            return lucene.object_in(answer, "opensearch", path)


def _checked_version(info: Json) -> tuple[int, ...]:
    """Major and minor; Unsupported for another product and for what this adapter is not for."""
    told = info.get("version", {})
    if told.get("distribution") != "opensearch":
        raise Unsupported(f"opensearch: the server is something else: {one_line(str(told), 200)}")
    number = str(told["number"])
    served = tuple(int(part) for part in number.split(".")[:2])
    if served < _OLDEST:
        raise Unsupported(f"opensearch: server {number} is too old; use 2.19 or newer")
    return served


def _index(settings: Settings, place: Place, text: TextIndex) -> Json:
    """Mapping and settings of each index."""
    vector = None
    if settings.dimension:
        parameters = {"m": place.m, "ef_construction": place.ef_construction}
        method: Json = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        method["parameters"] = parameters
        vector = {"type": "knn_vector", "dimension": settings.dimension, "method": method}
    routed = settings.layout == "partition"
    shards, special = place.partitions if routed else 1, {"knn": True} if vector else {}
    return lucene.index_body(text, vector, special, shards=shards, routed=routed)


def _pipeline(search: Search, served: tuple[int, ...]) -> Json:
    """Fusion in the server; a constant in the other version's place would be ignored silently."""
    constant: Json = {"rank_constant": search.rrf_k}
    combination = constant if served >= (3,) else {"parameters": constant}
    ranked = {"score-ranker-processor": {"combination": {"technique": "rrf", **combination}}}
    return {"phase_results_processors": [ranked]}


def _nearest(query: Query, scope: Scope, k: int, search: Search, text: TextIndex) -> Json:
    """The filter stands inside: beside the k-NN query it cuts hits after the search."""
    vector, field = lucene.float32(query.vector, "the query"), text.names.vector
    met, is_inside = lucene.conditions(query, scope, text), search.knn_filter == "inside"
    kept: Json = {"bool": {"filter": met}} if is_inside else {"match_all": {}}
    if search.exact:
        parameters = {"field": field, "query_value": vector, "space_type": "cosinesimil"}
        script = {"lang": "knn", "source": "knn_score", "params": parameters}
        nearest: Json = {"script_score": {"query": kept, "script": script}}
    else:
        parameters = {"ef_search": max(k, search.ef_search)}
        found: Json = {"vector": vector, "k": k, "method_parameters": parameters}
        nearest = {"knn": {field: {**found, "filter": kept} if is_inside else found}}
    return nearest if is_inside else lucene.beside(nearest, met)


class _Connection(AIOHttpConnection):
    """The client's own, which would log each failure with a traceback on standard error."""

    def log_request_fail(self, *_: Any, **__: Any) -> None:
        pass


class _Recorded(_Connection):
    """Shows every request and answer, next to the socket; headers of an error are not told."""

    def __init__(self, *, recorder: Recorder, **more: Any) -> None:
        super().__init__(**more)
        self._recorder = recorder

    async def perform_request(
        self, method: str, url: str, params: Any = None, body: Any = None, *rest: Any, **more: Any
    ) -> Any:
        target = f"{url}?{urlencode(params)}" if params else url
        shown, told = self._recorder, f"{method} {target}"
        lucene.show_request(shown, method, target, body)
        try:
            answer = await super().perform_request(method, url, params, body, *rest, **more)
        except exceptions.TransportError as error:
            lucene.show_response(shown, told, error.status_code, {}, error.info)
            raise
        lucene.show_response(shown, told, *answer)
        return answer


class _Serializer(JSONSerializer):
    """Reads answers by the library that writes the requests."""

    def loads(self, s: str) -> Any:
        try:
            return orjson.loads(s)
        except ValueError as error:
            raise exceptions.SerializationError(s, error) from error


def _connect(settings: Settings, connect: Connect) -> AsyncOpenSearch:
    """A client with a kept connection for every search in flight, without retries."""
    password, user = settings.secrets.get("password"), settings.secrets.get("user")
    more: Json = {}
    if password is not None:
        more["http_auth"] = ("admin" if user is None else user.reveal(), password.reveal())
    try:
        if settings.endpoint.startswith("https:"):
            more["ssl_context"] = ssl.create_default_context(cafile=connect.ca_certs)
        elif connect.ca_certs:
            raise InputError(f"opensearch: {_TRUST}: the endpoint is not https")
        recorded = {"connection_class": _Recorded, "recorder": settings.recorder}
        more |= recorded if settings.recorder else {"connection_class": _Connection}
        return AsyncOpenSearch(
            hosts=[settings.endpoint],
            maxsize=settings.concurrency,
            max_retries=0,
            retry_on_timeout=False,
            timeout=settings.timeout,
            serializers={"application/json": _Serializer()},
            **more,
        )
    except OSError as error:
        raise InputError(f"opensearch: {_TRUST}: {connect.ca_certs!r}: {error}") from None
    except (exceptions.ImproperlyConfigured, ValueError) as error:
        raise InputError(f"opensearch: endpoint {settings.endpoint!r}: {error}") from None


@contextmanager
def _errors(endpoint: str) -> Iterator[None]:
    """Every error of the client as one of ours, with the server's own words."""
    try:
        yield
    except exceptions.ConnectionTimeout as error:
        raise TimedOut(f"opensearch: {endpoint} gave no answer in time") from error
    except exceptions.ConnectionError as error:
        code = Code.CONNECT if isinstance(error.info, ClientConnectorError) else Code.RESET
        text = f"opensearch: {endpoint}: {one_line(str(error.info))}"
        if isinstance(error.info, UnicodeDecodeError):  # a body that came, and is no text
            raise AdapterError(text) from error
        raise Unavailable(text, code=code, remedy=tls_remedy(text, _TRUST)) from error
    except exceptions.TransportError as error:
        told = error.info.get("error") if isinstance(error.info, dict) else None
        words = lucene.error_words(told or error.error)
        # A question of too many words is the server's fault by its status, and not by its words.
        status = 400 if words.startswith("too_many_") else int(error.status_code)
        raise error_for(status, f"opensearch: {error.status_code}: {words}") from error
    except exceptions.SerializationError as error:
        raise AdapterError(f"opensearch: {endpoint}: {one_line(str(error))}") from error
