"""A whole corpus and its questions into vectors, with the cache between."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread

from retrieverbench.embedding.cache import Role, VectorCache
from retrieverbench.errors import AdapterError, InputError
from retrieverbench.model import Corpus
from retrieverbench.stages import Embedder

_BLOCK = 128
"""Texts between two writes to the cache: what an interruption can lose."""


async def embed_corpus(
    corpus: Corpus,
    embedder: Embedder,
    cache: VectorCache | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Corpus:
    """The corpus with a vector on every chunk; those that have one keep it.

    `on_progress` is told how many chunks are done in all, from time to time. Raises
    InputError when a vector that is there has another dimension than the embedder gives.
    """
    lacking = [chunk for chunk in corpus.chunks if chunk.vector is None]
    for chunk in corpus.chunks:
        if chunk.vector is not None and len(chunk.vector) != embedder.dimension:
            raise InputError(
                f"chunk {chunk.uid!r}: its vector has {len(chunk.vector)} numbers, the embedder "
                f"gives {embedder.dimension}; use the model that made the vectors"
            )
    texts = [chunk.searchable_text for chunk in lacking]
    done = len(corpus.chunks) - len(lacking)
    vectors = await _embed_all("document", texts, embedder, cache, on_progress, done)
    chunks = tuple(
        chunk if chunk.vector is not None else replace(chunk, vector=vectors[chunk.searchable_text])
        for chunk in corpus.chunks
    )
    return replace(corpus, chunks=chunks)


async def embed_queries(
    texts: Sequence[str],
    embedder: Embedder,
    cache: VectorCache | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[array[float]]:
    """One vector per question, in order; equal questions are embedded once."""
    vectors = await _embed_all("query", texts, embedder, cache, on_progress)
    return [vectors[text] for text in texts]


async def _embed_all(
    role: Role,
    texts: Sequence[str],
    embedder: Embedder,
    cache: VectorCache | None,
    on_progress: Callable[[int], None] | None,
    done: int = 0,
) -> Mapping[str, array[float]]:
    vectors: dict[str, array[float]] = {}
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        unknown = list(dict.fromkeys(text for text in block if text not in vectors))
        vectors.update(await _embed_block(role, unknown, embedder, cache))
        if on_progress:
            on_progress(done + start + len(block))
    return vectors


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
            f"embedding: {len(missing)} texts gave {len(vectors)} vectors, of lengths "
            f"{sorted({len(v) for v in vectors})}; expected {embedder.dimension} numbers each"
        )
    made = dict(zip(missing, vectors, strict=True))
    if cache:
        await anyio.to_thread.run_sync(partial(cache.put, identity, role, made))
    return {**known, **made}
