"""What is really there: counts by the server, settings read back, weaknesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from qdrant_client import models

from retrieverbench.adapter import NOBODY
from retrieverbench.errors import AdapterError, Rejected, TimedOut
from retrieverbench.remote import without_vector
from retrieverbench_adapters.qdrant.attached import COUNTED_BY_READING, count_by_reading
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.collection import dense_vectors
from retrieverbench_adapters.qdrant.fields import OWN, Fields
from retrieverbench_adapters.qdrant.mapping import counts_by_index, slowness

MOST_TENANTS = 1_000_000
"""As many values as are asked of a facet; the server makes room for all of them."""


@dataclass(frozen=True, slots=True)
class Found:
    """Chunks per tenant, and what is to be said of them."""

    chunks: dict[str, int]
    weaknesses: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()


async def count_own(server: Server, collections: Sequence[str]) -> Found:
    """By the server's exact facet; AdapterError when points have no tenant or several."""
    chunks: dict[str, int] = {}
    for name in collections:
        total = (await server.call(server.client.count(name, exact=True))).count
        found = await _facet(server, name, OWN, total)
        if sum(found.values()) != total:
            raise AdapterError(
                f"collection {name!r}: {total} points, but {sum(found.values())} have a tenant"
            )
        for tenant, count in found.items():
            chunks[tenant] = chunks.get(tenant, 0) + count
    return Found(chunks)


async def count_attached(
    server: Server, name: str, information: models.CollectionInfo, fields: Fields
) -> Found:
    """By facet, or point by point where no index counts; what is wrong is a weakness."""
    weak: list[str] = []
    slow = tuple(slowness(information, fields))
    total = (await server.call(server.client.count(name, exact=True))).count
    if counts_by_index(information, fields):
        counted: tuple[dict[str, int], int] | None = await _by_facet(server, name, fields, total)
    else:
        counted = await count_by_reading(server, name, fields)
    if counted is None or len(counted[0]) >= MOST_TENANTS:
        reason = (
            f"chunks per tenant: more than {MOST_TENANTS} tenants, or no index of them and more "
            f"than {COUNTED_BY_READING} points to be read one by one"
        )
        return Found({}, (), (reason,), slow)
    chunks, several = counted
    weak += await _without_vector(server, name, fields)
    if ownerless := chunks.get(NOBODY, 0):
        kind = "number" if fields.owners_numbered else "text"
        weak.append(
            f"{ownerless} of {total} points have no {kind} in tenant field {fields.tenant!r}: "
            f"{'no tenant that is a number' if fields.owners_numbered else 'nobody'} finds them; "
            "give them an owner or remove them"
        )
    if several:
        weak.append(
            f"tenant field {fields.tenant!r} holds several owners in {several} of {total} points: "
            "each of them finds these; store a point per owner"
        )
    return Found(chunks, tuple(weak), slow=slow)


def ranking_weakness(information: models.CollectionInfo, fields: Fields) -> list[str]:
    """Where the user's vectors are compared otherwise than the reference compares them."""
    vector = dense_vectors(information).get(fields.dense)
    if vector is None or vector.distance is models.Distance.COSINE:
        return []
    distance = vector.distance.value
    told = f"attach.vector: vector {fields.dense!r} ranks by {distance}, the reference by cosine"
    return [f"{told}: they agree for vectors of length one only"]


async def _without_vector(server: Server, name: str, fields: Fields) -> list[str]:
    """Points that dense search never finds; servers before 1.13 do not tell."""
    if not fields.dense:
        return []
    has_one = models.HasVectorCondition(has_vector=fields.dense)
    lacking = models.Filter(must_not=[has_one])
    try:
        count = (await server.call(server.client.count(name, lacking, exact=True))).count
    except (Rejected, TimedOut):
        return []
    return [without_vector(count, "points", fields.dense)] if count else []


async def _by_facet(
    server: Server, name: str, fields: Fields, total: int
) -> tuple[dict[str, int], int]:
    """Points per tenant, those of several at each of them; and how many these are."""
    chunks = await _facet(server, name, fields, total)
    many = models.FieldCondition(key=fields.tenant, values_count=models.ValuesCount(gt=1))
    several = await _count(server, name, many)
    if several:
        empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=fields.tenant))
        ownerless = await _count(server, name, empty) + chunks.pop(NOBODY, 0)
    else:
        ownerless = total - sum(chunks.values()) + chunks.pop(NOBODY, 0)
    return chunks | ({NOBODY: ownerless} if ownerless else {}), several


async def _count(server: Server, name: str, condition: models.Condition) -> int:
    passing = models.Filter(must=[condition])
    return (await server.call(server.client.count(name, passing, exact=True))).count


def general_weaknesses(
    information: Sequence[models.CollectionInfo], *, key: bool, lexical: bool
) -> list[str]:
    """Those of any collection, ours or the user's. `key`: a key was given, and asked for or not."""
    found = []
    if not key:
        found.append(
            "the server answers without a key: whoever reaches it reads every tenant; set "
            "service.api_key"
        )
    shards = {one.config.params.shard_number or 1 for one in information}
    custom = any(
        one.config.params.sharding_method == models.ShardingMethod.CUSTOM for one in information
    )
    if lexical and not custom and shards - {1}:
        found.append(
            f"IDF is counted in each of {max(shards)} shards: equal chunks may score differently; "
            "use one shard"
        )
    return found


def not_readable(server_version: str) -> list[str]:
    """What no request tells."""
    unchecked = ["search settings and BM25's k1 and b: sent or applied, not readable"]
    installed = version("qdrant-client")
    client, served = numbers(installed), numbers(server_version)
    if client[0] != served[0] or abs(client[1] - served[1]) > 1:
        unchecked.append(f"client {installed} is not made for server {server_version}")
    return unchecked


def numbers(text: str) -> tuple[int, int]:
    """Major and minor of a version; (0, 0) for what is none."""
    parts = text.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return 0, 0
    return int(parts[0]), int(parts[1])


async def _facet(server: Server, name: str, fields: Fields, total: int) -> dict[str, int]:
    facet = await server.call(
        server.client.facet(
            name, key=fields.tenant, limit=min(max(total, 1), MOST_TENANTS), exact=True
        )
    )
    return {str(hit.value): hit.count for hit in facet.hits}
