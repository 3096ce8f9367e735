"""A collection of the user's: searched as it is, and never written to."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qdrant_attach_support import (
    TENANT_INDEX,
    VECTORS,
    Recorded,
    attached,
    attached_settings,
    row,
    users_collection,
)
from qdrant_support import A, B, ask, http_of, settings_for, uids, unit_vectors
from retrieverbench.adapter import NOBODY
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import InputError, Refused, Rejected, Unsupported
from retrieverbench.model import MODES, TenantId
from retrieverbench_adapters.qdrant import Qdrant
from retrieverbench_adapters.qdrant.fields import POINT_ID, UNNAMED

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


@asynccontextmanager
async def bound(front: Started, name: str, **more: Any) -> AsyncIterator[Qdrant]:
    mapping = more.pop("mapping", None) or attached(name)
    target = await Qdrant.open(attached_settings(front, mapping, **more))
    try:
        yield target
    finally:
        await target.close()


async def test_it_is_searched_in_every_mode_by_its_own_names(front: Started) -> None:
    async with users_collection(front) as name, bound(front, name) as target:
        dense = await target.search(ask(A, "dense", VECTORS[0]))
        scores = VECTORS[::2] @ VECTORS[0]
        assert uids(dense) == [str(100 + 2 * n) for n in np.argsort(-scores)]
        lexical = await target.search(ask(A, "lexical", [], "Red dogs"))
        assert uids(lexical) == ["102", "100", "104"]
        hybrid = await target.search(ask(B, "hybrid", VECTORS[1], "blue"))
        assert sorted(uids(hybrid)) == ["101", "103", "105"]
        for mode in MODES:
            asked = replace(ask(A, mode, VECTORS[0], "red"), want=frozenset({"text", "tenant"}))
            first = (await target.search(replace(asked, where={"n": 2}))).hits
            assert [(hit.uid, hit.tenant, hit.text) for hit in first] == [
                ("102", "acme", "red red dog")
            ]
            nobody = await target.search(ask(TenantId("nobody"), mode, VECTORS[0], "red"))
            assert nobody.hits == []


async def test_it_is_only_read(front: Started) -> None:
    """With a key that may only read, past which the recorder sees nothing that writes."""
    recorder = Recorded()
    async with users_collection(front) as name, http_of(front) as http:
        before = (await http.get(f"/collections/{name}")).json()["result"]
        async with bound(front, name, recorder=recorder) as target:
            for mode in MODES:
                await target.search(
                    replace(ask(A, mode, VECTORS[0], "red"), want=frozenset({"total"}))
                )
                await target.explain(ask(A, mode, VECTORS[0], "red"))
            await target.get(A, ["100", "101"])
            await target.describe()
            writes: list[Awaitable[None]] = [
                target.put([]),
                target.settle(),
                target.delete(A, ["100"]),
                target.move("100", A, B),
            ]
            sent = len(recorder.requests)
            for write in writes:
                with pytest.raises(Unsupported, match="only read; nothing was sent"):
                    await write
            assert len(recorder.requests) == sent
        assert (await http.get(f"/collections/{name}")).json()["result"] == before
    reading = ("/query", "/count", "/scroll", "/facet")
    for operation, _, _ in recorder.requests:
        assert operation.startswith("GET ") or operation.endswith(reading), operation


async def test_the_key_that_only_reads_makes_no_place_of_ours(front: Started) -> None:
    """The control of the test above: with this key a write is refused."""
    with pytest.raises(Refused, match="Global manage access is required"):
        await Qdrant.open(
            settings_for(front, secrets={"api_key": front.secrets["read_only_api_key"]})
        )


@pytest.mark.parametrize("vector", ["", UNNAMED])
async def test_the_points_own_id_and_the_vector_without_a_name(front: Started, vector: str) -> None:
    rows = [
        {"id": n, "vector": VECTORS[n].tolist(), "payload": {"owner": ("acme", "globex")[n % 2]}}
        for n in range(6)
    ]
    vectors = {"size": 16, "distance": "Euclid"}
    async with users_collection(
        front, rows, indexes={"owner": TENANT_INDEX}, vectors=vectors, sparse_vectors={}
    ) as name:
        mapping = attached(name, id=POINT_ID, tenant="owner", vector=vector, text=(), metadata={})
        async with bound(
            front, name, mapping=mapping, modes=frozenset({"dense"}), options={}
        ) as target:
            asked = unit_vectors(1, seed=5)[0]
            found = await target.search(ask(A, "dense", asked))
            distances = np.linalg.norm(VECTORS[::2] - asked, axis=1)
            assert uids(found) == [str(2 * n) for n in np.argsort(distances)]
            described = await target.describe()
            assert any("ranks by Euclid" in weakness for weakness in described.weaknesses)
            assert [hit.score for hit in found.hits] == pytest.approx(-np.sort(distances), abs=1e-5)
            assert [hit.uid for hit in await target.get(A, ["4", "1", "x", "0"])] == ["4", "0"]


async def test_terms_of_this_adapter_in_a_collection_it_made(front: Started) -> None:
    from qdrant_support import adapter, load, twins

    async with adapter(front) as made:
        await load(made, twins(5))
        place = made._settings.place
        mapping = attached(
            place, id="uid", tenant="tenant", text=("text",), vector="dense", metadata={}
        )
        search = {"sparse": "lexical", "sparse_model": "own"}
        async with bound(front, place, mapping=mapping, options={"search": search}) as target:
            asked = ask(A, "lexical", [], "refund of order 3")
            own, theirs = await made.search(asked), await target.search(asked)
            assert uids(own) == uids(theirs)
            assert [h.score for h in own.hits] == pytest.approx([h.score for h in theirs.hits])
            assert (await target.describe()).chunks == {"acme": 5, "globex": 5}


async def test_what_does_not_fit_is_told_line_by_line(front: Started) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"vector": "w"}, {}, "vector: .*no vector 'w'; did you mean 'v'?|known: v"),
        (
            {"vector": ""},
            {},
            "vector: .*none is named, and the collection has none without a name; ",
        ),
        ({}, {"dimension": 8}, "vector: .*'v' has 16 dimensions, and questions have 8"),
        ({}, {"options": {}}, "search.sparse: .*empty; .* there are words"),
        ({}, {"options": {"search": {"sparse": "wrds"}}}, "no sparse vector 'wrds'; did you mean"),
        ({"tenant": "meta.own"}, {}, "tenant: .*no .* field 'meta.own'; did you mean 'meta'"),
        ({}, {"layout": "partition"}, "layout: .* the shards of collection .* are automatic; use"),
        ({"tenant": "meta"}, {}, "tenant: .*field 'meta' of point 0 holds an object, neither"),
        ({"id": "pkey"}, {}, "id: .*point 0 has no text or number in payload field 'pkey'; .*'pk'"),
        ({"tenant": "a[0]"}, {}, r"tenant: .*'a\[0\]' is no payload field"),
        ({"text": ("body", "")}, {}, r"text\[1\]: .*'' is no payload field"),
        ({"text": ("body", "bdy")}, {}, r"text\[1\]: .*no point has .*'bdy'; .*'body'"),
    ]
    async with users_collection(front) as name:
        for change, settings, text in cases:
            with pytest.raises(InputError, match=text) as caught:
                async with bound(front, name, mapping=attached(name, **change), **settings):
                    pass
            for fault in caught.value.faults if "layout" not in settings else ():
                assert re.match(rf"qdrant: (attach|search)\.\S+: collection '{name}': ", fault)
                assert "\n" not in fault
        wrong = name.replace("docs", "dosc")
        with pytest.raises(
            InputError, match=f"attach.name: .*no such collection; did you mean '{name}'"
        ):
            async with bound(front, wrong):
                pass
        with pytest.raises(InputError, match="no collection can be called so"):
            async with bound(front, f"{name}/points"):
                pass


async def test_all_faults_are_told_at_once(front: Started) -> None:
    async with users_collection(front) as name:
        with pytest.raises(InputError) as caught:
            async with bound(front, name, mapping=attached(name, vector="w"), options={}):
                pass
    assert len(caught.value.faults) == 2


async def test_what_it_is_worth_is_described(front: Started) -> None:
    async with users_collection(front) as name, bound(front, name) as target:
        described = await target.describe()
        assert described.chunks == {"acme": 3, "globex": 3}
        assert described.settings["tenant_index_is_tenant"] is True
        assert described.settings["dimension"] == 16
        (line,) = described.slow["dense"]
        assert line.startswith("field 'meta.n' of user conditions has no index: ")
    keyword = {"meta.owner": "keyword", "meta.n": "integer"}
    async with users_collection(front, indexes=keyword) as name, bound(front, name) as target:
        (line,) = (await target.describe()).slow["dense"]
        assert "its index is not told to be a tenant's" in line


async def test_owners_are_counted_without_an_index(front: Started) -> None:
    rows = [row(n) for n in range(6)]
    rows[2]["payload"]["meta"]["owner"] = ["acme", "globex"]
    del rows[3]["payload"]["meta"]["owner"]
    indexes = {"meta.n": "integer"}
    users = users_collection(front, rows, indexes=indexes)
    async with users as name, bound(front, name) as target:
        described = await target.describe()
        assert described.chunks == {"acme": 3, "globex": 3, NOBODY: 1}
        (orphans, several), (unindexed,) = described.weaknesses, described.slow["dense"]
        assert "holds several owners in 1 of 6 points" in several
        assert "tenant field 'meta.owner' has no index" in unindexed
        assert "1 of 6 points have no text in tenant field" in orphans
        found = await target.search(ask(A, "dense", VECTORS[0]))
        assert sorted(uids(found)) == ["100", "102", "104"], "a list matches each of its owners"


async def test_several_owners_of_a_point_are_told(front: Started) -> None:
    rows = [row(n) for n in range(6)]
    rows[2]["payload"]["meta"]["owner"] = ["acme", "globex"]
    rows[3]["payload"]["meta"]["owner"] = None  # as many more as less: sums would hide both
    indexes = {"meta.owner": TENANT_INDEX, "meta.n": "integer"}
    users = users_collection(front, rows, indexes=indexes)
    async with users as name, bound(front, name) as target:
        described = await target.describe()
        assert described.chunks == {"acme": 3, "globex": 3, NOBODY: 1}
        orphans, several = described.weaknesses
        assert "1 of 6 points have no text" in orphans
        assert "holds several owners in 1 of 6 points" in several


async def test_a_shard_of_the_users_for_each_tenant(front: Started) -> None:
    async with users_collection(front, [], sharding_method="custom") as name:
        async with http_of(front) as http:
            for key in ("acme", "globex"):
                where = f"/collections/{name}"
                (await http.put(f"{where}/shards", json={"shard_key": key})).raise_for_status()
                points = [row(n) for n in range(6) if row(n)["payload"]["meta"]["owner"] == key]
                body = {"shard_key": key, "points": points}
                answer = await http.put(f"{where}/points?wait=true", json=body)
                answer.raise_for_status()
        recorder = Recorded()
        async with bound(front, name, layout="partition", recorder=recorder) as target:
            assert sorted(uids(await target.search(ask(B, "dense", VECTORS[1])))) == [
                "101", "103", "105",
            ]  # fmt: skip
            assert recorder.requests[-1][2]["shard_key"] == "globex"
            assert (await target.search(ask(TenantId("nobody"), "dense", VECTORS[1]))).hits == []
            async with http_of(front) as http:
                gone = {"shard_key": "globex"}
                await http.post(f"/collections/{name}/shards/delete", json=gone)
            with pytest.raises(Rejected, match="Shard key globex not found"):
                await target.search(ask(B, "dense", VECTORS[1]))
