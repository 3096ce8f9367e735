"""How a result becomes an answer: the server's envelope, its status and its texts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from retrieverbench.engines.qdrant.bodies import Refusal, parse_json

Handler = Callable[[Request], Awaitable[Any]]
_VARY = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"


def enveloped(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose result, or Refusal, is put into the server's envelope."""

    async def answer(request: Request) -> Response:
        begin = time.perf_counter_ns()
        try:
            result = await handler(request)
        except Refusal as refusal:
            return refused(refusal)
        seconds = (time.perf_counter_ns() - begin) / 1e9
        return json_answer({"result": result, "status": "ok", "time": seconds})

    return answer


def refused(refusal: Refusal) -> Response:
    """The envelope of an error; its time is 0.0, as the server's for bodies it cannot read."""
    return json_answer({"status": {"error": refusal.text}, "time": 0.0}, refusal.status)


def json_answer(value: Any, status: int = 200) -> Response:
    """JSON with the server's headers; a score that is not a number becomes null."""
    from pydantic_core import to_json

    return Response(
        to_json(value, inf_nan_mode="null"),
        status,
        {"content-type": "application/json", "vary": _VARY},
    )


async def body_of(request: Request) -> Any:
    """The JSON value of a request."""
    return parse_json(await request.body())


async def acknowledged(request: Request, write: Callable[[], Awaitable[int]]) -> dict[str, Any]:
    """Do a write and tell its number; `completed` if the client asked to wait."""
    wait = request.query_params.get("wait", "false")
    if wait not in _STATUS:
        raise Refusal(
            400,
            "Deserialize error in query parameters: provided string was not `true` or `false`",
        )
    return {"operation_id": await write(), "status": _STATUS[wait]}


_STATUS = {"true": "completed", "false": "acknowledged"}
