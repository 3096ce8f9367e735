"""The indexes of one place: made, written, counted, waited for, removed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import anyio
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.search.documents.models import IndexDocumentsBatch

from retrieverbench.adapter import Settings
from retrieverbench.errors import BackendError, Rejected, TimedOut
from retrieverbench.model import TenantId
from retrieverbench_adapters.azure_search.answers import Answer, calling, check_items, plain
from retrieverbench_adapters.azure_search.client import Clients
from retrieverbench_adapters.azure_search.definition import (
    differences,
    index_definition,
    index_name,
    tenant_index_prefix,
)
from retrieverbench_adapters.azure_search.documents import Written, batches
from retrieverbench_adapters.azure_search.options import Options
from retrieverbench_adapters.azure_search.requests import MAX_HITS, keys_filter

Row = dict[str, Any]


class Indexes:
    """What this object made or took, how many documents it expects there, and the last write."""

    def __init__(self, settings: Settings, options: Options) -> None:
        self.clients = Clients(settings, options.connect)
        self._settings = settings
        self._options = options
        self._shared = settings.layout == "filter"
        self._secrets = tuple(secret.reveal() for secret in settings.secrets.values())
        self._expected: dict[str, int] = {}
        self._unsettled: dict[str, Written] = {}
        self._created: set[str] = set()
        self._settled = False

    def __contains__(self, name: object) -> bool:
        """Whether an index is known to exist."""
        return name in self._expected

    def answer(self, *, tolerated: int = 0) -> Answer:
        """What looks at one answer before the client does."""
        return Answer(self._secrets, tolerated)

    def calling(self, doing: str) -> AbstractContextManager[None]:
        """The deadline and the errors of one call."""
        return calling(doing, self._settings.timeout)

    async def of_tenants(self) -> list[str]:
        """The names of all tenants' indexes of this place, whoever made them."""
        prefix = tenant_index_prefix(self._settings.place)
        with self.calling("open"):
            names = self.clients.indexes.list_index_names(raw_response_hook=self.answer())
            return sorted([name async for name in names if name.startswith(prefix)])

    async def names(self) -> list[str]:
        """Those of all indexes; none where the credential may not list them."""
        try:
            with self.calling("open"):
                names = self.clients.indexes.list_index_names(raw_response_hook=self.answer())
                return [name async for name in names]
        except BackendError:
            return []

    async def ensure(self, name: str) -> None:
        """Make an index that this object does not know yet, or take the one there is."""
        if name in self._expected:
            return
        with self.calling("open"):
            try:
                await self.clients.indexes.create_index(
                    self._wanted(name), raw_response_hook=self.answer(tolerated=409)
                )
            except ResourceExistsError:
                pass
            else:
                self._created.add(name)
                self._expected[name] = 0
                return
        await self.take(name)

    async def take(self, name: str) -> None:
        """An index that exists is used if it is as this object would have made it.

        With `resume` it is a load of ours that was broken off, and removed once it was settled.
        """
        different = differences(self._wanted(name), await self.definition(name, self.answer()))
        if different:
            raise Rejected(
                f"azure_search: open: index {name!r} exists with another schema: "
                f"{'; '.join(different[:5])}; delete it or use another place"
            )
        self._expected[name] = await self.count(name)
        if self._settings.resume:
            self._created.add(name)

    async def definition(self, name: str, answer: Answer) -> Row:
        """An index as the service shows it."""
        with self.calling("describe"):
            return plain(await self.clients.indexes.get_index(name, raw_response_hook=answer))

    async def count(self, index: str) -> int:
        """How many documents can be found, by the service's count."""
        with self.calling("count"):
            documents = self.clients.documents(index)
            return int(await documents.get_document_count(raw_response_hook=self.answer()))

    async def count_tenants(self, index: str, tenant: str) -> dict[str, int]:
        """How many documents have each value of the tenant field, by the service's facets."""
        with self.calling("describe"):
            answer = await self.clients.documents(index).search(
                "*", facets=[f"{tenant},count:0"], top=0, raw_response_hook=self.answer()
            )
            facets = (await answer.get_facets() or {})[tenant]
        return {str(facet["value"]): int(facet["count"]) for facet in facets}

    async def rows(
        self, index: str, condition: str, top: int, select: list[str] | None
    ) -> list[Row]:
        """The documents that fulfil a condition, without the service's own entries."""
        with self.calling("get"):
            found = await self.clients.documents(index).search(
                "*", filter=condition, top=top, select=select, raw_response_hook=self.answer()
            )
            return [
                {name: value for name, value in row.items() if not name.startswith("@")}
                async for row in found
            ]

    async def upload(self, index: str, documents: Sequence[Row]) -> None:
        """Write whole documents, in batches."""
        for rows in batches(documents):
            batch = IndexDocumentsBatch()
            batch.add_upload_actions(rows)
            created = (await self._send(index, batch, rows)).count(201)
            self._expected[index] += created  # after the wait: others add meanwhile
        last = documents[-1]
        self._unsettled[index] = Written(last["tenant"], last["key"], last["content"])

    async def change_owner(self, index: str, row: Row, target: TenantId) -> None:
        """Write the tenant field of one document."""
        batch = IndexDocumentsBatch()
        batch.add_merge_actions([{"key": row["key"], "tenant": target.value}])
        await self._send(index, batch, [row])
        self._unsettled[index] = Written(target.value, row["key"], row["content"])

    async def delete(self, index: str, rows: Sequence[Row]) -> None:
        """Delete documents that are there."""
        for begin in range(0, len(rows), MAX_HITS):
            part = rows[begin : begin + MAX_HITS]
            batch = IndexDocumentsBatch()
            batch.add_delete_actions([{"key": row["key"]} for row in part])
            await self._send(index, batch, part)
            self._expected[index] -= len(part)
        self._unsettled[index] = Written(rows[-1]["tenant"], rows[-1]["key"], None)

    async def settle(self) -> None:
        """Ask until counts are right and the last document written is as it was written.

        What was written before a load was broken off may be counted late, so with `resume`
        more may be there than was counted at first.
        """
        enough = operator.ge if self._settings.resume else operator.eq
        seconds = self._options.place.settle_seconds
        counted, expected = -1, 0
        with anyio.move_on_after(seconds):
            for index, last in list(self._unsettled.items()):
                wait, expected = 0.02, self._expected[index]
                while True:
                    counted = await self.count(index)
                    if enough(counted, expected) and await self._is_visible(index, last):
                        break
                    await anyio.sleep(wait)
                    wait = min(2 * wait, 1.0)
                del self._unsettled[index]
            self._settled = True
            return
        raise TimedOut(
            f"azure_search: settle: {counted} of {expected} documents visible after "
            f"{seconds:g} s; raise place.settle_seconds or look at the service's indexing load"
        )

    async def close(self) -> None:
        """Delete what this object made, but what can be resumed; release the connections."""
        left = self._settings.resume and not self._settled
        try:
            for name in () if left else sorted(self._created):
                with self.calling("close"):
                    await self.clients.indexes.delete_index(
                        name, raw_response_hook=self.answer(tolerated=404)
                    )
        finally:
            await self.clients.close()

    async def remove_left(self) -> None:
        """Delete what a run that was killed made here, and release the connections."""
        self._settled = True
        try:
            single = [index_name(self._settings.place)]
            self._created = set(single if self._shared else await self.of_tenants())
        finally:
            await self.close()

    def _wanted(self, name: str) -> Row:
        return index_definition(
            name, self._settings.dimension, self._options.place, shared=self._shared
        )

    async def _send(self, index: str, batch: IndexDocumentsBatch, rows: Sequence[Row]) -> list[int]:
        """Send one batch; the status of each item, none of which failed."""
        with self.calling("put"):
            items = await self.clients.documents(index).index_documents(
                batch, raw_response_hook=self.answer()
            )
            check_items(rows, items)
        return [item.status_code for item in items]

    async def _is_visible(self, index: str, last: Written) -> bool:
        condition = keys_filter(TenantId(last.tenant), [last.key])
        found = await self.rows(index, condition, 1, ["key", "content"])
        if all(row["key"] == last.key for row in found):
            seen = [row["content"] for row in found]
            return seen == ([] if last.content is None else [last.content])
        # The service does not obey the filter. That is for the leak columns to say, and they
        # can only if the load ends.
        with self.calling("settle"):
            try:
                stored = await self.clients.documents(index).get_document(
                    last.key, raw_response_hook=self.answer(tolerated=404)
                )
            except ResourceNotFoundError:
                return last.content is None
        return bool(stored["content"] == last.content)
