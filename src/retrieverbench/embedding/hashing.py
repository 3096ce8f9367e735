"""Vectors without a model, for unit tests: equal words make near vectors, meaning does not."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Mapping, Sequence


class HashingEmbedder:
    """Counts words in `dimension` places chosen by their hash. Never for measurements."""

    def __init__(self, dimension: int = 64) -> None:
        self._dimension = dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """Says what it is: numbers made with it say nothing about retrieval."""
        return {"model": "hashing (unit tests only)", "dimension": str(self._dimension)}

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._dimension

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """One unit vector per text, in order."""
        return [_vector(text, self._dimension) for text in texts]

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        """The same as for documents."""
        return [_vector(text, self._dimension) for text in texts]


def _vector(text: str, dimension: int) -> array[float]:
    numbers = [0.0] * dimension
    for word in text.lower().split() or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        place = int.from_bytes(digest[:8], "big") % dimension
        numbers[place] += 1.0 if digest[8] & 1 else -1.0
    if not any(numbers):  # two words that cancel each other out
        numbers[0] = 1.0
    length = math.hypot(*numbers)
    return array("f", (number / length for number in numbers))
