"""Routes that the server has and this front does not: 501 instead of the server's 404."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from retrieverbench.engines.qdrant.answers import enveloped
from retrieverbench.engines.qdrant.bodies import untranslated

_COLLECTION = "/collections/{name}"
_BY_METHOD = {
    "GET": (
        *("/aliases", "/issues", "/metrics", "/snapshots", "/telemetry", "/cluster/telemetry"),
        *(f"{_COLLECTION}/{path}" for path in ("aliases", "cluster", "memory", "optimizations")),
        f"{_COLLECTION}/snapshots",
    ),
    "POST": (
        *("/collections/aliases", "/snapshots"),
        *(f"{_COLLECTION}/{path}" for path in ("cluster", "snapshots")),
        *(
            f"{_COLLECTION}/points/{path}"
            for path in (
                *("batch", "payload/clear", "payload/delete", "vectors/delete", "query/groups"),
                *("search", "search/batch", "search/groups"),
                *("search/matrix/offsets", "search/matrix/pairs"),
                *("recommend", "recommend/batch", "recommend/groups"),
                *("discover", "discover/batch"),
            )
        ),
    ),
    "PUT": (
        f"{_COLLECTION}/points/payload",
        f"{_COLLECTION}/snapshots/recover",
        f"{_COLLECTION}/vectors/{{vector}}",
    ),
    "DELETE": (
        "/issues",
        f"{_COLLECTION}/index/{{field}}",
        f"{_COLLECTION}/vectors/{{vector}}",
    ),
}


def untranslated_routes() -> list[Route]:
    """One for each method and path; they stand behind those that are translated."""

    async def refuse(request: Request) -> Any:
        raise untranslated(f"{request.method} {request.url.path}")

    return [
        Route(path, enveloped(refuse), methods=[method])
        for method, paths in _BY_METHOD.items()
        for path in paths
    ]
