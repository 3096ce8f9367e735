"""A wrong embedder is found by its name, its dimension, or its numbers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest

from retrieverbench.embedding import (
    HashingEmbedder,
    compare_identities,
    embed_corpus,
    probe_embedder,
)
from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, Corpus, TenantId

pytestmark = pytest.mark.anyio


def test_equal_identities_pass_and_every_difference_is_named() -> None:
    one = {"model": "a", "pooling": "mean", "sha256": "1"}
    compare_identities(one, dict(reversed(one.items())))
    with pytest.raises(InputError) as caught:
        compare_identities(one, {"model": "b", "pooling": "mean", "truncation": "256"})
    assert [fault.split(":")[1].strip() for fault in caught.value.faults] == [
        "model",
        "sha256",
        "truncation",
    ]
    assert "'a'" in caught.value.faults[0]
    assert "'b'" in caught.value.faults[0]


class Renamed(HashingEmbedder):
    """Another model under the same name: it reads the words reversed."""

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        return await super().embed_documents([text[::-1] for text in texts])


async def embedded(count: int = 23) -> Corpus:
    chunks = tuple(
        Chunk(f"{i}", TenantId("acme"), f"words of chunk number {i}") for i in range(count)
    )
    return await embed_corpus(Corpus("c", chunks, "0"), HashingEmbedder())


async def test_the_same_model_is_near_one_whatever_the_length_of_vectors() -> None:
    corpus = await embedded()
    assert await probe_embedder(corpus, HashingEmbedder()) == pytest.approx(1, abs=1e-6)
    longer = tuple(
        replace(c, vector=array("f", (5 * x for x in c.vector or ()))) for c in corpus.chunks
    )
    cosine = await probe_embedder(replace(corpus, chunks=longer), HashingEmbedder())
    assert cosine == pytest.approx(1, abs=1e-6)


async def test_another_model_of_the_same_name_is_found() -> None:
    compare_identities(HashingEmbedder().identity, Renamed().identity)
    with pytest.raises(InputError, match="another model"):
        await probe_embedder(await embedded(), Renamed())


async def test_another_dimension_is_found_first() -> None:
    with pytest.raises(InputError, match="have 64 numbers, the embedder gives 32"):
        await probe_embedder(await embedded(), Renamed(32))


async def test_what_cannot_be_probed_is_an_error() -> None:
    with pytest.raises(InputError, match="no chunks"):
        await probe_embedder(await embedded(0), HashingEmbedder())
    corpus = await embedded(2)
    half = replace(corpus, chunks=(corpus.chunks[0], replace(corpus.chunks[1], vector=None)))
    with pytest.raises(InputError, match="vectors of 0 and 64 numbers in one corpus"):
        await probe_embedder(half, HashingEmbedder())
    bare = replace(corpus, chunks=[replace(chunk, vector=None) for chunk in corpus.chunks])
    with pytest.raises(InputError, match="'c': has no vectors"):
        await probe_embedder(bare, HashingEmbedder())
    broken = replace(corpus.chunks[0], vector=array("f", [0.0] * 64))
    with pytest.raises(InputError, match="cosine nan"):
        await probe_embedder(replace(corpus, chunks=(broken,)), HashingEmbedder())
