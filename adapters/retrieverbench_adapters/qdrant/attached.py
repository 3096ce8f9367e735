"""A collection of the user's: bound to, read, and never written to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from qdrant_client import models

from retrieverbench.adapter import NOBODY, Attached, Settings
from retrieverbench.errors import InputError, Rejected, TimedOut
from retrieverbench.model import Layout, TenantId
from retrieverbench.options import nearest
from retrieverbench.remote import unnamed_fault
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.fields import (
    POINT_ID,
    Fields,
    attached_fields,
    owners_of,
    value_at,
)
from retrieverbench_adapters.qdrant.layouts import Home, home_of
from retrieverbench_adapters.qdrant.mapping import (
    path_faults,
    payload_faults,
    strict_faults,
    vector_faults,
)
from retrieverbench_adapters.qdrant.options import Search

COUNTED_BY_READING = 200_000
"""Points of which the owners are read one by one where no index can count them."""

_PAGE = 2_000
_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
"""The characters that the server refuses in a name."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """The collection with its fields, and the shard keys that it had when it was bound to.

    `unchecked` says what could not be looked for then.
    """

    server: Server
    name: str
    layout: Layout
    fields: Fields
    shards: frozenset[str]
    unchecked: tuple[str, ...] = ()

    def home(self, tenant: TenantId) -> Home:
        """Where the tenant's points are, or would be."""
        return home_of(self.layout, self.name, tenant)

    def is_known(self, home: Home) -> bool:
        """Whether there was such a place when this was opened."""
        return home.shard is None or home.shard in self.shards

    async def information(self) -> Sequence[models.CollectionInfo]:
        """What the server says of the collection."""
        return [await self.server.information(self.name)]


async def bind(
    server: Server, settings: Settings, attached: Attached, search: Search
) -> Attachment:
    """Bind to the collection; its fields are checked, and only reads are sent.

    Raises InputError with one line for everything that is not there or does not fit.
    """
    if _NO_NAME.search(attached.name):
        raise InputError(_fault(attached, "name: no collection can be called so"))
    exists = await server.call(server.client.collection_exists(attached.name))
    if not exists:
        listed = await server.call(server.client.get_collections())
        names = [one.name for one in listed.collections]
        raise InputError(
            _fault(attached, f"name: there is no such collection; {nearest(attached.name, names)}")
        )
    information = await server.information(attached.name)
    fields = attached_fields(attached, search.sparse)
    wrong = [
        *path_faults(attached),
        *vector_faults(information, fields, settings, search),
        *strict_faults(information, fields),
    ]
    if not wrong:
        sample = await _sample(server, attached.name, fields)
        wrong = list(payload_faults(sample, fields))
        if sample is None:
            page = server.client.scroll(attached.name, limit=1, with_payload=True)
            points, _ = await server.call(page)
            known = [name for point in points for name in point.payload or {}]
            wrong = [f"{fault}; {nearest(fields.tenant, known)}" for fault in wrong]
        if sample is not None:
            wrong += await _absent_texts(server, attached.name, fields, sample)
            fields = replace(
                fields,
                numbered=fields.uid != POINT_ID and _is_number(sample, fields.uid),
                owners_numbered=_is_number(sample, fields.tenant),
            )
    if wrong:
        raise InputError(*(_fault(attached, fault) for fault in wrong))
    custom = information.config.params.sharding_method == models.ShardingMethod.CUSTOM
    if settings.layout == "partition" and not custom:
        raise InputError(
            f"qdrant: layout: 'partition' asks the shard of each tenant, and the shards of "
            f"collection {attached.name!r} are automatic; use layout filter"
        )
    keys = await server.shard_keys(attached.name) if settings.layout == "partition" else ()
    unchecked = await _look_for_unnamed(server, attached, fields)
    return Attachment(server, attached.name, settings.layout, fields, frozenset(keys), unchecked)


async def count_by_reading(
    server: Server, name: str, fields: Fields
) -> tuple[dict[str, int], int] | None:
    """Points per tenant, and how many have several; None when there are too many to be read."""
    total = (await server.call(server.client.count(name, exact=True))).count
    if total > COUNTED_BY_READING:
        return None
    counts: Counter[str] = Counter()
    several = 0
    shown = [fields.tenant]
    async for points in server.pages(name, _PAGE, with_payload=shown, with_vectors=False):
        for point in points:
            owners = owners_of(point.payload or {}, fields)
            counts.update(owners or [NOBODY])
            several += len(owners) > 1
    return dict(counts), several


def _fault(attached: Attached, fault: str) -> str:
    """With the key of the suite first, by which its line is found."""
    key, _, told = fault.partition(": ")
    place = key if key.startswith("search.") else f"attach.{key.removeprefix('attach.')}"
    return f"qdrant: {place}: collection {attached.name!r}: {told}"


async def _sample(server: Server, name: str, fields: Fields) -> models.Record | None:
    """One point whose tenant field is not empty; None when there is no such point."""
    empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=fields.tenant))
    page = server.client.scroll(
        name,
        scroll_filter=models.Filter(must_not=[empty]),
        limit=1,
        with_payload=True,
        with_vectors=False,
    )
    points, _ = await server.call(page)
    return points[0] if points else None


async def _absent_texts(
    server: Server, name: str, fields: Fields, sample: models.Record
) -> list[str]:
    """Text fields that no point has: what is read there judges nothing."""
    wrong, payload = [], sample.payload or {}
    for number, field in enumerate(fields.text):
        if value_at(payload, field) is not None:
            continue
        empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=field))
        there = models.Filter(must_not=[empty])
        with suppress(Rejected):  # strict mode refuses conditions on fields without an index
            page = server.client.scroll(name, there, limit=1, with_payload=False)
            points, _ = await server.call(page)
            if not points:
                known = nearest(field, payload)
                wrong.append(f"text[{number}]: no point has a payload field {field!r}; {known}")
    return wrong


async def _look_for_unnamed(server: Server, attached: Attached, fields: Fields) -> tuple[str, ...]:
    """InputError when points that have an owner have no id; else what the server did not tell."""
    if fields.uid == POINT_ID:
        return ()
    empty, ownerless = (
        models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
        for key in (fields.uid, fields.tenant)
    )
    blank = models.FieldCondition(key=fields.uid, match=models.MatchValue(value=""))
    unnamed = models.Filter(should=[empty, blank], must_not=[ownerless])
    client = server.client
    try:
        count = (await server.call(client.count(attached.name, unnamed, exact=True))).count
        if not count:
            return ()
        page = client.scroll(attached.name, unnamed, limit=1, with_payload=False)
        points, _ = await server.call(page)
    except (Rejected, TimedOut):  # strict mode refuses conditions on fields without an index
        return ("points without an id: the server would not look for them, or not in time",)
    shown = f"such as point {', '.join(str(point.id) for point in points)}"
    fault = unnamed_fault(fields.uid, count, "point", shown)
    raise InputError(_fault(attached, fault))


def _is_number(sample: models.Record, path: str) -> bool:
    return type(value_at(sample.payload or {}, path)) is int
