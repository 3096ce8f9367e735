"""Chunks removed, and given to another owner."""

from __future__ import annotations

from collections.abc import Sequence

from retrieverbench.errors import Rejected
from retrieverbench.model import TenantId
from retrieverbench_adapters.qdrant.client import Server
from retrieverbench_adapters.qdrant.failures import says_missing
from retrieverbench_adapters.qdrant.fields import OWN, tenant_text
from retrieverbench_adapters.qdrant.places import Places
from retrieverbench_adapters.qdrant.points import bodies, stored_row
from retrieverbench_adapters.qdrant.reading import Reader
from retrieverbench_adapters.qdrant.requests import chunks_filter

_LARGEST_BODY = 32 * 1024 * 1024


async def delete_chunks(
    server: Server, places: Places, tenant: TenantId, uids: Sequence[str]
) -> None:
    """By a filter of tenant and ids; a tenant without a place has nothing to remove."""
    home = places.home(tenant)
    condition = chunks_filter(OWN, tenant, uids)
    try:
        await server.call(
            server.client.delete(
                home.collection, condition, wait=True, shard_key_selector=home.shard
            )
        )
    except Rejected as error:
        if not says_missing(error) or places.is_known(home):
            raise


async def move_chunk(
    server: Server, places: Places, reader: Reader, uid: str, source: TenantId, target: TenantId
) -> None:
    """Change the owner in place; between two places copy the point, then remove it.

    Raises Rejected when the source has no such chunk.
    """
    owner = {OWN.tenant: tenant_text(target)}
    found = await reader.owned(source, [uid], with_payload=True, with_vectors=True)
    if not found:
        raise Rejected(f"qdrant: {source.value!r} has no chunk {uid!r} to move")
    here, there = places.home(source), places.home(target)
    if here == there:
        await server.call(
            server.client.set_payload(
                here.collection, owner, chunks_filter(OWN, source, [uid]), wait=True
            )
        )
        return
    await places.make(there)
    rows = [stored_row(point, owner) for point in found]
    await server.write_all(there.collection, "points", bodies(rows, _LARGEST_BODY, there.shard))
    await delete_chunks(server, places, source, [uid])
