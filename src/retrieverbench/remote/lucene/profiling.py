"""The servers' own profile of a query, read for what it says of the vectors and the filter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from retrieverbench.errors import Refused
from retrieverbench.model import FilterTime, Plan, Query
from retrieverbench.remote.lucene.answers import check_searches
from retrieverbench.remote.lucene.indices import Indices
from retrieverbench.remote.lucene.mapping import field_at, vector_kind
from retrieverbench.remote.lucene.requests import Json
from retrieverbench.remote.status import one_line

_CAVEAT = (
    "it is slower for being profiled; where few chunks meet the tenant's condition, the server "
    "may compare all of these instead of walking its vector index, and the profile does not tell"
)
_APART = "both searches of hybrid mode were profiled apart"
_EXACT_QUERY = "ScriptScoreQuery"
_NESTED_KNN = re.compile(r" +(DocAndScore|\w*Knn\w*)Query ")
"""A vector search that is part of another query: its hits are found when the others cut them."""


async def explain(indices: Indices, query: Query, bodies: Sequence[Json]) -> Plan:
    """Profile these searches of the query; `bodies` is one, or for hybrid the two to be fused."""
    profiled = [{**body, "profile": True} for body in bodies]
    if len(profiled) == 1:
        answers = [await indices.search(query.tenant, profiled[0])]
    else:
        both = await indices.search_both(query.tenant, profiled)
        check_searches(indices.backend, both)
        answers = both["responses"]
    searches = [list(_lines(answer["profile"])) for answer in answers]
    index = "" if query.mode == "lexical" else await _vector_index(indices, searches)
    return Plan(
        tuple(line for lines in searches for line in lines) or ("no shard was searched",),
        vector_index=index,
        filtered=_filtered(indices, query, searches, approximate=index != ""),
        caveat=_CAVEAT if len(bodies) == 1 else f"{_CAVEAT}; {_APART}",
    )


def _lines(profile: Json) -> Iterator[str]:
    """A line per query of each shard, children indented below their parents."""
    for shard in profile["shards"]:
        for nearest in shard.get("dfs", {}).get("knn", []):
            for one in nearest["query"]:
                yield from _tree(one, "knn ")
            if "vector_operations_count" in nearest:
                yield f"knn vector_operations_count: {nearest['vector_operations_count']}"
        for search in shard["searches"]:
            for one in search["query"]:
                yield from _tree(one, "")


def _tree(node: Json, before: str) -> Iterator[str]:
    yield f"{before}{node['type']} {one_line(node['description'], 300)}"
    for child in node.get("children", []):
        yield from _tree(child, f"{before}  ")


def _filtered(
    indices: Indices, query: Query, searches: Sequence[Sequence[str]], *, approximate: bool
) -> FilterTime | None:
    """When the tenant's condition was applied, where every search shows it; else None.

    Where each tenant has an index of its own, nothing else is searched. Lucene applies a
    filter that stands in a bool query or under a script before it scores, and one that stands
    in a vector query while it walks the graph; one beside a vector query cuts what that found.
    """
    if indices.isolation == "index":
        return "before"
    if not indices.scope(query.tenant).conditions:
        return None
    shown = f"TermQuery {indices.text.names.tenant}:{query.tenant.value}"
    if not all(any(shown in line for line in lines) for lines in searches):
        return None
    if any(_NESTED_KNN.match(line) for line in searches[-1]):
        return "after"
    return "during" if approximate else "before"


async def _vector_index(indices: Indices, searches: Sequence[Sequence[str]]) -> str | None:
    """By the mapping; exact where a script compared everything, None where nothing tells."""
    if any(line.lstrip().startswith(_EXACT_QUERY) for line in searches[-1]):
        return ""
    try:
        got = await indices.send("GET", f"/{indices.all}/_mapping")
    except Refused:
        return None
    for one in got.values():
        name = indices.text.names.vector
        kind = vector_kind(field_at(one["mappings"], name) or {})
        return kind and ("" if kind.endswith("flat") else f"{kind} of {name}")
    return None
