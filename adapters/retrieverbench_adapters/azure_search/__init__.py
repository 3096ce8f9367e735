"""Azure AI Search through the official asynchronous client, api-version 2026-04-01.

Layout `filter`: one index holds all tenants, and every search carries the tenant's condition
(`search.tenant_filter`: `eq` or `search.in`). Layout `index`: an index per tenant, named by a
hash of place and tenant; no condition is sent. The service allows twelve new indexes a
minute and, by tier, 3 to 3,000 in all, so that layout is for few tenants; what goes beyond
is Throttled or Rejected with the service's own text.

Lexical search is the service's BM25 over title, newline and text in one field; dense search
is cosine; hybrid is one request with both, fused by the service (reciprocal rank fusion,
constant 60, rank from 0).

Differences from the other backends:
- score: 1 / (2 - cosine) in 1/3..1; BM25 with the factor k1 + 1; the fused sum. Never
  comparable across modes.
- ties: undefined and not stable.
- visibility: eventual (property `eventual_visibility`); `settle` asks until all is there.
- filter: before ranking (`preFilter`, sent explicitly); it removes hits and never changes a
  text score.
- statistics: of all tenants together in layout `filter` (property `shared_idf`), over all
  shards (`global`).
- dense search is approximate unless `search.exact` is true or the index `exhaustiveKnn`.
- at most 1,000 hits in one request; more are refused, not cut.
- `where`: metadata is kept as JSON pairs `["key",value]` in one filterable collection, so
  that equality is exact and typed; as in JSON, 1 is 1.0 and neither is true.
- by id: reads, deletes and moves find the document by a search under the tenant's condition;
  the service's own look-up by key takes no filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any, ClassVar, Self

import anyio
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.search.documents.models import IndexDocumentsBatch

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import AdapterError, InputError, Refused, Rejected, TenantError, TimedOut
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench_adapters.azure_search.answers import (
    Answer,
    calling,
    check_items,
    only_asked_for,
    plain,
    read_hit,
    text_of,
)
from retrieverbench_adapters.azure_search.client import Clients
from retrieverbench_adapters.azure_search.definition import (
    differences,
    index_definition,
    index_name,
    tenant_index_name,
    tenant_index_prefix,
)
from retrieverbench_adapters.azure_search.description import (
    properties_of,
    settings_shown,
    weaknesses_of,
)
from retrieverbench_adapters.azure_search.documents import Written, batches, document, key
from retrieverbench_adapters.azure_search.options import Options, faults
from retrieverbench_adapters.azure_search.requests import MAX_HITS, keys_filter, search_arguments

__all__ = ["AzureSearch"]


class AzureSearch:
    """Indexes of its own, one connection pool for the whole run. No tenant of a search is kept."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        "dense lexical hybrid filter index put get delete move total where exact".split()  # noqa: SIM905
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._clients = Clients(settings, options.connect)
        self._shared = settings.layout == "filter"
        self._secrets = tuple(secret.reveal() for secret in settings.secrets.values())
        self._expected: dict[str, int] = {}
        self._unsettled: dict[str, Written] = {}
        self._created: set[str] = set()
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Make the index, or take one of equal schema; in layout `index` those there are.

        Secrets: `api_key`, or with `connect.auth = "entra"` optionally `token`.
        """
        options = parse_options(Options, settings.options, "azure_search: options")
        wrong = faults(settings, options.connect)
        if wrong:
            raise InputError(*wrong)
        adapter = cls(settings, options)
        try:
            if adapter._shared:
                await adapter._ensure(index_name(settings.place))
            else:
                for name in await adapter._tenant_indexes():
                    await adapter._take(name)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await adapter.close()
            raise
        return adapter

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Upload in batches cut by count and bytes; every item's failure is raised."""
        chunks_of: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            if not isinstance(chunk.tenant, TenantId):
                raise TenantError(f"azure_search: chunk {chunk.id!r}: its tenant is not checked")
            chunks_of.setdefault(self._index_of(chunk.tenant), []).append(chunk)
        for index, own in chunks_of.items():
            await self._ensure(index)
            await self._upload(index, [document(c, self._settings.dimension) for c in own])

    async def settle(self) -> None:
        """Ask until counts are right and the last document written is as it was written."""
        seconds = self._options.place.settle_seconds
        counted, expected = -1, 0
        with anyio.move_on_after(seconds):
            for index, last in list(self._unsettled.items()):
                wait, expected = 0.02, self._expected[index]
                while True:
                    counted = await self._count(index)
                    if counted == expected and await self._is_visible(index, last):
                        break
                    await anyio.sleep(wait)
                    wait = min(2 * wait, 1.0)
                del self._unsettled[index]
            return
        raise TimedOut(
            f"azure_search: settle: {counted} of {expected} documents visible after "
            f"{seconds:g} s; raise place.settle_seconds or look at the service's indexing load"
        )

    async def search(self, query: Query) -> Response:
        """One request with `top`; everything is read here, for the client itself is lazy."""
        index = self._index_of(query.tenant)
        arguments = search_arguments(query, self._options.search, shared=self._shared)
        # In layout `index` a tenant that owns nothing has no index.
        answer = self._answer(tolerated=0 if index in self._expected else 404)
        hits: list[Hit] = []
        total = None
        with self._calling("search"):
            results = await self._clients.documents(index).search(
                **arguments, raw_response_hook=answer
            )
            try:
                async for raw in results:
                    if len(hits) == query.k:
                        raise AdapterError(f"azure_search: search: more than {query.k} hits")
                    hits.append(read_hit(raw, want_text="text" in query.want))
                if "total" in query.want:
                    total = await results.get_count()
            except ResourceNotFoundError:
                total = 0 if "total" in query.want else None
        return Response(hits, answer.server_ms, answer.status == 206, total)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks, in the order asked for."""
        rows = await self._find(tenant, uids)
        found = {row["uid"]: Hit(row["uid"], 1.0, row["tenant"], text_of(row)) for row in rows}
        return [found[uid] for uid in dict.fromkeys(uids) if uid in found]

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Delete the tenant's own among these chunks, found by a search under its condition."""
        rows = only_asked_for(await self._find(tenant, uids), tenant, uids)
        if rows:
            await self._delete(self._index_of(tenant), rows)

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the tenant's field; in layout `index` copy the document, then delete it."""
        rows = only_asked_for(
            await self._find(source, [uid], whole=not self._shared), source, [uid]
        )
        if not rows:
            return
        here, there = self._index_of(source), self._index_of(target)
        row = {**rows[0], "tenant": target.value}
        if not self._shared:
            await self._ensure(there)
            await self._upload(there, [row])
            await self._delete(here, rows)
            return
        batch = IndexDocumentsBatch()
        batch.add_merge_actions([{"key": row["key"], "tenant": target.value}])
        await self._send(here, batch, rows)
        self._unsettled[here] = Written(target.value, row["key"], row["content"])

    async def describe(self) -> Description:
        """Every definition as the service shows it, its counts, and what searches send."""
        answer = self._answer()
        definitions: dict[str, dict[str, Any]] = {}
        chunks: dict[str, int] = {}
        documents = 0
        names = [index_name(self._settings.place)] if self._shared else await self._tenant_indexes()
        for name in names:
            with self._calling("describe"):
                shown = await self._clients.indexes.get_index(name, raw_response_hook=answer)
                definitions[name] = plain(shown)
            documents += await self._count(name)
            for tenant, count in (await self._count_tenants(name)).items():
                chunks[tenant] = chunks.get(tenant, 0) + count
        limits, unchecked = await self._service_limits(answer)
        settings = settings_shown(self._settings, self._options, definitions)
        return Description(
            server="Azure AI Search",
            server_version=f"api-version {self._options.connect.api_version}",
            client="azure-search-documents",
            client_version=version("azure-search-documents"),
            settings={**settings, **limits, "documents": documents},
            chunks=chunks,
            properties=properties_of(self._settings, self._options),
            fidelity=answer.fidelity,
            unchecked=unchecked,
            weaknesses=tuple(weaknesses_of(self._options, settings, answer)),
        )

    async def close(self) -> None:
        """Delete what this object made, and release the connections."""
        if self._closed:
            return
        self._closed = True
        try:
            for name in sorted(self._created):
                with self._calling("close"):
                    await self._clients.indexes.delete_index(
                        name, raw_response_hook=self._answer(tolerated=404)
                    )
        finally:
            await self._clients.close()

    def _index_of(self, tenant: TenantId) -> str:
        place = self._settings.place
        return index_name(place) if self._shared else tenant_index_name(place, tenant)

    async def _tenant_indexes(self) -> list[str]:
        prefix = tenant_index_prefix(self._settings.place)
        with self._calling("open"):
            names = self._clients.indexes.list_index_names(raw_response_hook=self._answer())
            return sorted([name async for name in names if name.startswith(prefix)])

    async def _ensure(self, name: str) -> None:
        """Make an index that this object does not know yet, or take the one there is."""
        if name in self._expected:
            return
        with self._calling("open"):
            try:
                await self._clients.indexes.create_index(
                    self._wanted(name), raw_response_hook=self._answer(tolerated=409)
                )
            except ResourceExistsError:
                pass
            else:
                self._created.add(name)
                self._expected[name] = 0
                return
        await self._take(name)

    async def _take(self, name: str) -> None:
        """An index that exists is used if it is as this object would have made it."""
        with self._calling("open"):
            found = await self._clients.indexes.get_index(name, raw_response_hook=self._answer())
        different = differences(self._wanted(name), plain(found))
        if different:
            raise Rejected(
                f"azure_search: open: index {name!r} exists with another schema: "
                f"{'; '.join(different[:5])}; delete it or use another place"
            )
        self._expected[name] = await self._count(name)

    def _wanted(self, name: str) -> dict[str, Any]:
        return index_definition(
            name, self._settings.dimension, self._options.place, shared=self._shared
        )

    async def _upload(self, index: str, documents: Sequence[dict[str, Any]]) -> None:
        for rows in batches(documents):
            batch = IndexDocumentsBatch()
            batch.add_upload_actions(rows)
            self._expected[index] += (await self._send(index, batch, rows)).count(201)
        last = documents[-1]
        self._unsettled[index] = Written(last["tenant"], last["key"], last["content"])

    async def _delete(self, index: str, rows: Sequence[dict[str, Any]]) -> None:
        for begin in range(0, len(rows), MAX_HITS):
            part = rows[begin : begin + MAX_HITS]
            batch = IndexDocumentsBatch()
            batch.add_delete_actions([{"key": row["key"]} for row in part])
            await self._send(index, batch, part)
            self._expected[index] -= len(part)
        self._unsettled[index] = Written(rows[-1]["tenant"], rows[-1]["key"], None)

    async def _send(
        self, index: str, batch: IndexDocumentsBatch, rows: Sequence[dict[str, Any]]
    ) -> list[int]:
        """Send one batch; the status of each item, none of which failed."""
        with self._calling("put"):
            items = await self._clients.documents(index).index_documents(
                batch, raw_response_hook=self._answer()
            )
            check_items(rows, items)
        return [item.status_code for item in items]

    async def _find(
        self, tenant: TenantId, uids: Sequence[str], *, whole: bool = False
    ) -> list[dict[str, Any]]:
        """The tenant's own documents among these, with all fields if `whole`."""
        index = self._index_of(tenant)
        if index not in self._expected:
            return []
        keys = [key(uid) for uid in dict.fromkeys(uids)]
        select = None if whole else ["key", "uid", "tenant", "content", "text"]
        rows: list[dict[str, Any]] = []
        for begin in range(0, len(keys), MAX_HITS):
            part = keys[begin : begin + MAX_HITS]
            with self._calling("get"):
                found = await self._clients.documents(index).search(
                    "*",
                    filter=keys_filter(tenant, part),
                    top=len(part),
                    select=select,
                    raw_response_hook=self._answer(),
                )
                rows += [
                    {name: value for name, value in row.items() if not name.startswith("@")}
                    async for row in found
                ]
        return rows

    async def _count(self, index: str) -> int:
        with self._calling("count"):
            return await self._clients.documents(index).get_document_count(
                raw_response_hook=self._answer()
            )

    async def _count_tenants(self, index: str) -> dict[str, int]:
        with self._calling("describe"):
            answer = await self._clients.documents(index).search(
                "*", facets=["tenant,count:0"], top=0, raw_response_hook=self._answer()
            )
            facets = (await answer.get_facets() or {})["tenant"]
        return {str(facet["value"]): int(facet["count"]) for facet in facets}

    async def _is_visible(self, index: str, last: Written) -> bool:
        documents = self._clients.documents(index)
        with self._calling("settle"):
            found = await documents.search(
                "*",
                filter=keys_filter(TenantId(last.tenant), [last.key]),
                top=1,
                select=["key", "content"],
                raw_response_hook=self._answer(),
            )
            seen = [(hit["key"], hit["content"]) async for hit in found]
            if all(found_key == last.key for found_key, _ in seen):
                return [text for _, text in seen] == (
                    [] if last.content is None else [last.content]
                )
            # The service does not obey the filter. That is for the leak columns to say, and
            # they can only if the load ends.
            try:
                stored = await documents.get_document(
                    last.key, raw_response_hook=self._answer(tolerated=404)
                )
            except ResourceNotFoundError:
                return last.content is None
            return bool(stored["content"] == last.content)

    async def _service_limits(self, answer: Answer) -> tuple[dict[str, object], tuple[str, ...]]:
        try:
            with self._calling("describe"):
                statistics = await self._clients.indexes.get_service_statistics(
                    raw_response_hook=answer
                )
        except Refused:
            return {}, ("service statistics: the credential may not read them",)
        limits = plain(statistics).get("limits") or {}
        return {f"limits.{name}": value for name, value in limits.items()}, ()

    def _answer(self, *, tolerated: int = 0) -> Answer:
        return Answer(self._secrets, tolerated)

    def _calling(self, doing: str) -> AbstractContextManager[None]:
        return calling(doing, self._settings.timeout)
