"""A gRPC server that hands searches on to the front, in the client's own translation.

It proves that what the adapter sends by gRPC is a message of Qdrant's own protocol that
means the same as its REST request, and that answers and failures are understood. What
Qdrant's own gRPC server makes of it is proven by nothing here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx
from qdrant_client.conversions.conversion import GrpcToRest, json_to_value
from qdrant_client.grpc import points_pb2, points_service_pb2_grpc, qdrant_common_pb2

from retrieverbench.engines import Started

_STATUS = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
}


class GrpcPoints(points_service_pb2_grpc.PointsServicer):
    """The one method that the adapter calls."""

    def __init__(self, front: Started) -> None:
        self._front = front
        self.asked = 0
        self.port = 0

    async def Query(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        self.asked += 1
        body = GrpcToRest.convert_query_points(request).model_dump_json(exclude_none=True)
        headers = {k: v for k, v in context.invocation_metadata() if k == "api-key"}
        async with httpx.AsyncClient(base_url=self._front.endpoint, headers=headers) as http:
            answer = await http.post(
                f"/collections/{request.collection_name}/points/query", content=body
            )
        if answer.status_code != 200:
            status = _STATUS.get(answer.status_code, grpc.StatusCode.INTERNAL)
            await context.abort(status, _text(answer))
        told = answer.json()
        rows = [_point(row) for row in told["result"]["points"]]
        return points_pb2.QueryResponse(result=rows, time=told["time"])


def _point(row: dict[str, Any]) -> Any:
    return points_pb2.ScoredPoint(
        id=qdrant_common_pb2.PointId(uuid=row["id"]),
        payload={key: json_to_value(value) for key, value in row["payload"].items()},
        score=row["score"],
        version=row["version"],
    )


def _text(answer: httpx.Response) -> str:
    try:
        return str(json.loads(answer.content)["status"]["error"])
    except ValueError:
        return answer.text


@asynccontextmanager
async def grpc_front(front: Started) -> AsyncIterator[GrpcPoints]:
    """The servicer, which knows its port and counts what it was asked."""
    server = grpc.aio.server()
    points = GrpcPoints(front)
    points_service_pb2_grpc.add_PointsServicer_to_server(points, server)  # type: ignore[no-untyped-call]
    points.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield points
    finally:
        await server.stop(grace=None)
