"""A corpus and questions into vectors, once each."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from retrieverbench.embedding import HashingEmbedder, VectorCache, embed_corpus, embed_queries
from retrieverbench.errors import AdapterError, InputError
from retrieverbench.model import Chunk, Corpus, TenantId

pytestmark = pytest.mark.anyio


class Counting:
    """A hashing embedder that counts texts by role, or loses the last vector."""

    def __init__(self, dimension: int = 8, *, loses: int = 0) -> None:
        self._inner = HashingEmbedder(dimension)
        self._loses = loses
        self.documents: list[str] = []
        self.queries: list[str] = []

    @property
    def identity(self) -> Mapping[str, str]:
        return self._inner.identity

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        self.documents += texts
        return (await self._inner.embed_documents(texts))[: len(texts) - self._loses]

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        self.queries += texts
        return await self._inner.embed_queries(texts)


def corpus(*texts: str, title: str = "") -> Corpus:
    chunks = tuple(Chunk(f"{i}", TenantId("acme"), t, title) for i, t in enumerate(texts))
    return Corpus("c", chunks, "0")


async def test_every_chunk_gets_the_vector_of_title_and_text() -> None:
    embedded = await embed_corpus(corpus("a b", "c", title="t"), HashingEmbedder())
    expected = await HashingEmbedder().embed_documents(["t\na b", "t\nc"])
    assert [chunk.vector for chunk in embedded.chunks] == expected


async def test_equal_texts_are_embedded_once_and_progress_reaches_the_end(tmp_path: Path) -> None:
    embedder, seen = Counting(), list[int]()
    texts = [f"text {i % 100}" for i in range(300)]
    embedded = await embed_corpus(corpus(*texts), embedder, VectorCache(tmp_path), seen.append)
    assert len(embedder.documents) == 100
    assert seen == sorted(seen)
    assert seen[-1] == 300
    assert embedded.chunks[0].vector == embedded.chunks[100].vector


async def test_a_second_run_reads_the_cache(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    first = await embed_corpus(corpus("a", "b"), Counting(), cache)
    again = Counting()
    assert await embed_corpus(corpus("a", "b", "c"), again, cache) != first
    assert again.documents == ["c"]


async def test_questions_have_their_own_place_in_the_cache(tmp_path: Path) -> None:
    cache, embedder = VectorCache(tmp_path), Counting()
    await embed_corpus(corpus("same"), embedder, cache)
    vectors = await embed_queries(["same", "other", "same"], embedder, cache)
    assert embedder.queries == ["same", "other"]
    assert vectors[0] == vectors[2] != vectors[1]
    await embed_queries(["other"], embedder, cache)
    assert embedder.queries == ["same", "other"]


async def test_vectors_that_came_with_the_corpus_are_kept() -> None:
    given = [array("f", [float(n)] * 8) for n in (1, 2)]
    bare = corpus("a", "b")
    complete = [replace(c, vector=v) for c, v in zip(bare.chunks, given, strict=True)]
    embedder, seen = Counting(), list[int]()
    embedded = await embed_corpus(replace(bare, chunks=complete), embedder, None, seen.append)
    assert [chunk.vector for chunk in embedded.chunks] == given
    assert embedder.documents == []
    assert seen == [2]


async def test_vectors_of_another_dimension_are_named_before_anything_is_embedded() -> None:
    bare, embedder = corpus("a", "b"), Counting()
    complete = [replace(chunk, vector=array("f", [1.0] * 7)) for chunk in bare.chunks]
    with pytest.raises(InputError, match="its vectors have 7 numbers, the embedder gives 8"):
        await embed_corpus(replace(bare, chunks=complete), embedder)
    assert embedder.documents == []


async def test_an_embedder_that_loses_a_text_is_caught(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    with pytest.raises(AdapterError, match="2 texts gave 1 vector,"):
        await embed_corpus(corpus("a", "b"), Counting(loses=1), cache)
    assert cache.get(Counting().identity, "document", ["a", "b"]) == {}
