"""The routes that write, read and search points."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import Route

from retrieverbench.engines.qdrant.answers import acknowledged, body_of, enveloped
from retrieverbench.engines.qdrant.bodies import (
    PointBody,
    Refusal,
    Sparse,
    malformed,
    point_id,
    points,
    take,
    whole_number,
)
from retrieverbench.engines.qdrant.collection import Collection, Collections
from retrieverbench.engines.qdrant.translation import to_filter, to_query, to_selector

if TYPE_CHECKING:
    import qdrant_edge as edge

Action = Callable[[Collection, Any, Request], Awaitable[Any]]
_SHARDS = ("shard_key",)


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

    async def upsert(self, collection: Collection, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        checked = collection.declared.fitting(points(body, strict=self._strict))

        def upsert() -> edge.UpdateOperation:
            return edge.UpdateOperation.upsert_points([_to_point(one) for one in checked])

        return await acknowledged(request, lambda: collection.write(upsert))

    async def update_vectors(self, collection: Collection, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        found = points(body, strict=self._strict, with_payload=False)
        checked = collection.declared.fitting(found)

        def update() -> edge.UpdateOperation:
            return edge.UpdateOperation.update_vectors(
                [edge.PointVectors(one.id, _to_vectors(one)) for one in checked]
            )

        return await acknowledged(request, lambda: collection.write(update))

    async def delete(self, collection: Collection, body: Any, request: Request) -> Any:
        import qdrant_edge as edge

        fields = take(body, "PointsSelector", ("points", "filter"), _SHARDS, strict=self._strict)
        delete = edge.UpdateOperation.delete_points
        delete_matching = edge.UpdateOperation.delete_points_by_filter
        if "points" in fields:  # then the server ignores a filter beside it
            ids: list[Any] = [point_id(one) for one in _a_list(fields["points"])]
            return await acknowledged(request, lambda: collection.write(lambda: delete(ids)))
        if "filter" in fields:
            some = to_filter(fields["filter"], strict=self._strict)
            return await acknowledged(
                request, lambda: collection.write(lambda: delete_matching(some))
            )
        raise malformed("data did not match any variant of untagged enum PointsSelector")

    async def retrieve(self, collection: Collection, body: Any, _: Request) -> Any:
        keys = ("ids", "with_payload", "with_vector")
        fields = take(body, "PointRequest", keys, _SHARDS, strict=self._strict)
        ids = [point_id(one) for one in _a_list(fields.get("ids"))]
        payload = to_selector(fields.get("with_payload", False))
        vector = fields.get("with_vector", False)
        found = await collection.read(
            lambda shard: shard.retrieve(list(dict.fromkeys(ids)), payload, vector)
        )
        return [_record(one) for one in found]

    async def get(self, collection: Collection, _: Any, request: Request) -> Any:
        raw: str = request.path_params["id"]
        try:
            identity = point_id(int(raw) if raw.isascii() and raw.isdigit() else raw)
        except Refusal:
            text = f'Bad request: Can not recognize "{raw}" as point id'
            raise Refusal(400, text) from None
        found = await collection.read(lambda shard: shard.retrieve([identity], True, True))
        if not found:
            raise Refusal(404, f"Not found: Point with id {raw} does not exists!")
        return _record(found[0])

    async def query(self, collection: Collection, body: Any, _: Request) -> Any:
        request = to_query(body, strict=self._strict)
        found = await collection.read(lambda shard: shard.query(request))
        return {"points": [_scored(one) for one in found]}

    async def query_batch(self, collection: Collection, body: Any, _: Request) -> Any:
        fields = take(body, "QueryRequestBatch", ("searches",), strict=self._strict)
        searches = _a_list(fields.get("searches"))
        requests = [to_query(one, strict=self._strict) for one in searches]
        found = await collection.read(lambda shard: [shard.query(request) for request in requests])
        return [{"points": [_scored(one) for one in rows]} for rows in found]

    async def count(self, collection: Collection, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        fields = take(body, "CountRequest", ("filter", "exact"), _SHARDS, strict=self._strict)
        request = edge.CountRequest(exact=fields.get("exact", True), filter=self._filter(fields))
        return {"count": await collection.read(lambda shard: shard.count(request))}

    async def facet(self, collection: Collection, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        keys = ("key", "limit", "filter", "exact")
        fields = take(body, "FacetRequest", keys, _SHARDS, strict=self._strict)
        if type(fields.get("key")) is not str:
            raise malformed("missing field `key`")
        request = edge.FacetRequest(
            fields["key"],
            limit=whole_number(fields.get("limit", 10), "limit", 1),
            exact=fields.get("exact", False),
            filter=self._filter(fields),
        )
        found = await collection.read(lambda shard: shard.facet(request))
        return {"hits": [{"value": hit.value, "count": hit.count} for hit in found.hits]}

    async def scroll(self, collection: Collection, body: Any, _: Request) -> Any:
        import qdrant_edge as edge

        keys = ("offset", "limit", "filter", "with_payload", "with_vector")
        fields = take(body, "ScrollRequest", keys, (*_SHARDS, "order_by"), strict=self._strict)
        request = edge.ScrollRequest(
            offset=point_id(fields["offset"]) if "offset" in fields else None,
            limit=whole_number(fields.get("limit", 10), "limit", 1),
            filter=self._filter(fields),
            with_payload=to_selector(fields.get("with_payload", True)),
            with_vector=fields.get("with_vector", False),
        )
        found, following = await collection.read(lambda shard: shard.scroll(request))
        return {"points": [_record(one) for one in found], "next_page_offset": following}

    def _filter(self, fields: dict[str, Any]) -> edge.Filter | None:
        if "filter" not in fields:
            return None
        return to_filter(fields["filter"], strict=self._strict)


def _a_list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise malformed("invalid type, expected a sequence")
    return value


def _to_point(body: PointBody) -> edge.Point:
    import qdrant_edge as edge

    return edge.Point(body.id, _to_vectors(body), dict(body.payload))


def _to_vectors(body: PointBody) -> Any:
    import qdrant_edge as edge

    named = {
        name: edge.SparseVector(one.indices, one.values) if isinstance(one, Sparse) else one
        for name, one in body.vectors.items()
    }
    return named[""] if list(named) == [""] else named


def _scored(point: edge.ScoredPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"id": point.id, "version": point.version, "score": point.score}
    return _with_contents(row, point)


def _record(point: edge.Record) -> dict[str, Any]:
    return _with_contents({"id": point.id}, point)


def _with_contents(row: dict[str, Any], point: edge.ScoredPoint | edge.Record) -> dict[str, Any]:
    import qdrant_edge as edge

    if point.payload is not None:
        row["payload"] = point.payload
    if isinstance(point.vector, dict):
        row["vector"] = {
            name: {"indices": one.indices, "values": one.values}
            if isinstance(one, edge.SparseVector)
            else one
            for name, one in point.vector.items()
        }
    elif point.vector is not None:
        row["vector"] = point.vector
    return row
