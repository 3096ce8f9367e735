"""Azure AI Search through the official asynchronous client, api-version 2026-04-01.

One index holds all tenants (layout `filter`). Lexical search is the service's BM25 over
title, newline and text in one field; dense search is cosine; hybrid is one request with
both, fused by the service (reciprocal rank fusion, constant 60, rank from 0).

Differences from the other backends:
- score: 1 / (2 - cosine) in 1/3..1; BM25 with the factor k1 + 1; the fused sum. Never
  comparable across modes.
- ties: undefined and not stable.
- visibility: eventual (property `eventual_visibility`); `settle` asks until all is there.
- filter: before ranking (`preFilter`, sent explicitly); it removes hits and never changes a
  text score.
- statistics: of all tenants together (property `shared_idf`), over all shards (`global`).
- dense search is approximate unless `search.exact` is true.
- at most 1,000 hits in one request; more are refused, not cut.
- `where`: metadata is kept as JSON pairs `["key",value]` in one filterable collection, so
  that equality is exact and typed; as in JSON, 1 is 1.0 and neither is true.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal, Self, cast
from urllib.parse import urlsplit

import aiohttp
import anyio
from annotated_types import Ge, Gt, Le
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    AzureError,
    ResourceExistsError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.transport import AioHttpTransport
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.models import IndexDocumentsBatch, IndexingResult, VectorizedQuery

from retrieverbench.adapter import OWN_PREFIX, Description, Settings
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    Refused,
    Rejected,
    TenantError,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Chunk, Fidelity, Hit, Query, Response, TenantId, Value
from retrieverbench.options import parse_options

MAX_HITS = 1000
MAX_ACTIONS = 1000
MAX_BATCH_BYTES = 1_000_000  # the service takes 16 MB; aiohttp warns of bodies above 1 MiB
FIDELITY_HEADER = "x-retrieverbench-fidelity"
_INDEX_NAME = re.compile(r"(?!.*(?:--|__|-_|_-))[a-z0-9][a-z0-9_-]{1,127}")
_FIDELITIES: tuple[Fidelity, ...] = ("server", "engine", "stand-in")


@dataclass(frozen=True, slots=True)
class Connect:
    """How the service is spoken to."""

    api_version: str = "2026-04-01"


@dataclass(frozen=True, slots=True)
class Place:
    """The index; the defaults are the service's own, but for the English analyzer."""

    analyzer: str = "en.lucene"
    m: Annotated[int, Ge(4), Le(10)] = 4
    ef_construction: Annotated[int, Ge(100), Le(1000)] = 400
    ef_search: Annotated[int, Ge(100), Le(1000)] = 500
    settle_seconds: Annotated[float, Gt(0)] = 60.0


@dataclass(frozen=True, slots=True)
class Search:
    """`vector_k` is the length of the vector list, by default 50 or k if that is more.

    `raw_syntax` sends query texts as they are; otherwise they are escaped, so that every
    text is words and no operator.
    """

    exact: bool = False
    search_mode: Literal["any", "all"] = "any"
    raw_syntax: bool = False
    vector_k: Annotated[int, Ge(1)] | None = None
    vector_weight: Annotated[float, Gt(0)] = 1.0
    vector_filter_mode: Literal["preFilter", "postFilter", "strictPostFilter"] = "preFilter"
    scoring_statistics: Literal["global", "local"] = "global"
    session_id: str = "retrieverbench"


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


class AzureSearch:
    """One index of its own, one connection pool for the whole run. No tenant in any state."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._key = settings.secrets["api_key"].reveal()
        self._name = index_name(settings.place)
        self._session, shared = _client_settings(settings, options)
        endpoint, credential = settings.endpoint.rstrip("/"), AzureKeyCredential(self._key)
        self._indexes = SearchIndexClient(endpoint, credential, **shared)
        self._documents = SearchClient(endpoint, self._name, credential, **shared)
        self._created = self._closed = False
        self._expected = 0
        self._last: Chunk | None = None

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect with the key `secrets["api_key"]` and make the index, or find it empty of us."""
        options = parse_options(Options, settings.options, "azure_search: options")
        faults = _setting_faults(settings)
        if faults:
            raise InputError(*faults)
        adapter = cls(settings, options)
        try:
            await adapter._make_index()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await adapter.close()
            raise
        return adapter

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Upload in batches cut by count and bytes; every item's failure is raised."""
        for chunk in chunks:
            if not isinstance(chunk.tenant, TenantId):
                raise TenantError(f"azure_search: chunk {chunk.id!r}: its tenant is not checked")
        documents = (document(chunk, self._settings.dimension) for chunk in chunks)
        for batch in batches(documents):
            actions = IndexDocumentsBatch()
            actions.add_upload_actions(batch)
            with self._calling("put"):
                items = await self._documents.index_documents(
                    actions, raw_response_hook=self._answer()
                )
                check_items(batch, items)
            self._expected += sum(item.status_code == 201 for item in items)
        if chunks:
            self._last = chunks[-1]

    async def settle(self) -> None:
        """Ask until the count is right and the last chunk is found as it was written."""
        seconds, wait, counted = self._options.place.settle_seconds, 0.02, -1
        with anyio.move_on_after(seconds):
            while True:
                with self._calling("settle"):
                    counted = await self._documents.get_document_count(
                        raw_response_hook=self._answer()
                    )
                if counted == self._expected and await self._last_is_visible():
                    return
                await anyio.sleep(wait)
                wait = min(2 * wait, 1.0)
        raise TimedOut(
            f"azure_search: settle: {counted} of {self._expected} documents visible after "
            f"{seconds:g} s; raise place.settle_seconds or look at the service's indexing load"
        )

    async def search(self, query: Query) -> Response:
        """One request with `top`; everything is read here, for the client itself is lazy."""
        arguments = search_arguments(query, self._options.search)
        answer = self._answer()
        hits: list[Hit] = []
        total = None
        with self._calling("search"):
            results = await self._documents.search(**arguments, raw_response_hook=answer)
            async for raw in results:
                if len(hits) == query.k:
                    raise AdapterError(f"azure_search: search: more than {query.k} hits")
                hits.append(_hit(raw, want_text="text" in query.want))
            if "total" in query.want:
                total = await results.get_count()
        return Response(hits, answer.server_ms, answer.status == 206, total)

    async def describe(self) -> Description:
        """The definition as the service shows it, its counts, and what is sent with each search."""
        answer = self._answer()
        with self._calling("describe"):
            index = await self._indexes.get_index(self._name, raw_response_hook=answer)
            documents = await self._documents.get_document_count(raw_response_hook=self._answer())
            facets = await self._documents.search(
                "*", facets=["tenant,count:0"], top=0, raw_response_hook=self._answer()
            )
            per_tenant = (await facets.get_facets() or {})["tenant"]
        limits, unchecked = await self._service_limits()
        search = self._options.search
        properties = {"shared_idf", "eventual_visibility"}
        if self._settings.dimension and not search.exact:
            properties.add("approximate")
        return Description(
            server="Azure AI Search",
            server_version=f"api-version {self._options.connect.api_version}",
            client="azure-search-documents",
            client_version=version("azure-search-documents"),
            settings={
                **read_definition(_plain(index)),
                **{f"search.{name}": getattr(search, name) for name in search.__slots__},
                **limits,
                "azure_core": version("azure-core"),
                "documents": documents,
                "enforced_by": "caller filter",
            },
            chunks={str(facet["value"]): int(facet["count"]) for facet in per_tenant},
            properties=frozenset(properties),
            fidelity=next((word for word in _FIDELITIES if word == answer.fidelity), None),
            unchecked=unchecked,
        )

    async def close(self) -> None:
        """Delete the index if this object made it, and release the connections."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._created:
                with self._calling("close"):
                    await self._indexes.delete_index(
                        self._name, raw_response_hook=self._answer(tolerated=404)
                    )
        finally:
            await self._documents.close()
            await self._indexes.close()
            await self._session.close()

    async def _make_index(self) -> None:
        wanted = index_definition(self._name, self._settings.dimension, self._options.place)
        with self._calling("open"):
            try:
                await self._indexes.create_index(
                    wanted, raw_response_hook=self._answer(tolerated=409)
                )
                self._created = True
            except ResourceExistsError:
                found = await self._indexes.get_index(self._name, raw_response_hook=self._answer())
                different = differences(wanted, _plain(found))
                if different:
                    raise Rejected(
                        f"azure_search: open: index {self._name!r} exists with another schema: "
                        f"{'; '.join(different[:5])}; delete it or use another place"
                    ) from None
                self._expected = await self._documents.get_document_count(
                    raw_response_hook=self._answer()
                )

    async def _last_is_visible(self) -> bool:
        if self._last is None:
            return True
        condition = (
            f"({tenant_filter(self._last.tenant)}) and (key eq {literal(key(self._last.uid))})"
        )
        with self._calling("settle"):
            found = await self._documents.search(
                "*",
                filter=condition,
                top=1,
                select=["content"],
                raw_response_hook=self._answer(),
            )
            return [hit["content"] async for hit in found] == [self._last.searchable_text]

    async def _service_limits(self) -> tuple[Mapping[str, object], tuple[str, ...]]:
        try:
            with self._calling("describe"):
                statistics = await self._indexes.get_service_statistics(
                    raw_response_hook=self._answer()
                )
        except Refused:
            return {}, ("service statistics: the key may not read them",)
        limits = _plain(statistics).get("limits") or {}
        return {f"limits.{name}": value for name, value in limits.items()}, ()

    def _answer(self, *, tolerated: int = 0) -> _Answer:
        return _Answer(self._key, tolerated)

    @contextmanager
    def _calling(self, doing: str) -> Iterator[None]:
        """One deadline around the client, and its exceptions as ours."""
        place = f"azure_search: {doing}"
        try:
            with anyio.fail_after(self._settings.timeout):
                yield
        except (TimeoutError, ServiceRequestTimeoutError, ServiceResponseTimeoutError) as error:
            raise TimedOut(f"{place}: no answer in {self._settings.timeout:g} s") from error
        except (ServiceRequestError, ServiceResponseError) as error:
            refused = isinstance(error.inner_exception, aiohttp.ClientConnectorError)
            code = Code.CONNECT if refused else Code.RESET
            raise Unavailable(f"{place}: {error.message}", code=code) from error
        except (AzureError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise AdapterError(f"{place}: unexpected answer: {error!r:.300}") from error


@dataclass(slots=True)
class _Answer:
    """Sees an answer before the client does: raises errors, keeps what the client drops.

    The client splits a batch answered by 413 wrongly (12.0.0) and logs a traceback for an
    error without body; raising here forestalls both. `tolerated` is a status that the
    client may handle itself.
    """

    secret: str
    tolerated: int = 0
    status: int = 0
    server_ms: float | None = None
    fidelity: str | None = None

    def __call__(self, response: Any) -> None:
        http = response.http_response
        self.status, headers = http.status_code, http.headers
        self.fidelity = headers.get(FIDELITY_HEADER)
        self.server_ms = _number(headers.get("elapsed-time"))
        if self.status >= 400 and self.status != self.tolerated:
            text = error_text(self.status, http.text()).replace(self.secret, "***")
            raise http_error(self.status, text, _number(headers.get("retry-after")))


def http_error(status: int, text: str, retry_after: float | None) -> BackendError:
    """The error for a status; `text` is the service's own."""
    message = f"azure_search: {text}"
    if status in {429, 503}:
        return Throttled(message, retry_after=retry_after)
    if status in {401, 403}:
        return Refused(f"{message}; check the key and its rights")
    if status == 501:
        return Unsupported(message)
    if status >= 500:
        return Unavailable(message, code=Code.HTTP_5XX)
    return Rejected(message)


def error_text(status: int, body: str) -> str:
    """The service's message on one line, or what is known when there is none."""
    try:
        error = json.loads(body)["error"]
        message = f"{error.get('code') or ''} {error['message']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        message = body or "no text in the answer"
    return f"status {status}: {' '.join(message.split())[:1000]}"


def literal(value: str) -> str:
    """An OData string: quotes around, quotes inside doubled, nothing else changed."""
    if type(value) is not str or "\0" in value:
        raise InputError(f"azure_search: {value!r:.80} cannot be written in a filter")
    return "'" + value.replace("'", "''") + "'"


def tenant_filter(tenant: TenantId) -> str:
    """The only place where a tenant condition is written. Never search.in: it splits values."""
    if not isinstance(tenant, TenantId):
        raise TenantError(f"azure_search: tenant: {tenant!r:.80} is not a checked tenant")
    return f"tenant eq {literal(tenant.value)}"


def query_filter(tenant: TenantId, where: Mapping[str, Value]) -> str:
    """The tenant's condition, and the user's in parentheses of their own, joined by and."""
    condition = tenant_filter(tenant)
    if not where:
        return condition
    users = " and ".join(f"metadata/any(m: m eq {literal(pair(*item))})" for item in where.items())
    return f"({condition}) and ({users})"


def pair(name: str, value: Value) -> str:
    """A metadata entry as one text, injective up to JSON's equality of numbers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps([name, value], ensure_ascii=False)


def escape(text: str) -> str:
    """A text as words of the simple syntax: its operators lose their meaning."""
    escaped = re.sub(r"""([+|"()'\\])""", r"\\\1", text)
    escaped = re.sub(r"(?<!\S)-", r"\\-", escaped)
    return re.sub(r"\*(?!\S)", r"\\*", escaped)


def search_arguments(query: Query, options: Search) -> dict[str, Any]:
    """The arguments of the client's `search`, the same filter for every leg."""
    if query.k > MAX_HITS:
        raise Unsupported(f"azure_search: k = {query.k}; the service gives {MAX_HITS} at most")
    arguments: dict[str, Any] = {
        "filter": query_filter(query.tenant, query.where),
        "top": query.k,
        "select": ["uid", "tenant", *(["content", "text"] if "text" in query.want else [])],
        "include_total_count": True if "total" in query.want else None,
        "vector_filter_mode": options.vector_filter_mode,
        "scoring_statistics": options.scoring_statistics,
        "session_id": options.session_id,
    }
    if query.mode != "dense":
        if not query.text.strip():
            raise InputError("azure_search: the query text is empty, which would match everything")
        arguments |= {
            "search_text": query.text if options.raw_syntax else escape(query.text),
            "query_type": "simple",
            "search_mode": options.search_mode,
            "search_fields": ["content"],
        }
    if query.mode != "lexical":
        if query.vector is None:
            raise InputError(f"azure_search: a {query.mode} query without a vector")
        vector = VectorizedQuery(
            vector=list(query.vector),
            k_nearest_neighbors=options.vector_k or max(50, query.k),
            fields="vector",
            exhaustive=options.exact,
            weight=options.vector_weight,
        )
        arguments["vector_queries"] = [vector]
    return arguments


def document(chunk: Chunk, dimension: int) -> dict[str, Any]:
    """A chunk as the index holds it. `text` is there only where `content` has a title too."""
    found: dict[str, Any] = {
        "key": key(chunk.uid),
        "uid": chunk.uid,
        "id": chunk.id,
        "tenant": chunk.tenant.value,
        "content": chunk.searchable_text,
        "text": chunk.text if chunk.title else None,
        "metadata": [pair(name, value) for name, value in chunk.metadata.items()],
    }
    if dimension:
        if chunk.vector is None:
            raise InputError(f"azure_search: chunk {chunk.uid!r}: it has no vector")
        found["vector"] = list(chunk.vector)
    return found


def key(uid: str) -> str:
    """A legal document key, equal for equal uids only: base64, or a hash when too long."""
    encoded = "u-" + base64.urlsafe_b64encode(uid.encode()).decode()
    return encoded if len(encoded) <= 1024 else "h-" + hashlib.sha256(uid.encode()).hexdigest()


def index_name(place: str) -> str:
    """A legal index name, equal for equal places only: what had to change adds a hash."""
    if _INDEX_NAME.fullmatch(place):
        return place
    letters = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
    return f"{letters[:80]}-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def batches(documents: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Parts of at most 1,000 documents and 1 MB of JSON, in order."""
    batch: list[dict[str, Any]] = []
    total = 0
    for item in documents:
        size = len(json.dumps(item)) + 40  # the action's name is added to each
        if batch and (len(batch) == MAX_ACTIONS or total + size > MAX_BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def check_items(batch: Sequence[Mapping[str, Any]], items: Sequence[IndexingResult]) -> None:
    """Raise what the client only reports: items that failed, or are not mentioned at all."""
    failed = [item for item in items if not item.succeeded]
    if failed:
        uids = {item["key"]: item["uid"] for item in batch}
        first = failed[0]
        text = (
            f"status {first.status_code}: chunk {uids.get(first.key)!r}: {first.error_message}; "
            f"{len(failed)} of {len(batch)} chunks were refused"
        )
        raise http_error(first.status_code, text, None)
    if {item.key for item in items} != {item["key"] for item in batch}:
        raise AdapterError("azure_search: put: the answer does not name every chunk sent")


def index_definition(name: str, dimension: int, place: Place) -> dict[str, Any]:
    """The index as it is asked for, every attribute explicit: left out would mean true."""
    fields = [
        _field("key", "key", "filterable", "retrievable"),
        _field("uid", "retrievable"),
        _field("id", "retrievable"),
        # A normalizer would fold the case of tenants; asking for none makes its presence show.
        _field("tenant", "filterable", "facetable", "retrievable") | {"normalizer": None},
        _field("content", "searchable", "retrievable") | {"analyzer": place.analyzer},
        _field("text", "retrievable"),
        _field("metadata", "filterable", kind="Collection(Edm.String)"),
    ]
    definition: dict[str, Any] = {"name": name, "fields": fields}
    if dimension:
        vector = _field("vector", "searchable", kind="Collection(Edm.Single)")
        fields.append(vector | {"dimensions": dimension, "vectorSearchProfile": "vectors"})
        parameters = {
            "m": place.m,
            "efConstruction": place.ef_construction,
            "efSearch": place.ef_search,
            "metric": "cosine",
        }
        definition["vectorSearch"] = {
            "algorithms": [{"name": "graph", "kind": "hnsw", "hnswParameters": parameters}],
            "profiles": [{"name": "vectors", "algorithm": "graph"}],
        }
    return definition


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where what the service shows is not what was asked for; it may show more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        pairs = [(name, value, found.get(name)) for name, value in wanted.items()]
    elif isinstance(wanted, list) and isinstance(found, list):
        named = {item["name"]: item for item in found}
        pairs = [(item["name"], item, named.pop(item["name"], None)) for item in wanted]
        pairs += [(name, None, item) for name, item in named.items()]
    else:
        return [] if wanted == found else [f"{path} is {found!r:.60}, not {wanted!r:.60}"]
    return [
        line
        for name, asked, shown in pairs
        for line in differences(asked, shown, f"{path}.{name}".strip("."))
    ]


def read_definition(shown: Mapping[str, Any]) -> dict[str, object]:
    """What matters of a definition, as the service shows it, and a hash of the rest."""
    fields = {item["name"]: item for item in shown["fields"]}
    kept = {k: v for k, v in shown.items() if k != "name" and not k.startswith("@odata.")}
    found: dict[str, object] = {
        "definition_sha256": hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest(),
        "analyzer": fields["content"].get("analyzer"),
        "tenant.type": fields["tenant"].get("type"),
        "tenant.filterable": fields["tenant"].get("filterable"),
        "tenant.normalizer": fields["tenant"].get("normalizer"),
    }
    for algorithm in (shown.get("vectorSearch") or {}).get("algorithms") or []:
        found["vector.dimension"] = fields["vector"].get("dimensions")
        found["vector.index"] = algorithm.get("kind")
        parameters = algorithm.get("hnswParameters") or {}
        found |= {f"vector.{name}": value for name, value in parameters.items()}
    return found


def _field(name: str, *true: str, kind: str = "Edm.String") -> dict[str, Any]:
    flags = ("searchable", "filterable", "sortable", "facetable", "retrievable")
    kept = flags if kind == "Collection(Edm.Single)" else ("key", *flags)
    return {"name": name, "type": kind, **{flag: flag in true for flag in kept}}


def _hit(raw: Mapping[str, Any], *, want_text: bool) -> Hit:
    uid, score, tenant = raw["uid"], raw["@search.score"], raw["tenant"]
    if not isinstance(uid, str) or not isinstance(score, float) or not math.isfinite(score):
        raise AdapterError(f"azure_search: search: uid {uid!r:.80} with score {score!r}")
    text = raw["content"] if want_text and raw["text"] is None else raw.get("text")
    return Hit(uid, score, tenant, text)


def _setting_faults(settings: Settings) -> list[str]:
    faults = []
    url = urlsplit(settings.endpoint)
    if url.scheme not in {"http", "https"} or not url.hostname:
        faults.append(f"endpoint: {settings.endpoint!r} is no URL; give https://NAME.search...")
    elif url.scheme == "http" and not _is_loopback(url.hostname):
        faults.append(f"endpoint: {settings.endpoint!r} would send the key in clear; use https")
    if "api_key" not in settings.secrets:
        faults.append("secrets.api_key: missing; name the variable that holds the admin key")
    if not settings.place.startswith(OWN_PREFIX):
        faults.append(f"place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.layout != "filter":
        faults.append(f"layout: {settings.layout!r} is not supported; use filter")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        faults.append("dimension: 0 with a mode that needs vectors; choose an embedder")
    return [f"azure_search: {fault}" for fault in faults]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _client_settings(
    settings: Settings, options: Options
) -> tuple[aiohttp.ClientSession, dict[str, Any]]:
    """One pool for both clients, large enough for every search in flight; no retries."""
    proxies = not _is_loopback(urlsplit(settings.endpoint).hostname or "")
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=settings.concurrency + 1),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=proxies,
    )
    transport = AioHttpTransport(
        session=session,
        session_owner=False,
        connection_timeout=settings.timeout,
        read_timeout=settings.timeout,
        use_env_settings=proxies,
    )
    return session, {
        "api_version": options.connect.api_version,
        "transport": transport,
        "retry_total": 0,
        "permit_redirects": False,
    }


def _plain(model: Any) -> dict[str, Any]:
    """A model of the client as the JSON that the service sent."""
    return cast("dict[str, Any]", model.as_dict())


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
