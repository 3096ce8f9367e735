"""The promises of what may stand around a search."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors of one length.

    `identity` names everything that changes a vector (model, checksum, pooling,
    truncation): equal identities give interchangeable vectors. It keys the cache, is kept
    in the artifact and is compared before a run.
    """

    @property
    def identity(self) -> Mapping[str, str]:
        """Model name, checksum, pooling, truncation; flat text."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """One float32 vector per text, in order, L2-normalised."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        """One float32 vector per question; some models treat them differently."""
        ...
