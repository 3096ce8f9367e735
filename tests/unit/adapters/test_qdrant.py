"""The qdrant adapter against Qdrant's engine, through the official client."""

from __future__ import annotations

import asyncio
import json
import math
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import anyio
import httpx
import numpy as np
import pytest

from retrieverbench.adapter import Secret, Settings, Writable
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    MissingClient,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Chunk, Mode, Query, Response, TenantId, Value
from retrieverbench_adapters.qdrant import Qdrant
from retrieverbench_adapters.qdrant.terms import Lexicon

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]

A, B = TenantId("acme"), TenantId("globex")
DIMENSION = 16
PLACES = count()
EXACT: Mapping[str, Mapping[str, object]] = {"search": {"exact": True}}
HOSTILE = [
    "acme' OR '1'='1", "'; DROP TABLE docs; --", "%", "_cme", "acme\\", "O'Neil", "acme,globex",
    "acme globex", "''", "{x}", "%27", '") or true or ("', "acme OR globex", "*", "acm?", "/.*/",
    "[* TO *]", "@tenant_id:{globex}", '{"match_all":{}}', '{"$ne": ""}', "{{tenant}}",
    "${tenant}", "../globex", "acme/globex", "acme:globex", "acme|globex", "ACME", "acme.",
    "\N{CYRILLIC SMALL LETTER A}cme", "\N{FULLWIDTH LATIN SMALL LETTER A}cme", "ß", "ss", "İ",
    "\N{PILE OF POO}", "x" * 128, "null", "true", "1", "0", "undefined", "acme%2Fglobex",
]  # fmt: skip


@pytest.fixture(scope="module")
async def front() -> AsyncIterator[Started]:
    async with qdrant.start({"faults": True}) as started:
        yield started


@asynccontextmanager
async def adapter(
    front: Started,
    *,
    modes: Sequence[Mode] = MODES,
    options: Mapping[str, Mapping[str, object]] | None = None,
    **more: Any,
) -> AsyncIterator[Qdrant]:
    settings = settings_for(front, modes=frozenset(modes), options=options or {}, **more)
    opened = await Qdrant.open(settings)
    try:
        yield opened
    finally:
        await opened.close()


def settings_for(front: Started, **more: Any) -> Settings:
    given: dict[str, Any] = {
        "endpoint": front.endpoint,
        "place": f"rb_test_{next(PLACES)}",
        "modes": frozenset(MODES),
        "dimension": DIMENSION,
        "concurrency": 4,
        "secrets": front.secrets,
        **more,
    }
    return Settings(**given)


def unit_vectors(n: int, dimension: int = DIMENSION, seed: int = 0) -> Any:
    made = np.random.default_rng(seed).normal(size=(n, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def chunk(name: str, tenant: TenantId, text: str, vector: Any) -> Chunk:
    return Chunk(name, tenant, text, vector=array("f", np.asarray(vector, np.float32)))


def ask(tenant: TenantId, mode: Mode, vector: Any, text: str = "", k: int = 10) -> Query:
    return Query(text, tenant, k, mode, array("f", np.asarray(vector, np.float32)))


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]


async def load(target: Writable, chunks: Sequence[Chunk]) -> None:
    await target.put(chunks)
    await target.settle()


async def arm(front: Started, **fault: Any) -> None:
    """Make the next request that fits fail; {} disarms."""
    headers = {"api-key": front.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
        method = "PUT" if fault else "DELETE"
        (await http.request(method, "/faults", content=json.dumps(fault))).raise_for_status()


def twins(n: int = 30) -> list[Chunk]:
    """The same ids, texts and vectors in two tenants: a missing filter must show."""
    vectors = unit_vectors(n)
    return [
        chunk(str(i), tenant, f"refund policy for order {i}", vectors[i])
        for i in range(n)
        for tenant in (A, B)
    ]


async def test_exact_dense_equals_brute_force(front: Started) -> None:
    vectors = unit_vectors(400)
    chunks = [chunk(str(i), (A, B)[i % 2], "text", vectors[i]) for i in range(400)]
    async with adapter(front, options=EXACT) as target:
        await load(target, chunks)
        for asked in unit_vectors(10, seed=1):
            found = await target.search(ask(A, "dense", asked, k=20))
            scores = vectors[::2] @ asked
            best = np.argsort(-scores)[:20]
            assert uids(found) == [f"acme/{2 * i}" for i in best]
            assert [hit.score for hit in found.hits] == pytest.approx(scores[best], abs=1e-6)
        assert "approximate" not in (await target.describe()).properties


async def test_the_graph_is_built_and_used(front: Started) -> None:
    vectors = unit_vectors(1500, 64)
    chunks = [chunk(str(i), A, "", vectors[i]) for i in range(1500)]
    place = {"indexing_threshold": 50, "full_scan_threshold": 10, "m": 6, "ef_construct": 16}
    options = {"place": place, "search": {"hnsw_ef": 10}}
    async with adapter(front, modes=["dense"], dimension=64, options=options) as target:
        await load(target, chunks)
        described = await target.describe()
        assert described.settings["indexed_share"] == 1.0
        assert described.settings["m"] == 6
        assert described.properties == {"approximate"}
        recalls = []
        for asked in unit_vectors(30, 64, seed=1):
            best = {f"acme/{i}" for i in np.argsort(-(vectors @ asked))[:10]}
            recalls.append(len(best & set(uids(await target.search(ask(A, "dense", asked))))) / 10)
        assert 0.2 < np.mean(recalls) < 1.0, "a poor graph must be seen to be one"


async def test_lexical_scores_are_bm25_of_the_tenant_alone(front: Started) -> None:
    texts = ["red fox", "red red dog in the house", "blue fish", "red", "green cat sat on mats"]
    foreign = [chunk(str(i), B, "red red red banana " * 9, unit_vectors(1)[0]) for i in range(40)]
    own = [chunk(str(i), A, text, unit_vectors(1)[0]) for i, text in enumerate(texts)]
    async with adapter(front) as target:
        await load(target, [*own, *foreign])
        found = await target.search(ask(A, "lexical", [], "the red houses"))
    terms = [list(Lexicon().terms(text)) for text in texts]
    average = sum(map(len, terms)) / len(terms)
    expected = {}
    for number, document in enumerate(terms):
        score = 0.0
        for term in ("red", "hous"):
            n = sum(term in other for other in terms)
            tf = document.count(term)
            idf = math.log(1 + (len(terms) - n + 0.5) / (n + 0.5))
            score += idf * tf / (tf + 1.2 * (0.25 + 0.75 * len(document) / average))
        if score > 0:
            expected[f"acme/{number}"] = score
    ranked = sorted(expected, key=lambda uid: -expected[uid])
    assert uids(found) == ranked, "matches only, best first"
    assert [hit.score for hit in found.hits] == pytest.approx(
        [expected[uid] for uid in ranked], abs=1e-5
    )


async def test_shared_idf_is_declared_and_differs(front: Started) -> None:
    own = [chunk(str(i), A, f"red item{i}", unit_vectors(1)[0]) for i in range(5)]
    foreign = [chunk(str(i), B, "red", unit_vectors(1)[0]) for i in range(50)]
    scores = []
    for idf in ("tenant", "collection"):
        async with adapter(front, options={"search": {"idf": idf}}) as target:
            await load(target, [*own, *foreign])
            found = await target.search(ask(A, "lexical", [], "item3 red"))
            scores.append([hit.score for hit in found.hits])
            described = await target.describe()
            assert ("shared_idf" in described.properties) == (idf == "collection")
            assert described.settings["idf"] == idf
    assert scores[0] != pytest.approx(scores[1], abs=1e-3)


async def test_hybrid_is_rrf_with_ranks_from_one(front: Started) -> None:
    texts = [f"{'needle ' * (i % 7)}straw{i}" for i in range(60)]
    vectors = unit_vectors(60)
    chunks = [chunk(str(i), A, text, vectors[i]) for i, text in enumerate(texts)]
    async with adapter(front, options={"search": {"exact": True, "rank_constant": 20}}) as target:
        await load(target, chunks)
        asked = unit_vectors(1, seed=3)[0]
        legs: list[Response] = [
            await target.search(ask(A, mode, asked, "needle straw12 straw40", k=100))
            for mode in ("dense", "lexical")
        ]
        fused = await target.search(ask(A, "hybrid", asked, "needle straw12 straw40", k=100))
    expected: dict[str, float] = {}
    for leg in legs:
        for rank, hit in enumerate(leg.hits, start=1):
            expected[hit.uid] = expected.get(hit.uid, 0.0) + 1 / (20 + rank)
    assert set(uids(fused)) == set(expected)
    dense_only = [hit for hit in fused.hits if hit.uid not in set(uids(legs[1]))]
    assert dense_only, "the test must see rows of one leg alone"
    for hit in dense_only:  # no ties inside the dense leg
        assert hit.score == pytest.approx(expected[hit.uid], abs=1e-6)
    best = max(expected.values())
    assert fused.hits[0].score == pytest.approx(best, abs=5e-3)


@pytest.mark.parametrize("mode", MODES)
async def test_identical_texts_of_two_tenants_stay_apart(front: Started, mode: Mode) -> None:
    async with adapter(front) as target:
        await load(target, twins())
        vectors = unit_vectors(30)
        for tenant in (A, B):
            found = await target.search(ask(tenant, mode, vectors[3], "refund order 3", k=100))
            assert len(found.hits) == 30
            assert {uid.partition("/")[0] for uid in uids(found)} == {tenant.value}
            assert {hit.tenant for hit in found.hits} == {tenant.value}
            assert uids(found)[0] == f"{tenant}/3"
        nobody = await target.search(ask(TenantId("unknown"), mode, vectors[3], "refund"))
        assert nobody.hits == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_dropped_filter_would_be_seen(front: Started, mode: Mode) -> None:
    """The negative control: the same search with its filters taken away on the way."""
    async with adapter(front) as target:
        await load(target, twins())
        await arm(front, kind="unfiltered", path="points/query")
        found = await target.search(ask(A, mode, unit_vectors(1)[0], "refund", k=100))
        assert {uid.partition("/")[0] for uid in uids(found)} == {"acme", "globex"}


@pytest.mark.parametrize("leg", ["root", "prefetch"])
async def test_root_and_prefetch_each_carry_the_filter(front: Started, leg: str) -> None:
    """Either alone keeps tenants apart: the server joins them by AND."""
    async with adapter(front) as target:
        await load(target, twins())
        await arm(front, kind="unfiltered", path="points/query", leg=leg)
        found = await target.search(ask(A, "hybrid", unit_vectors(1)[0], "refund", k=100))
        assert {uid.partition("/")[0] for uid in uids(found)} == {"acme"}


async def test_hostile_tenants_see_their_own_only(front: Started) -> None:
    tenants = [TenantId(name) for name in [*HOSTILE, "acme", "globex"]]
    vector = unit_vectors(1)[0]
    async with adapter(front) as target:
        await load(target, [chunk("1", tenant, "the same text", vector) for tenant in tenants])
        for tenant in tenants:
            for mode in MODES:
                found = await target.search(ask(tenant, mode, vector, "same text", k=50))
                assert uids(found) == [chunk("1", tenant, "", vector).uid], (tenant, mode)
        described = await target.describe()
    assert described.chunks == {tenant.value: 1 for tenant in tenants}


async def test_hostile_questions_are_words(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins(5))
        for text in [
            *HOSTILE,
            "",
            "\0\n\t",
            "refund\0",
            "x" * 40_000,
            "\N{RIGHT-TO-LEFT OVERRIDE}",
        ]:
            for mode in ("lexical", "hybrid"):
                found = await target.search(ask(A, mode, unit_vectors(1)[0], text))
                assert {uid.partition("/")[0] for uid in uids(found)} <= {"acme"}


async def test_where_narrows_and_never_replaces(front: Started) -> None:
    vector = unit_vectors(1)[0]
    rows: list[dict[str, Value]] = [
        {"lang": "en", "n": 1, "flag": True},
        {"lang": "de", "n": 1.5, "flag": False},
        {"lang": "en", "n": 2.0, "tenant": "globex", 'odd "key".[]': "x"},
    ]
    chunks = [
        replace(chunk(str(i), tenant, "text", vector), metadata=row)
        for i, row in enumerate(rows)
        for tenant in (A, B)
    ]
    cases: list[tuple[dict[str, Value], list[str]]] = [
        ({"lang": "en"}, ["acme/0", "acme/2"]),
        ({"lang": "en", "n": 1}, ["acme/0"]),
        ({"n": 1.0}, ["acme/0"]),
        ({"n": 2}, ["acme/2"]),
        ({"n": 1.5}, ["acme/1"]),
        ({"n": "1"}, []),
        ({"flag": True}, ["acme/0"]),
        ({"flag": 1}, []),
        ({"tenant": "globex"}, ["acme/2"]),
        ({'odd "key".[]': "x"}, ["acme/2"]),
        ({"absent": "x"}, []),
    ]
    async with adapter(front) as target:
        await load(target, chunks)
        for mode in MODES:
            for where, expected in cases:
                asked = replace(ask(A, mode, vector, "text"), where=where)
                assert sorted(uids(await target.search(asked))) == expected, (mode, where)


async def test_ties_come_by_uid(front: Started) -> None:
    async with adapter(front) as target:
        vector = unit_vectors(1)[0]
        await load(target, [chunk(f"{i:02}", A, "same", vector) for i in (7, 3, 9, 1, 5)])
        found = await target.search(ask(A, "dense", vector))
        assert uids(found) == [f"acme/{i:02}" for i in (1, 3, 5, 7, 9)]


async def test_a_second_put_replaces_and_later_chunks_are_found(front: Started) -> None:
    vectors = unit_vectors(3)
    async with adapter(front) as target:
        await target.put([chunk("1", A, "old words", vectors[0])])
        await load(target, [chunk("1", A, "new words", vectors[1]), chunk("2", A, "x", vectors[2])])
        await load(
            target, [chunk("3", A, "new canary", vectors[0]), chunk("1", B, "late", vectors[0])]
        )
        assert (await target.describe()).chunks == {"acme": 3, "globex": 1}
        assert uids(await target.search(ask(A, "lexical", [], "old"))) == []
        assert sorted(uids(await target.search(ask(A, "lexical", [], "new")))) == [
            "acme/1",
            "acme/3",
        ]
        assert uids(await target.search(ask(B, "lexical", [], "late"))) == ["globex/1"]
        found = await target.search(ask(A, "dense", vectors[1], k=1))
        assert uids(found) == ["acme/1"]


async def test_put_is_cut_into_bodies(front: Started) -> None:
    async with adapter(front, options={"connect": {"batch_bytes": 2048}}) as target:
        await load(target, twins())
        assert (await target.describe()).chunks == {"acme": 30, "globex": 30}
        assert len((await target.search(ask(A, "lexical", [], "refund", k=99))).hits) == 30


async def test_text_is_returned_when_wanted(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins(1))
        asked = ask(A, "lexical", [], "refund")
        assert (await target.search(asked)).hits[0].text is None
        found = await target.search(replace(asked, want=frozenset({"text"})))
        assert found.hits[0].text == "refund policy for order 0"
        assert found.server_ms is not None
        assert found.server_ms > 0


@pytest.mark.parametrize("mode", MODES)
async def test_one_mode_needs_only_its_own_vectors(front: Started, mode: Mode) -> None:
    async with adapter(front, modes=[mode], dimension=0 if mode == "lexical" else 16) as target:
        plain = twins(5)
        if mode == "lexical":
            plain = [replace(one, vector=None) for one in plain]
        await load(target, plain)
        assert len((await target.search(ask(A, mode, unit_vectors(5)[2], "refund"))).hits) == 5


async def test_thirty_two_at_once(front: Started) -> None:
    async with adapter(front, concurrency=32, options=EXACT) as target:
        await load(target, twins())
        vectors = unit_vectors(30)

        async def one(number: int) -> None:
            tenant = (A, B)[number % 2]
            for round_ in range(5):
                wanted = (number + round_) % 30
                found = await target.search(ask(tenant, "dense", vectors[wanted], k=3))
                assert uids(found)[0] == f"{tenant}/{wanted}"

        async with anyio.create_task_group() as group:
            for number in range(32):
                group.start_soon(one, number)


async def test_a_cancelled_search_leaves_nothing_behind(front: Started) -> None:
    async with adapter(front, concurrency=1) as target:
        await load(target, twins())
        vectors = unit_vectors(30)
        await arm(front, kind="delay", path="points/query", seconds=0.5)
        with anyio.move_on_after(0.1) as scope:
            await target.search(ask(B, "dense", vectors[9]))
        assert scope.cancelled_caught
        for wanted in range(20):
            found = await target.search(ask(A, "dense", vectors[wanted], k=1))
            assert uids(found) == [f"acme/{wanted}"]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_what_is_there_is_described(front: Started) -> None:
    async with adapter(front) as target:
        await load(target, twins())
        first, second = await target.describe(), await target.describe()
        assert first == second
        json.dumps(dict(first.settings))
        assert (first.server, first.client, first.fidelity) == ("qdrant", "qdrant-client", "engine")
        assert first.server_version == front.version
        expected = {
            "m": 16, "ef_construct": 100, "full_scan_threshold": 10_000,
            "indexing_threshold": 10_000, "distance": "Cosine", "dimension": 16,
            "sparse_modifier": "idf", "tenant_index": "keyword", "tenant_index_is_tenant": True,
            "idf": "tenant", "term_hash_collisions": 0,
        }  # fmt: skip
        assert {key: first.settings[key] for key in expected} == expected
        assert first.chunks == {"acme": 30, "globex": 30}


async def test_an_existing_collection_of_another_schema_is_rejected(front: Started) -> None:
    async with adapter(front, place="rb_taken") as target:
        await load(target, twins(2))
        with pytest.raises(Rejected, match=r"'rb_taken' already exists with another schema: vec"):
            await Qdrant.open(settings_for(front, place="rb_taken", dimension=8))
        with pytest.raises(Rejected, match=r"another schema: m 16"):
            await Qdrant.open(settings_for(front, place="rb_taken", options={"place": {"m": 32}}))
        guest = await Qdrant.open(settings_for(front, place="rb_taken"))
        await guest.close()
        assert (await target.describe()).chunks == {"acme": 2, "globex": 2}, "it is not the guest's"


async def test_a_tenant_field_without_its_index_is_rejected(front: Started) -> None:
    headers = {"api-key": front.secrets["api_key"].reveal()}
    async with adapter(front, place="rb_bare") as target:
        schema = {"field_name": "tenant", "field_schema": "keyword"}
        async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
            (await http.put("/collections/rb_bare/index", json=schema)).raise_for_status()
        with pytest.raises(Rejected, match="no keyword index with is_tenant"):
            await load(target, twins(1))


async def test_close_removes_its_own_collection_once(front: Started) -> None:
    settings = settings_for(front)
    target = await Qdrant.open(settings)
    await target.close()
    await target.close()
    reopened = await Qdrant.open(settings)
    assert (await reopened.describe()).chunks == {}
    await reopened.close()


async def test_a_cancelled_close_still_removes_the_collection(
    front: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(front)
    target = await Qdrant.open(settings)
    client = target._client
    remove = client.delete_collection

    async def remove_after_a_pause(place: str) -> bool:
        await anyio.sleep(0.01)
        return await remove(place)

    monkeypatch.setattr(client, "delete_collection", remove_after_a_pause)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await target.close()
    headers = {"api-key": front.secrets["api_key"].reveal()}
    async with httpx.AsyncClient(base_url=front.endpoint, headers=headers) as http:
        assert (await http.get(f"/collections/{settings.place}")).status_code == 404


async def test_bad_settings_are_refused_before_any_request() -> None:
    base = Settings(
        endpoint="http://127.0.0.1:1", place="rb_x", modes=frozenset(MODES), dimension=4
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"endpoint": ""}, "endpoint: empty"),
        ({"place": "mine"}, "'mine' does not begin with 'rb_'"),
        ({"layout": "index"}, "layout: 'index' is not supported"),
        ({"dimension": 0}, "dimension: 0"),
        ({"concurrency": 0}, "concurrency: 0"),
        ({"options": {"search": {"hnsw_eff": 3}}}, r"search.hnsw_eff: unknown key; did you mean"),
        ({"options": {"place": {"b": 2.0}}}, r"place.b: 2.0 is wrong"),
    ]
    for change, text in cases:
        with pytest.raises(InputError, match=text):
            await Qdrant.open(replace(base, **change))


async def test_an_old_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieverbench_adapters.qdrant.version", lambda name: "1.19.2")
    with pytest.raises(MissingClient, match=r"1\.19\.2 is too old; run: pip install"):
        await Qdrant.open(Settings(endpoint="x", place="rb_x", modes=frozenset()))


async def test_a_dead_server(front: Started) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1: .*is it running\?") as caught:
        await Qdrant.open(replace(settings_for(front), endpoint="http://127.0.0.1:1"))
    assert caught.value.code == Code.CONNECT


async def test_a_wrong_key(front: Started) -> None:
    secrets = {"api_key": Secret("not-the-key")}
    with pytest.raises(Refused, match="Invalid API key or JWT") as caught:
        await Qdrant.open(settings_for(front, secrets=secrets))
    assert "not-the-key" not in str(caught.value)
    with pytest.raises(Refused, match="Must provide an API key"):
        await Qdrant.open(settings_for(front, secrets={}))


async def test_wrong_vectors_are_rejected_with_the_servers_words(front: Started) -> None:
    async with adapter(front) as target:
        with pytest.raises(Rejected, match="expected dim: 16, got 3"):
            await target.put([chunk("1", A, "", [1, 2, 3])])
        with pytest.raises(Rejected, match="untagged enum VectorStruct"):
            await target.put([chunk("1", A, "", [math.nan] * 16)])
        with pytest.raises(InputError, match=r"acme/1': vector: missing"):
            await target.put([Chunk("1", A, "text")])
        with pytest.raises(Rejected, match="expected dim: 16, got 3"):
            await target.search(ask(A, "dense", [1, 2, 3]))


FAULTS: list[tuple[dict[str, Any], type[BackendError], Code, str]] = [
    ({"kind": "stall"}, TimedOut, Code.TIMEOUT, "no answer within 1 s"),
    ({"kind": "reset"}, Unavailable, Code.RESET, "qdrant at"),
    ({"kind": "short"}, Unavailable, Code.RESET, "qdrant at"),
    ({"kind": "status", "status": 500, "text": "boom"}, Unavailable, Code.HTTP_5XX, "boom"),
    ({"kind": "status", "status": 503, "text": "busy"}, Unavailable, Code.HTTP_5XX, "busy"),
    ({"kind": "status", "status": 403, "text": "Forbidden: x"}, Refused, Code.AUTH, "Forbidden: x"),
    ({"kind": "status", "status": 404, "text": "Not found"}, Rejected, Code.HTTP_4XX, "Not found"),
    ({"kind": "status", "status": 408, "text": "slow"}, TimedOut, Code.TIMEOUT, "slow"),
    ({"kind": "status", "status": 429, "text": "less"}, Throttled, Code.THROTTLED, "less"),
    ({"kind": "status", "status": 501, "text": "no"}, Unsupported, Code.HTTP_4XX, "no"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "kind", "code", "text"), FAULTS)
async def test_every_failure_has_its_error(
    front: Started, fault: dict[str, Any], kind: type[BackendError], code: Code, text: str
) -> None:
    async with adapter(front, timeout=1.0) as target:
        await load(target, twins(5))
        await arm(front, path="points/query", **fault)
        with pytest.raises(kind, match=text) as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert caught.value.__cause__ is not None
        assert front.secrets["api_key"].reveal() not in str(caught.value)
        found = await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert len(found.hits) == 5, "the next search is well"


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("tomorrow", None)])
async def test_throttling_tells_how_long(
    front: Started, header: str, seconds: float | None
) -> None:
    async with adapter(front) as target:
        await arm(front, kind="status", status=429, retry_after=header, path="points/query")
        with pytest.raises(Throttled) as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert caught.value.retry_after == seconds


async def test_an_answer_that_cannot_be_read(front: Started) -> None:
    async with adapter(front) as target:
        await arm(front, kind="status", status=200, text="not an answer", path="points/query")
        with pytest.raises(AdapterError, match="answer"):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))


async def test_settling_has_a_deadline(front: Started) -> None:
    options = {"place": {"settle_timeout": 0.3}}
    async with adapter(front, options=options) as target:
        await arm(front, kind="delay", seconds=2.0, path=target._settings.place)
        with pytest.raises(TimedOut, match=r"did not settle within 0\.3 s"):
            await target.settle()


async def test_a_full_pool_waits_and_does_not_fail(front: Started) -> None:
    """More searches than connections: the runner never does it, and nothing may break."""
    async with adapter(front, concurrency=2) as target:
        await load(target, twins(5))
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(target.search, ask(A, "hybrid", unit_vectors(1)[0], "refund"))


async def test_connections_are_kept_alive(front: Started) -> None:
    async with adapter(front, concurrency=1) as target:
        await load(target, twins(5))
        transport: Any = target._client.http.client._async_client._transport
        opened = []
        connect = transport.client.connector._create_connection

        async def counted(*arguments: Any) -> Any:
            opened.append(1)
            return await connect(*arguments)

        transport.client.connector._create_connection = counted
        for _ in range(10):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert len(opened) <= 1
        assert transport.client.connector.limit == 1
