"""One search, or two whose ranks are fused here, and its answer as a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieverbench.model import Query, Response
from retrieverbench.remote.lucene.answers import read_fused, read_response
from retrieverbench.remote.lucene.indices import Indices
from retrieverbench.remote.lucene.requests import Json, counting


async def search(
    indices: Indices, query: Query, bodies: Sequence[Json], rrf_k: int = 60
) -> Response:
    """`bodies` is one search, or those whose ranks are fused with the constant `rrf_k`."""
    fields = indices.text.names
    if len(bodies) == 1:
        answer = await indices.search(query.tenant, bodies[0])
        found = read_response(answer, query, fields)
    else:
        answer = await indices.search_both(query.tenant, bodies)
        found = read_fused(indices.backend, answer, query, fields, rrf_k)
    if "total" not in query.want or query.mode == "lexical":
        return found
    # A vector search tells how many it kept or compared: by vector, all that pass match.
    body = counting(query, indices.scope(query.tenant), indices.text)
    counted = await indices.search(query.tenant, body)
    return replace(found, total=counted["hits"]["total"]["value"])
