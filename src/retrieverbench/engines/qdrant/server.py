"""The loopback front: the part of Qdrant's REST API that the official client's adapter uses.

Status, text and shape of an answer are those of Qdrant 1.19.0 as far as they are known;
what is not translated answers 501. Engine calls run in the event loop, one at a time: the
engine holds Python's lock anyway, and so an answer is never mixed with a write.
"""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from retrieverbench.engines.qdrant import points
from retrieverbench.engines.qdrant.access import OPEN, Guard, Keys, Prefixed
from retrieverbench.engines.qdrant.answers import (
    Handler,
    acknowledged,
    body_of,
    enveloped,
    json_answer,
    refused,
)
from retrieverbench.engines.qdrant.bodies import Refusal, take, untranslated
from retrieverbench.engines.qdrant.collections import Collections
from retrieverbench.engines.qdrant.declared import check_name, to_declared, to_index
from retrieverbench.engines.qdrant.faults import FaultInjector
from retrieverbench.engines.qdrant.sharded import Sharded
from retrieverbench.engines.qdrant.untranslated import untranslated_routes

SERVER_VERSION = "1.19.0"
"""The server whose answers this front gives. A client warns at more than one minor apart."""

_CHANGES = (
    "vectors",
    "params",
    "hnsw_config",
    "quantization_config",
    "sparse_vectors",
    "strict_mode_config",
    "metadata",
)


def make_app(
    collections: Collections,
    engine: str,
    keys: Keys,
    *,
    strict: bool,
    faults: bool,
    prefix: str = "",
) -> ASGIApp:
    """The whole application; `engine` is told in place of the server's commit."""

    async def version(_: Request) -> Response:
        title = "qdrant - vector search engine"
        return json_answer({"title": title, "version": SERVER_VERSION, "commit": engine})

    async def healthy(request: Request) -> Response:
        ready = request.url.path == "/readyz"
        return PlainTextResponse("all shards are ready" if ready else "healthz check passed")

    app: ASGIApp = Starlette(
        routes=[
            Route("/", version),
            *(Route(path, healthy) for path in sorted(OPEN - {"/"})),
            *_routes(collections, strict=strict),
            *_shard_routes(collections, strict=strict),
            *points.routes(collections, strict=strict),
            *untranslated_routes(),
        ],
        exception_handlers={HTTPException: _empty, Exception: _internal},
    )
    if faults:
        app = FaultInjector(app)
    app = Guard(app, keys)
    return Prefixed(app, prefix) if prefix else app


async def _empty(_: Request, error: Exception) -> Response:
    """An unknown route or a wrong method: 404 without a body, never 405."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return Response(status_code=404 if status == 405 else status)


async def _internal(_: Request, error: Exception) -> Response:
    return refused(Refusal(500, f"Service internal error: {type(error).__name__}: {error}"))


def _routes(collections: Collections, *, strict: bool) -> list[Route]:
    async def names(_: Request) -> Any:
        return {"collections": [{"name": name} for name in collections.names()]}

    async def exists(request: Request) -> Any:
        return {"exists": request.path_params["name"] in collections.names()}

    async def information(request: Request) -> Any:
        return collections.get(request.path_params["name"]).information()

    async def create(request: Request) -> Any:
        name = request.path_params["name"]
        check_name(name)
        collections.create(name, to_declared(await body_of(request), strict=strict))
        return True

    async def change(request: Request) -> Any:
        """Only the empty change, by which clients start the optimiser."""
        collection = collections.get(request.path_params["name"])
        body = await body_of(request)
        fields = take(body, "UpdateCollection", ("optimizers_config",), _CHANGES, strict=strict)
        if any(value is not None for value in fields.get("optimizers_config", {}).values()):
            raise untranslated("UpdateCollection.optimizers_config with values")
        collection.optimize()
        return True

    async def remove(request: Request) -> Any:
        return collections.remove(request.path_params["name"])

    async def index(request: Request) -> Any:
        collection = collections.get(request.path_params["name"])
        name, schema = to_index(await body_of(request), strict=strict)
        return await acknowledged(request, lambda: collection.create_index(name, schema))

    def route(path: str, method: str, handler: Handler) -> Route:
        return Route(f"/collections{path}", enveloped(handler), methods=[method])

    return [
        route("", "GET", names),
        route("/", "GET", names),
        route("/{name}/exists", "GET", exists),
        route("/{name}", "GET", information),
        route("/{name}", "PUT", create),
        route("/{name}", "PATCH", change),
        route("/{name}", "DELETE", remove),
        route("/{name}/index", "PUT", index),
    ]


def _shard_routes(collections: Collections, *, strict: bool) -> list[Route]:
    """Custom shard keys: refused as by a single server unless the front has them."""

    async def cluster(_: Request) -> Any:
        if not collections.cluster:
            return {"status": "disabled"}
        raft = {"term": 1, "commit": 1, "pending_operations": 0, "role": "Leader", "is_voter": True}
        working = {"consensus_thread_status": "working", "last_update": "1970-01-01T00:00:00Z"}
        return {
            "status": "enabled",
            "peer_id": 1,
            "peers": {"1": {"uri": "http://127.0.0.1:6335/"}},
            "raft_info": raft,
            "consensus_thread_status": working,
            "message_send_failures": {},
        }

    async def keys(request: Request) -> Any:
        found = collections.get(request.path_params["name"])
        made = found.keys() if isinstance(found, Sharded) else None
        return {"shard_keys": None if made is None else [{"key": key} for key in made]}

    async def create(request: Request) -> Any:
        name = request.path_params["name"]
        known = ("shards_number", "replication_factor", "placement", "initial_state")
        body = await body_of(request)
        fields = take(body, "CreateShardingKey", ("shard_key",), known, strict=strict)
        await collections.sharded(name).create_key(name, fields.get("shard_key"))
        return True

    async def remove(request: Request) -> Any:
        name = request.path_params["name"]
        fields = take(await body_of(request), "DropShardingKey", ("shard_key",), strict=strict)
        await collections.sharded(name).remove_key(name, fields.get("shard_key"))
        return True

    shards = "/collections/{name}/shards"
    return [
        Route("/cluster", enveloped(cluster), methods=["GET"]),
        Route(shards, enveloped(keys), methods=["GET"]),
        Route(shards, enveloped(create), methods=["PUT"]),
        Route(f"{shards}/delete", enveloped(remove), methods=["POST"]),
    ]
