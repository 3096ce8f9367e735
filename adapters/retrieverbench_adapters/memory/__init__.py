"""Exact search in this process: the oracle that the other adapters are compared with.

Dense is the cosine over every vector of the tenant. Lexical is BM25 as Lucene computes it
(`BM25Similarity`, without the constant factor k1 + 1 that Elasticsearch keeps), over title,
newline and text in one field, after an analyzer with the tokens of Lucene's `english` or
`standard`. Hybrid is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).

Differences from the other backends:
- score: cosine in -1..1; BM25 as above; Σ 1 / (rrf_k + rank). Nothing is rescaled.
- ties: by uid, always.
- visibility: what was put is searchable after `settle`, and not before.
- filter: before scoring. Other tenants' chunks are not looked at.
- statistics: of all tenants in layout `filter` (property `shared_idf`), as in one Lucene
  index; of the tenant alone in layout `index`.
- lexical: only chunks that hold a term of the query. `total` counts the candidates of
  both legs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from itertools import groupby
from typing import ClassVar, Self

import anyio.to_thread
import numpy as np

from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import InputError, Rejected, TenantError, Unavailable
from retrieverbench.model import Chunk, Hit, Plan, Query, Response, TenantId
from retrieverbench.options import parse_options
from retrieverbench_adapters.memory.analyzer import Analyzer
from retrieverbench_adapters.memory.index import Index, build_index, unit_vector
from retrieverbench_adapters.memory.options import Options, faults
from retrieverbench_adapters.memory.ranking import ranked

__all__ = ["Memory"]


class Memory:
    """Chunks in a dictionary; arrays, built by `settle`, in which is searched."""

    options: ClassVar[type] = Options
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "index", "where", "exact", "stable_ties"}
        | {"put", "get", "delete", "move", "total", "explain"}
    )

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._analyzer = Analyzer(options.place.analyzer)
        self._chunks: dict[str, Chunk] = {}  # by the uid they were put with, moved or not
        self._built: Mapping[str, Index] = {}
        self._closed = False

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Check the settings; there is nothing to connect to."""
        options = parse_options(Options, settings.options, "memory: options")
        wrong = faults(settings)
        if wrong:
            raise InputError(*wrong)
        return cls(settings, options)

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Keep the chunks, or none of them when one is wrong; searchable after `settle`."""
        self._check_open()
        for chunk in chunks:
            _check_tenant(chunk.tenant)
            if self._settings.dimension:
                unit_vector(chunk.vector, self._settings.dimension, f"chunk {chunk.uid!r}")
        self._chunks.update({chunk.uid: chunk for chunk in chunks})

    async def settle(self) -> None:
        """Build the arrays anew, in a thread, and exchange them at once."""
        self._check_open()
        chunks = sorted(self._chunks.items(), key=lambda item: (item[1].tenant, item[0]))
        analyzer = Analyzer(self._options.place.analyzer)  # not shared between threads
        build = partial(self._build, chunks, analyzer)
        self._built = await anyio.to_thread.run_sync(build)
        self._analyzer = analyzer

    async def search(self, query: Query) -> Response:
        """Score every candidate of the tenant; ties by uid."""
        self._check_open()
        _check_tenant(query.tenant)
        index = self._built.get(query.tenant.value)
        if index is None:
            return Response([], total=0 if "total" in query.want else None)
        best, total = ranked(index, query, self._analyzer, self._options.search)
        hits = [_hit(index.uids[row], index.chunks[row], score, query.want) for row, score in best]
        return Response(hits, total=total if "total" in query.want else None)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among them, as `settle` last made them searchable."""
        self._check_open()
        _check_tenant(tenant)
        index = self._built.get(tenant.value)
        if index is None:
            return []
        start, end = index.spans[tenant.value]
        own = dict(zip(index.uids[start:end], index.chunks[start:end], strict=True))
        wanted = frozenset({"tenant", "text"})
        return [_hit(uid, own[uid], 1.0, wanted) for uid in uids if uid in own]

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """Forget the tenant's own among them; they are found until `settle`."""
        self._check_open()
        _check_tenant(tenant)
        for uid in uids:
            if uid in self._chunks and self._chunks[uid].tenant == tenant:
                del self._chunks[uid]

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """Change the owner of a chunk of `source`; Rejected when it has no such chunk."""
        self._check_open()
        _check_tenant(source)
        _check_tenant(target)
        chunk = self._chunks.get(uid)
        if chunk is None or chunk.tenant != source:
            raise Rejected(f"memory: {source.value!r} has no chunk {uid!r} to move")
        self._chunks[uid] = replace(chunk, tenant=target)

    async def explain(self, query: Query) -> Plan:
        """What `search` does, always."""
        self._check_open()
        _check_tenant(query.tenant)
        rows = "the rows of the tenant, then every one of them is scored"
        return Plan((rows,), vector_index="", filtered="before")

    async def describe(self) -> Description:
        """Counts of what `settle` built, and the sizes by which analyzers can be compared."""
        self._check_open()
        indexes = {id(index): index for index in self._built.values()}.values()
        settings: dict[str, object] = {
            "index": "exact",
            "similarity": "cosine",
            "dimension": self._settings.dimension,
            "layout": self._settings.layout,
            "terms": sum(index.term_count for index in indexes),
            "distinct_terms": len({term for index in indexes for term in index.postings}),
            **asdict(self._options.place),
            **asdict(self._options.search),
        }
        return Description(
            server="retrieverbench memory",
            server_version=version("retrieverbench"),
            client="numpy",
            client_version=np.__version__,
            settings=settings,
            chunks=dict(Counter(chunk.tenant.value for i in indexes for chunk in i.chunks)),
            properties=frozenset({"shared_idf"} if self._settings.layout == "filter" else ()),
            fidelity="engine",
            weaknesses=(),
        )

    async def close(self) -> None:
        """Forget everything."""
        self._chunks, self._built, self._closed = {}, {}, True

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("memory: this place was closed; open a new one")

    def _build(
        self, chunks: Sequence[tuple[str, Chunk]], analyzer: Analyzer
    ) -> Mapping[str, Index]:
        """The index that answers each tenant: one for all, or one each."""
        groups = [chunks]
        if self._settings.layout == "index":
            groups = [list(own) for _, own in groupby(chunks, key=lambda item: item[1].tenant)]
        place, dimension = self._options.place, self._settings.dimension
        indexes = [build_index(group, analyzer, place, dimension) for group in groups]
        return {tenant: index for index in indexes for tenant in index.spans}


def _check_tenant(tenant: object) -> None:
    if not isinstance(tenant, TenantId) or type(tenant.value) is not str or not tenant.value:
        raise TenantError(f"memory: tenant: {tenant!r:.80} is not a checked tenant")


def _hit(uid: str, chunk: Chunk, score: float, want: frozenset[str]) -> Hit:
    return Hit(
        uid=uid,
        score=score,
        tenant=chunk.tenant.value if "tenant" in want else None,
        text=chunk.text if "text" in want else None,
    )
