"""The routes that write, read and search points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from starlette.requests import Request
from starlette.routing import Route

from retrieverbench.engines.qdrant.answers import acknowledged, body_of, enveloped
from retrieverbench.engines.qdrant.bodies import (
    Refusal,
    malformed,
    point_id,
    points,
    take,
    untranslated,
    whole_number,
)
from retrieverbench.engines.qdrant.collection import Collection
from retrieverbench.engines.qdrant.collections import Collections
from retrieverbench.engines.qdrant.rows import record, scored, to_point, to_vectors
from retrieverbench.engines.qdrant.sharded import Sharded
from retrieverbench.engines.qdrant.translation import to_filter, to_query, to_selector

if TYPE_CHECKING:
    import qdrant_edge as edge

Target = Collection | Sharded
Action = Callable[[Target, Any, Request], Awaitable[Any]]
_SHARDS = "shard_key"


def routes(collections: Collections, *, strict: bool) -> list[Route]:
    """All of them; `strict` refuses unknown keys, which the server ignores."""

    def route(path: str, method: str, action: Action) -> Route:
        async def handler(request: Request) -> Any:
            collection = collections.get(request.path_params["name"])
            body = await body_of(request) if method != "GET" else None
            return await action(collection, body, request)

        return Route(f"/collections/{{name}}{path}", enveloped(handler), methods=[method])

    return [
        route(path, method, action) for path, method, action in _actions(_Points(strict=strict))
    ]


def _actions(own: _Points) -> list[tuple[str, str, Action]]:
    return [
        ("/points", "PUT", own.upsert),
        ("/points/vectors", "PUT", own.update_vectors),
        ("/points/payload", "POST", own.set_payload),
        ("/points/delete", "POST", own.delete),
        ("/points", "POST", own.retrieve),
        ("/points/query", "POST", own.query),
        ("/points/query/batch", "POST", own.query_batch),
        ("/points/count", "POST", own.count),
        ("/points/scroll", "POST", own.scroll),
        ("/facet", "POST", own.facet),
        ("/points/{id}", "GET", own.get),
    ]


class _Points:
    """What each route does; keeps nothing but whether unknown keys are refused."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict

    async def upsert(self, target: Target, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        checked = target.declared.fitting(points(body, strict=self._strict))
        shard = target.part(body.get(_SHARDS))

        def upsert() -> edge.UpdateOperation:
            return edge.UpdateOperation.upsert_points([to_point(one) for one in checked])

        return await acknowledged(request, lambda: shard.write(upsert))

    async def update_vectors(self, target: Target, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        found = points(body, strict=self._strict, with_payload=False)
        checked = target.declared.fitting(found)
        shard = target.part(body.get(_SHARDS))

        def update() -> edge.UpdateOperation:
            return edge.UpdateOperation.update_vectors(
                [edge.PointVectors(one.id, to_vectors(one)) for one in checked]
            )

        return await acknowledged(request, lambda: shard.write(update))

    async def set_payload(self, target: Target, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        keys = ("payload", "points", "filter", _SHARDS)
        fields = take(body, "SetPayload", keys, ("key",), strict=self._strict)
        payload = fields.get("payload")
        if not isinstance(payload, dict):
            raise malformed("missing field `payload`")
        change, change_matching = (
            edge.UpdateOperation.set_payload,
            edge.UpdateOperation.set_payload_by_filter,
        )
        return await self._selected(
            target,
            fields,
            request,
            lambda ids: change(ids, payload),
            lambda some: change_matching(some, payload),
        )

    async def delete(self, target: Target, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        keys = ("points", "filter", _SHARDS)
        fields = take(body, "PointsSelector", keys, strict=self._strict)
        return await self._selected(
            target,
            fields,
            request,
            edge.UpdateOperation.delete_points,
            edge.UpdateOperation.delete_points_by_filter,
        )

    async def _selected(
        self,
        target: Target,
        fields: dict[str, Any],
        request: Request,
        by_ids: Callable[[list[Any]], edge.UpdateOperation],
        by_filter: Callable[[edge.Filter], edge.UpdateOperation],
    ) -> Any:
        """A write to the points that a body names: by ids, and only without them by filter."""
        make: Callable[[], edge.UpdateOperation]
        if "points" in fields:  # then the server ignores a filter beside it
            ids: list[Any] = [point_id(one) for one in _a_list(fields["points"])]
            make = partial(by_ids, ids)
        elif "filter" in fields:
            some = to_filter(fields["filter"], strict=self._strict)
            make = partial(by_filter, some)
        else:
            raise malformed("data did not match any variant of untagged enum PointsSelector")
        shard = target.part(fields.get(_SHARDS))
        return await acknowledged(request, lambda: shard.write(make))

    async def retrieve(self, target: Target, body: Any, _: Request) -> Any:
        keys = ("ids", "with_payload", "with_vector", _SHARDS)
        fields = take(body, "PointRequest", keys, strict=self._strict)
        ids = [point_id(one) for one in _a_list(fields.get("ids"))]
        payload = to_selector(fields.get("with_payload", False))
        vector = fields.get("with_vector", False)
        found = await _only(target, fields).read(
            lambda shard: shard.retrieve(list(dict.fromkeys(ids)), payload, vector)
        )
        return [record(one) for one in found]

    async def get(self, target: Target, _: Any, request: Request) -> Any:
        raw: str = request.path_params["id"]
        try:
            identity = point_id(int(raw) if raw.isascii() and raw.isdigit() else raw)
        except Refusal:
            text = f'Bad request: Can not recognize "{raw}" as point id'
            raise Refusal(400, text) from None
        found = await _only(target, {}).read(lambda shard: shard.retrieve([identity], True, True))
        if not found:
            raise Refusal(404, f"Not found: Point with id {raw} does not exists!")
        return record(found[0])

    async def query(self, target: Target, body: Any, _: Request) -> Any:
        request = to_query(body, strict=self._strict)
        found = await _only(target, body).read(lambda shard: shard.query(request))
        return {"points": [scored(one) for one in found]}

    async def query_batch(self, target: Target, body: Any, request: Request) -> Any:
        fields = take(body, "QueryRequestBatch", ("searches",), strict=self._strict)
        searches = _a_list(fields.get("searches"))
        return [await self.query(target, one, request) for one in searches]

    async def count(self, target: Target, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        keys = ("filter", "exact", _SHARDS)
        fields = take(body, "CountRequest", keys, strict=self._strict)
        request = edge.CountRequest(exact=fields.get("exact", True), filter=self._filter(fields))
        parts = target.parts(fields.get(_SHARDS))
        return {"count": sum([await part.read(lambda one: one.count(request)) for part in parts])}

    async def facet(self, target: Target, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        keys = ("key", "limit", "filter", "exact", _SHARDS)
        fields = take(body, "FacetRequest", keys, strict=self._strict)
        if type(fields.get("key")) is not str:
            raise malformed("missing field `key`")
        limit = whole_number(fields.get("limit", 10), "limit", 1)
        request = edge.FacetRequest(
            fields["key"],
            limit=limit,
            exact=fields.get("exact", False),
            filter=self._filter(fields),
        )
        counts: Counter[Any] = Counter()
        for part in target.parts(fields.get(_SHARDS)):
            found = await part.read(lambda shard: shard.facet(request))
            counts.update({hit.value: hit.count for hit in found.hits})
        return {"hits": [{"value": v, "count": n} for v, n in counts.most_common(limit)]}

    async def scroll(self, target: Target, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        keys = ("offset", "limit", "filter", "with_payload", "with_vector", _SHARDS)
        fields = take(body, "ScrollRequest", keys, ("order_by",), strict=self._strict)
        limit = whole_number(fields.get("limit", 10), "limit", 1)
        request = edge.ScrollRequest(
            offset=point_id(fields["offset"]) if "offset" in fields else None,
            limit=limit,
            filter=self._filter(fields),
            with_payload=to_selector(fields.get("with_payload", True)),
            with_vector=fields.get("with_vector", False),
        )
        found: list[edge.Record] = []
        following: list[Any] = []
        for part in target.parts(fields.get(_SHARDS)):
            rows, offset = await part.read(lambda shard: shard.scroll(request))
            found += rows
            following += [] if offset is None else [offset]
        found.sort(key=lambda one: _in_order(one.id))
        following += [one.id for one in found[limit:]]
        return {
            "points": [record(one) for one in found[:limit]],
            "next_page_offset": min(following, key=_in_order, default=None),
        }

    def _filter(self, fields: dict[str, Any]) -> edge.Filter | None:
        if "filter" not in fields:
            return None
        return to_filter(fields["filter"], strict=self._strict)


def _only(target: Target, fields: Any) -> Collection:
    """The one shard that is asked; answers of several cannot be put together here."""
    parts = target.parts(fields.get(_SHARDS))
    if len(parts) != 1:
        raise untranslated(f"a read of points over {len(parts)} shards")
    return parts[0]


def _in_order(identity: int | str | UUID) -> tuple[bool, int, str]:
    """Numbers before UUIDs, as the server pages through points."""
    return (False, identity, "") if isinstance(identity, int) else (True, 0, str(identity))


def _a_list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise malformed("invalid type, expected a sequence")
    return value
