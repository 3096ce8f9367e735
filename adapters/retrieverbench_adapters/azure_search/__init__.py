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

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from importlib.metadata import version
from typing import ClassVar, Self

import anyio
from azure.core.exceptions import ResourceExistsError
from azure.search.documents.models import IndexDocumentsBatch

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import AdapterError, InputError, Refused, Rejected, TenantError, TimedOut
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench_adapters.azure_search.answers import (
    Answer,
    calling,
    check_items,
    plain,
    read_hit,
)
from retrieverbench_adapters.azure_search.client import make_clients
from retrieverbench_adapters.azure_search.definition import (
    differences,
    index_definition,
    index_name,
    read_definition,
)
from retrieverbench_adapters.azure_search.documents import batches, document
from retrieverbench_adapters.azure_search.options import Options, faults
from retrieverbench_adapters.azure_search.requests import chunk_filter, search_arguments

__all__ = ["AzureSearch"]


class AzureSearch:
    """One index of its own, one connection pool for the whole run. No tenant in any state."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "put", "where", "exact"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._name = index_name(settings.place)
        self._session, self._indexes, self._documents = make_clients(
            settings, options.connect, self._name
        )
        self._created = self._closed = False
        self._expected = 0
        self._last: Chunk | None = None

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Make the index, or take one of equal schema; the secret is `api_key`."""
        options = parse_options(Options, settings.options, "azure_search: options")
        wrong = faults(settings)
        if wrong:
            raise InputError(*wrong)
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
                hits.append(read_hit(raw, want_text="text" in query.want))
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
                **read_definition(plain(index)),
                **{f"search.{name}": value for name, value in asdict(search).items()},
                **limits,
                "azure_core": version("azure-core"),
                "documents": documents,
                "enforced_by": "caller filter",
            },
            chunks={str(facet["value"]): int(facet["count"]) for facet in per_tenant},
            properties=frozenset(properties),
            fidelity=answer.fidelity,
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
                different = differences(wanted, plain(found))
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
        with self._calling("settle"):
            found = await self._documents.search(
                "*",
                filter=chunk_filter(self._last),
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
        limits = plain(statistics).get("limits") or {}
        return {f"limits.{name}": value for name, value in limits.items()}, ()

    def _answer(self, *, tolerated: int = 0) -> Answer:
        return Answer(self._settings.secrets["api_key"].reveal(), tolerated)

    def _calling(self, doing: str) -> AbstractContextManager[None]:
        return calling(doing, self._settings.timeout)
