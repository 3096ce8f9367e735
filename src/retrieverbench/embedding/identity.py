"""Whether an embedder is the one that made the stored vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping

from retrieverbench.errors import InputError
from retrieverbench.model import Corpus
from retrieverbench.stages import Embedder
from retrieverbench.storage import stored

SAME_MODEL = 0.9
"""The least cosine between two vectors of one text that can be of one model. The same model
in other arithmetic gives 0.999 and more (int8 against float32), with a title or prefix more
or less still about 0.9; two models of one dimension give about 0."""


def compare_identities(
    index_identity: Mapping[str, str], query_identity: Mapping[str, str]
) -> None:
    """Raise InputError naming each difference between two embedders; None if there is none."""
    faults = [
        f"embedding: {name}: the index was built with {index_identity.get(name, 'none')!r}, "
        f"the queries use {query_identity.get(name, 'none')!r}; use one for both"
        for name in sorted(index_identity.keys() | query_identity.keys())
        if index_identity.get(name) != query_identity.get(name)
    ]
    if faults:
        raise InputError(*faults)


async def probe_embedder(corpus: Corpus, embedder: Embedder, sample: int = 5) -> float:
    """Embed a few chunks again; the least cosine to their stored vectors.

    Shows a wrong model where names agree or are not known. Raises InputError when a
    dimension differs, found before anything is embedded, or the cosine is below
    SAME_MODEL. Chunks are taken evenly over the corpus; all need vectors.
    """
    chunks = stored(corpus.chunks)
    if not chunks:
        raise InputError(f"corpus {corpus.name!r}: has no chunks; there is nothing to compare")
    if chunks.vectors is None:
        raise InputError(f"corpus {corpus.name!r}: has no vectors; embed it first")
    check_dimension(chunks.vectors.dimension, embedder)
    step = max(1, len(chunks) // sample)
    chosen = chunks[::step][:sample]
    again = await embedder.embed_documents([chunk.searchable_text for chunk in chosen])
    cosines = {
        chunk.uid: _cosine(chunk.vector or (), vector)
        for chunk, vector in zip(chosen, again, strict=True)
    }
    worst = min(cosines, key=lambda uid: cosines[uid])
    if not cosines[worst] >= SAME_MODEL:
        raise InputError(
            f"chunk {worst!r}: embedded again, its vector has cosine {cosines[worst]:.3f} to the "
            f"stored one, expected {SAME_MODEL} or more: the corpus was embedded with another "
            "model or from other text; embed both with one model"
        )
    return cosines[worst]


def check_dimension(
    stored_dimension: int, embedder: Embedder, chunks: str = "the corpus", gives: str = ""
) -> None:
    """Raise InputError where the corpus's vectors are of another length than the embedder's.

    `chunks` and `gives` name the files that the vectors stand in.
    """
    if stored_dimension != embedder.dimension:
        raise InputError(
            f"{chunks}: its vectors have {stored_dimension} numbers, {gives or 'the embedder'} "
            f"gives {embedder.dimension}; embed corpus and queries with one model"
        )


def _cosine(one: object, other: object) -> float:
    import numpy as np

    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    length = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / length if length else math.nan
