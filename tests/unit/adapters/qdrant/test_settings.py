"""What a suite may set: each setting reaches the server and changes what it should."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from qdrant_support import (
    LAYOUTS,
    PLACES,
    A,
    B,
    adapter,
    ask,
    chunk,
    http_of,
    load,
    settings_for,
    twins,
    uids,
    unit_vectors,
)
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import Rejected, Unsupported
from retrieverbench.model import MODES, Layout, Mode
from retrieverbench_adapters.qdrant import Qdrant

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


LEGS: tuple[Mode, ...] = ("dense", "lexical")


@pytest.fixture(scope="module")
async def single() -> AsyncIterator[Started]:
    """A server that is no cluster, behind a path."""
    async with qdrant.start({"shard_keys": False, "prefix": "/a/qdrant"}) as started:
        yield started


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_layout_is_described_and_removed(front: Started, layout: Layout) -> None:
    settings = settings_for(front, layout=layout)
    target = await Qdrant.open(settings)
    await load(target, twins(4))
    described = await target.describe()
    assert described.chunks == {"acme": 4, "globex": 4}
    shown = {key: described.settings[key] for key in ("collections", "sharding")}
    assert shown == {
        "collections": 2 if layout == "index" else 1,
        "sharding": "custom" if layout == "partition" else "auto",
    }
    assert "shared_idf" not in described.properties
    assert described.weaknesses == ()
    assert await target.describe() == described
    guest = await Qdrant.open(settings)
    assert (await guest.describe()).chunks == described.chunks
    await guest.close()
    await target.close()
    async with http_of(front) as http:
        names = [
            one["name"] for one in (await http.get("/collections")).json()["result"]["collections"]
        ]
    assert not [name for name in names if name.startswith(settings.place)]


async def test_statistics_are_a_tenants_own_where_it_has_its_own_place(front: Started) -> None:
    """Whatever `idf` says; where tenants share a collection it decides."""
    own = [chunk(str(n), A, f"red item{n}", unit_vectors(1)[0]) for n in range(5)]
    foreign = [chunk(str(n), B, "red", unit_vectors(1)[0]) for n in range(50)]
    scores = []
    for layout in ("partition", "index", "filter"):
        options = {"search": {"idf": "tenant" if layout == "filter" else "collection"}}
        async with adapter(front, layout=layout, options=options) as target:
            await load(target, [*own, *foreign])
            found = await target.search(ask(A, "lexical", [], "item3 red"))
            scores.append([hit.score for hit in found.hits])
            assert "shared_idf" not in (await target.describe()).properties
    assert scores[0] == pytest.approx(scores[2], abs=1e-5)
    assert scores[1] == pytest.approx(scores[2], abs=1e-5)


@pytest.mark.parametrize("layout", ["partition", "index"])
async def test_a_place_that_is_gone_is_no_empty_answer(front: Started, layout: Layout) -> None:
    async with adapter(front, layout=layout) as target:
        await load(target, twins(2))
        place = target._settings.place
        async with http_of(front) as http:
            if layout == "index":
                await http.delete(f"/collections/{place}.acme")
            else:
                await http.post(f"/collections/{place}/shards/delete", json={"shard_key": "acme"})
        with pytest.raises(Rejected, match=r"doesn't exist!|not found"):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert len((await target.search(ask(B, "dense", unit_vectors(1)[0]))).hits) == 2


async def test_custom_shards_need_a_cluster(single: Started) -> None:
    with pytest.raises(Unsupported, match="its cluster is disabled; enable distributed mode"):
        await Qdrant.open(settings_for(single, layout="partition"))


async def test_a_server_behind_a_path(single: Started) -> None:
    async with adapter(single) as target:
        await load(target, twins(3))
        for mode in MODES:
            assert len((await target.search(ask(A, mode, unit_vectors(1)[0], "refund"))).hits) == 3


async def test_a_server_without_a_key_is_a_weakness(front: Started) -> None:
    """Told of what was given: this server would have refused to answer."""
    async with adapter(front) as target:
        target._settings = replace(target._settings, secrets={})
        (weakness,) = (await target.describe()).weaknesses
    assert weakness.startswith("the server answers without a key: whoever reaches it reads every")


@pytest.mark.parametrize("quantization", ["scalar", "binary"])
async def test_quantized_vectors(front: Started, quantization: str) -> None:
    """Rough scores unless they are computed again from the vectors, or quantization ignored."""
    vectors = unit_vectors(300, 64)
    place = {"quantization": quantization, "indexing_threshold": 1, "m": 0, "payload_m": 8}
    chunks = [chunk(str(n), A, "", vectors[n]) for n in range(300)]
    name = f"rb_quantized_{next(PLACES)}"
    common: dict[str, Any] = {"place": name, "modes": frozenset({"dense"}), "dimension": 64}
    best: list[float] = []
    async with adapter(front, options={"place": place}, **common) as target:
        await load(target, chunks)
        described = await target.describe()
        assert described.settings["quantization"] == quantization
        assert described.settings["payload_m"] == 8
        ways: list[dict[str, object]] = [
            {"rescore": False},
            {"rescore": True, "oversampling": 4.0},
            {"rescore": False, "ignore_quantization": True},
        ]
        for search in ways:
            options = {"place": place, "search": search}
            guest = await Qdrant.open(settings_for(front, options=options, **common))
            best.append((await guest.search(ask(A, "dense", vectors[7], k=1))).hits[0].score)
            await guest.close()
    assert best[0] != pytest.approx(1.0, abs=1e-6)
    assert best[1] == best[2] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("constant", "weights"), [(0, (1.0, 1.0)), (60, (3.0, 1.0)), (5, (1.0, 4.0))]
)
async def test_weights_divide_the_ranks(
    front: Started, constant: int, weights: tuple[float, float]
) -> None:
    """1 / (constant + rank / weight), ranks from 1, where no list has ties."""
    texts = [" ".join(["needle"] * (n + 1) + [f"straw{n}"] * (30 - n)) for n in range(20)]
    vectors = unit_vectors(20)
    chunks = [chunk(str(n), A, text, vectors[n]) for n, text in enumerate(texts)]
    search = {"exact": True, "rank_constant": constant, "weights": list(weights)}
    async with adapter(front, options={"search": search}) as target:
        await load(target, chunks)
        asked = unit_vectors(1, seed=3)[0]
        expected: dict[str, float] = defaultdict(float)
        for mode, weight in zip(LEGS, weights, strict=True):
            leg = await target.search(ask(A, mode, asked, "needle", k=100))
            assert len({hit.score for hit in leg.hits}) == 20, "the legs must be free of ties"
            for rank, hit in enumerate(leg.hits, start=1):
                expected[hit.uid] += 1 / (constant + rank / weight)
        fused = await target.search(ask(A, "hybrid", asked, "needle", k=100))
    assert {hit.uid: hit.score for hit in fused.hits} == pytest.approx(expected, abs=1e-6)


async def test_dbsf_adds_normalised_scores(front: Started) -> None:
    """(s - (mean - 3 sd)) / 6 sd in each leg, sd of a sample."""
    texts = [" ".join(["needle"] * (n + 1) + [f"straw{n}"] * (30 - n)) for n in range(20)]
    vectors = unit_vectors(20)
    chunks = [chunk(str(n), A, text, vectors[n]) for n, text in enumerate(texts)]
    async with adapter(front, options={"search": {"exact": True, "fusion": "dbsf"}}) as target:
        await load(target, chunks)
        asked = unit_vectors(1, seed=3)[0]
        expected: dict[str, float] = defaultdict(float)
        for mode in LEGS:
            hits = (await target.search(ask(A, mode, asked, "needle", k=100))).hits
            scores = [hit.score for hit in hits]
            mean = sum(scores) / len(scores)
            deviation = (sum((s - mean) ** 2 for s in scores) / (len(scores) - 1)) ** 0.5
            for hit in hits:
                expected[hit.uid] += (hit.score - (mean - 3 * deviation)) / (6 * deviation)
        fused = await target.search(ask(A, "hybrid", asked, "needle", k=100))
    assert {hit.uid: hit.score for hit in fused.hits} == pytest.approx(expected, abs=1e-4)
    assert uids(fused) == sorted(expected, key=lambda uid: -expected[uid])
