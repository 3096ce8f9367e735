"""Vectors of the corpus and of the questions, made before anything is measured."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from retrieverbench.adapter import Secret
from retrieverbench.embedding import (
    EmbeddingConfig,
    VectorCache,
    check_dimension,
    embed_corpus,
    embed_queries,
    open_embedder,
    probe_embedder,
)
from retrieverbench.errors import InputError, NotConfigured
from retrieverbench.golden import vectors_sha256
from retrieverbench.job.progress import Advance
from retrieverbench.model import Corpus
from retrieverbench.options import parse_options
from retrieverbench.run import Suite
from retrieverbench.run.text import refuse_short
from retrieverbench.stages import Embedder
from retrieverbench.storage import stored


@dataclass(frozen=True, slots=True)
class Embedded:
    """A corpus with vectors, the questions' vectors by case id, and where both are from."""

    corpus: Corpus
    queries: Mapping[str, array[float]]
    identity: Mapping[str, str]
    dimension: int


@dataclass(frozen=True, slots=True)
class Embedding:
    """An embedder that was tried, and the cache that keeps its vectors.

    One that is no model looks up what was shipped: it takes no time, and can make no vector anew.
    """

    embedder: Embedder
    cache: VectorCache
    is_model: bool


async def open_embedding(
    config: Mapping[str, object], environ: Mapping[str, str], *, suite: Path, line: int
) -> Embedding:
    """The suite's embedder, before any text is embedded.

    Raises InputError for a wrong [embedding] table, and what the embedder raises.
    """
    where = f"{suite}:{line}: embedding"
    table = {key: value for key, value in config.items() if key != "secrets"}
    if "vectors" in table:
        raise InputError(
            f"{where}.vectors: the chunks' vectors are named at the top of the suite, above the "
            "first [table]; write vectors = 'FILE' there, and queries = 'FILE' here"
        )
    settings = parse_options(EmbeddingConfig, table, where)
    try:
        secrets = _secrets(config, environ, where)
        embedder = await open_embedder(settings, secrets, suite.parent)
    except InputError as error:
        raise InputError(*(_placed(where, fault) for fault in error.faults)) from error
    cache = VectorCache(Path(settings.cache)) if settings.cache else VectorCache()
    return Embedding(embedder, cache, is_model=settings.kind != "shipped")


def chunk_vectors(suite: Suite) -> dict[str, str]:
    """What belongs to the identity of the model where the suite ships the chunks' vectors.

    The embedder of such a suite makes those of the questions alone: it does not know of others.
    """
    if not suite.vectors:
        return {}
    return {"chunk_vectors": f"sha256:{vectors_sha256(suite.resolve(suite.vectors))}"}


def check_lengths(embedding: Embedding, corpus: Corpus, suite: Suite) -> None:
    """InputError, with the files, where chunks and questions have vectors of two lengths."""
    vectors = stored(corpus.chunks).vectors
    if vectors is not None:
        chunks = str(suite.resolve(suite.vectors)) if suite.vectors else "the corpus"
        queries = str(suite.resolve(str(suite.embedding.get("queries", ""))))
        gives = "" if embedding.is_model else f"the file of the questions, {queries},"
        check_dimension(vectors.dimension, embedding.embedder, chunks, gives)


async def embed_set(
    embedding: Embedding,
    corpus: Corpus,
    questions: Mapping[str, str],
    on_progress: Advance,
    *,
    identity: Mapping[str, str],
    with_chunks: bool = True,
) -> Embedded:
    """Embed chunks and questions (case id → text), cached on disk; `identity` says by what.

    Without `with_chunks` the questions only: nothing is loaded where indexes are attached.
    Chunks that came with vectors keep them; then the embedder must be the one they were
    made with, which a few of them show: InputError otherwise.
    """
    embedder, cache = embedding.embedder, embedding.cache
    if embedding.is_model and stored(corpus.chunks).vectors is not None:
        await probe_embedder(corpus, embedder)
    embedded, before = corpus, 0
    if with_chunks:
        embedded = await embed_corpus(corpus, embedder, cache, on_progress)
        before = len(corpus.chunks)
    vectors = await embed_queries(
        list(questions.values()), embedder, cache, lambda done: on_progress(before + done)
    )
    return Embedded(
        embedded,
        dict(zip(questions, vectors, strict=True)),
        identity,
        embedder.dimension,
    )


def _placed(where: str, fault: str) -> str:
    """A fault with its place in the suite, which a file's own fault has already."""
    return fault if fault.startswith(where.partition(":")[0]) else f"{where}: {fault}"


def _secrets(
    config: Mapping[str, object], environ: Mapping[str, str], where: str
) -> dict[str, Secret]:
    """The embedder's secrets; the table names environment variables, never values."""
    named = config.get("secrets", {})
    if not isinstance(named, Mapping):
        raise InputError(f"{where}.secrets: {named!r:.80} is wrong; write {{ api_key = 'NAME' }}")
    secrets = {}
    for name, variable in named.items():
        value = environ.get(str(variable), "")
        if not value:
            raise NotConfigured(
                f"{where}.secrets: environment variable {variable} is not set; "
                f"export {variable}=<value>"
            )
        secrets[str(name)] = Secret(value)
    refuse_short(secrets, where)
    return secrets
