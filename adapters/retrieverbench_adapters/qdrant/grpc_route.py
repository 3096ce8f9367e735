"""A search by gRPC: the same request, in the client's own translation of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from grpc.aio import AioRpcError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from retrieverbench.adapter import Recorder
from retrieverbench_adapters.qdrant.recording import legs_of_request

_OPERATION = "gRPC qdrant.Points/Query"


async def ask_by_grpc(
    client: AsyncQdrantClient,
    collection: str,
    request: models.QueryRequest,
    recorder: Recorder | None,
) -> tuple[Sequence[models.ScoredPoint], float]:
    """The points and the server's own seconds."""
    message = RestToGrpc.convert_query_points(request, collection)
    operation = f"{_OPERATION} {collection}"
    if recorder is not None:
        legs = legs_of_request(GrpcToRest.convert_query_points(message))
        recorder.request(operation, legs, _as_json(message))
    try:
        answer = await client.grpc_points.Query(message)
    except AioRpcError as error:
        if recorder is not None:
            told = {"status": error.code().name, "details": error.details()}
            recorder.response(operation, told)
        raise
    if recorder is not None:
        recorder.response(operation, _as_json(answer))
    return [GrpcToRest.convert_scored_point(point) for point in answer.result], answer.time


def _as_json(message: Any) -> object:
    return MessageToDict(message, preserving_proto_field_name=True)
