"""A whole corpus and its questions into vectors, with the cache between."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread

from retrieverbench.embedding.cache import Role, VectorCache
from retrieverbench.embedding.identity import check_dimension
from retrieverbench.errors import AdapterError, plural
from retrieverbench.model import Corpus
from retrieverbench.stages import Embedder
from retrieverbench.storage import VectorFile, stored

_BLOCK = 128
"""Texts between two writes to the cache: what an interruption can lose."""


async def embed_corpus(
    corpus: Corpus,
    embedder: Embedder,
    cache: VectorCache | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Corpus:
    """The corpus with a vector on every chunk; one that came with vectors keeps them.

    The vectors go to disk block by block. `on_progress` is told how many chunks are done in
    all, from time to time. Raises InputError when the vectors that are there have another
    dimension than the embedder gives.
    """
    chunks = stored(corpus.chunks)
    if chunks.vectors is not None:
        check_dimension(chunks.vectors.dimension, embedder)
        if on_progress:
            on_progress(len(chunks))
        return replace(corpus, chunks=chunks)
    vectors = VectorFile(embedder.dimension)
    for start in range(0, len(chunks), _BLOCK):
        texts = [chunk.searchable_text for chunk in chunks[start : start + _BLOCK]]
        made = await _embed_block("document", list(dict.fromkeys(texts)), embedder, cache)
        vectors.write(start, [made[text] for text in texts])
        if on_progress:
            on_progress(start + len(texts))
    return replace(corpus, chunks=chunks.with_vectors(vectors))


async def embed_queries(
    texts: Sequence[str],
    embedder: Embedder,
    cache: VectorCache | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[array[float]]:
    """One vector per question, in order; equal questions are embedded once."""
    vectors: dict[str, array[float]] = {}
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        unknown = list(dict.fromkeys(text for text in block if text not in vectors))
        vectors.update(await _embed_block("query", unknown, embedder, cache))
        if on_progress:
            on_progress(start + len(block))
    return [vectors[text] for text in texts]


async def _embed_block(
    role: Role, texts: Sequence[str], embedder: Embedder, cache: VectorCache | None
) -> Mapping[str, array[float]]:
    """The vectors of different texts: from the cache, and the rest from the embedder."""
    identity = embedder.identity
    known: Mapping[str, array[float]] = {}
    if cache and texts:
        known = await anyio.to_thread.run_sync(partial(cache.get, identity, role, texts))
    missing = [t for t in texts if t not in known or len(known[t]) != embedder.dimension]
    if not missing:
        return known
    embed = embedder.embed_queries if role == "query" else embedder.embed_documents
    vectors = await embed(missing)
    wrong = [len(vector) for vector in vectors if len(vector) != embedder.dimension]
    if len(vectors) != len(missing) or wrong:
        raise AdapterError(
            f"embedding: {plural(len(missing), 'text')} gave {plural(len(vectors), 'vector')}, "
            f"of lengths {sorted({len(v) for v in vectors})}; "
            f"expected {embedder.dimension} numbers each"
        )
    made = dict(zip(missing, vectors, strict=True))
    if cache:
        await anyio.to_thread.run_sync(partial(cache.put, identity, role, made))
    return {**known, **made}
