"""Finds the chunks that echo the question: those that share most words with it.

A plugin as a stranger would write one. It knows `retrieverbench.adapter`, `.errors`,
`.model` and `.options`, nothing else of the harness, and the harness does not know it.

Differences from other backends: a score is the number of shared words, case ignored; ties
come by uid; a chunk that shares no word is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar, Self

from retrieverbench.adapter import Description, Settings
from retrieverbench.model import Chunk, Hit, Query, Response
from retrieverbench.options import parse_options


@dataclass(frozen=True)
class Nothing:
    """There is nothing to set."""


@dataclass(frozen=True)
class Options:
    """The groups of settings that every adapter is given."""

    connect: Nothing = Nothing()
    place: Nothing = Nothing()
    search: Nothing = Nothing()


class Echo:
    """Chunks in a dictionary, read from end to end by each search."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"lexical", "filter", "put", "stable_ties"})

    def __init__(self) -> None:
        self._sent: dict[str, Chunk] = {}
        self._found: list[tuple[Chunk, frozenset[str]]] = []

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Refuse every option: an unknown one passed over would look like one in force."""
        parse_options(Options, settings.options, "echo: options")
        return cls()

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Keep them; a second chunk of one uid replaces the first."""
        self._sent.update((chunk.uid, chunk) for chunk in chunks)

    async def settle(self) -> None:
        """Make what was sent searchable."""
        self._found = [(chunk, words(chunk.text)) for chunk in self._sent.values()]

    async def search(self, query: Query) -> Response:
        """Count the shared words of every chunk of the tenant."""
        asked = words(query.text)
        own = ((c, len(asked & said)) for c, said in self._found if c.tenant == query.tenant)
        best = sorted((pair for pair in own if pair[1]), key=lambda pair: (-pair[1], pair[0].uid))
        return Response([_hit(c, shared, query.want) for c, shared in best[: query.k]])

    async def describe(self) -> Description:
        """What `settle` made searchable."""
        own_version = version("retrieverbench-echo")
        return Description(
            server="echo",
            server_version=own_version,
            client="retrieverbench-echo",
            client_version=own_version,
            settings={"similarity": "shared words"},
            chunks=Counter(chunk.tenant.value for chunk, _ in self._found),
            fidelity="engine",
        )

    async def close(self) -> None:
        """Nothing is held."""


def _hit(chunk: Chunk, shared: int, want: frozenset[str]) -> Hit:
    tenant = chunk.tenant.value if "tenant" in want else None
    return Hit(chunk.uid, float(shared), tenant, chunk.text if "text" in want else None)


def words(text: str) -> frozenset[str]:
    """The words of a text, case ignored."""
    return frozenset(re.findall(r"\w+", text.casefold()))
