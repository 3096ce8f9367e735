"""Chunks by id: read, deleted and moved where a filtered search finds them to be the tenant's.

The servers' own reads and writes by id take no filter, so nothing is sent to an id before a
search under the tenant's condition has named it. Between search and write the document must
stay as it was (`if_seq_no`): what somebody else changes meanwhile is an error, not a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieverbench.errors import AdapterError
from retrieverbench.model import Hit, TenantId
from retrieverbench.remote.lucene.answers import check_bulk, read_hit
from retrieverbench.remote.lucene.indices import Indices
from retrieverbench.remote.lucene.requests import Json, by_id, document_id, dump

_PAGE = 500


async def get(indices: Indices, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
    """The tenant's own among these chunks, in the order asked for, score 1.0."""
    found = {}
    for raw in await _find(indices, tenant, uids):
        hit = read_hit(raw, indices.text.names, whole=True)
        found[hit.uid] = replace(hit, score=1.0)
    return [found[uid] for uid in dict.fromkeys(uids) if uid in found]


async def delete(indices: Indices, tenant: TenantId, uids: Sequence[str]) -> None:
    """Delete the tenant's own among these chunks."""
    indices.refuse_to_write()
    await indices.refresh()  # what was written a moment ago is found, too
    found = await _find(indices, tenant, uids)
    await _change(indices, [{"delete": _action(raw)} for raw in found], "deleted")


async def move(indices: Indices, uid: str, source: TenantId, target: TenantId) -> None:
    """Change the owner; where each has a place of its own, delete here and write there.

    Both go in one request, first the deletion: two tenants' routings may share a shard, and
    then the id names the same document before and after. A server that dies between the two
    loses the chunk, which the next load brings back.
    """
    indices.refuse_to_write()
    here, there = indices.scope(source), indices.scope(target)
    await indices.make_for([target])
    await indices.refresh()
    for raw in await _find(indices, source, [uid], stored=True):
        if indices.isolation in {"filter", "alias"}:
            lines: list[Json] = [{"update": _action(raw)}, {"doc": {"tenant": target.value}}]
        elif here == there:
            return
        else:
            written: Json = {"_index": there.index, "_id": document_id(uid)}
            if there.routing is not None:
                written["routing"] = there.routing
            document = {**raw["_source"], "tenant": target.value}
            lines = [{"delete": _action(raw)}, {"index": written}, document]
        await _change(indices, lines, "moved")


async def _find(
    indices: Indices, tenant: TenantId, uids: Sequence[str], *, stored: bool = False
) -> list[Json]:
    """The tenant's own documents among these; `stored` for all that was once written."""
    scope, wanted = indices.scope(tenant), list(dict.fromkeys(uids))
    found: list[Json] = []
    for begin in range(0, len(wanted), _PAGE):
        part = wanted[begin : begin + _PAGE]
        body = by_id(scope, part, indices.text) | {"seq_no_primary_term": True}
        if stored:
            body["_source"] = indices.stored
        answer = await indices.search(tenant, body)
        hits = answer["hits"]["hits"]
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise AdapterError(f"{indices.backend}: by id: the answer is incomplete")
        if strange := {read_hit(hit, indices.text.names, whole=False).uid for hit in hits} - {
            *part
        }:
            raise AdapterError(f"{indices.backend}: by id: {min(strange)!r} was not asked for")
        found += hits
    return found


def _action(raw: Json) -> Json:
    """What names one document as it was found."""
    found = {name: raw[name] for name in ("_index", "_id")}
    found |= {"if_seq_no": raw["_seq_no"], "if_primary_term": raw["_primary_term"]}
    return found | ({"routing": raw["_routing"]} if "_routing" in raw else {})


async def _change(indices: Indices, lines: Sequence[Json], done: str) -> None:
    if not lines:
        return
    content = b"".join(map(dump, lines))
    answer = await indices.send("POST", "/_bulk", content, timeout=indices.timeout)
    actions = sum(1 for line in lines if line.keys() & {"delete", "update", "index"})
    check_bulk(indices.backend, answer, actions, done)
