"""Vectors of the corpus and of the questions, made before anything is measured."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

from retrieverbench.adapter import Secret
from retrieverbench.job.progress import Advance
from retrieverbench.model import Corpus


@dataclass(frozen=True, slots=True)
class Embedded:
    """A corpus with vectors, the questions' vectors by case id, and the model's identity."""

    corpus: Corpus
    queries: Mapping[str, array[float]]
    identity: Mapping[str, str]
    dimension: int


async def embed_set(
    corpus: Corpus,
    questions: Mapping[str, str],
    config: Mapping[str, object],
    secrets: Mapping[str, Secret],
    *,
    where: str,
    on_progress: Advance,
) -> Embedded:
    raise NotImplementedError
