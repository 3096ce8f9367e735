"""The adapter against a real node, and against a stub where a node cannot answer so."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.adapter import Secret, Settings, Writable
from retrieverbench.engines import elasticsearch as engine
from retrieverbench.engines.base import Started
from retrieverbench.engines.processes import free_port
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    Refused,
    Rejected,
    TenantError,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Chunk, Mode, Query, TenantId, Value
from retrieverbench_adapters.elasticsearch import Elasticsearch, answers, requests
from retrieverbench_adapters.elasticsearch.options import Search

pytestmark = pytest.mark.anyio

DIMENSION = 16
ALL = frozenset(MODES)


@pytest.fixture(scope="session")
async def elasticsearch_node() -> AsyncIterator[Started]:
    """One node for all tests of this file."""
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)
    async with engine.start({"quick_start": True}) as node:
        yield node


@pytest.fixture
def node(elasticsearch_node: Started) -> str:
    """Where the node answers."""
    return elasticsearch_node.endpoint


@asynccontextmanager
async def opened(endpoint: str, **changes: Any) -> AsyncIterator[Elasticsearch]:
    """An adapter on a place of its own, closed afterwards."""
    adapter = await Elasticsearch.open(_settings(endpoint, **changes))
    try:
        yield adapter
    finally:
        await adapter.close()


def _settings(endpoint: str, **changes: Any) -> Settings:
    usual: dict[str, Any] = {
        "place": f"rb_{threading.get_native_id()}_{next(_numbers)}",
        "modes": ALL,
        "dimension": DIMENSION,
        "concurrency": 4,
    }
    return Settings(endpoint, **{**usual, **changes})


_numbers = iter(range(10**6))


def _vector(seed: int, dimension: int = DIMENSION) -> array[float]:
    numbers = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return array("f", numbers.tobytes())


def _chunk(owner: str, name: str, text: str, seed: int, **metadata: Value) -> Chunk:
    return Chunk(name, TenantId(owner), text, vector=_vector(seed), metadata=metadata)


def _query(tenant: str, mode: Mode, text: str = "leave policy", **changes: Any) -> Query:
    usual: dict[str, Any] = {"k": 10, "vector": _vector(1)}
    return Query(text, TenantId(tenant), mode=mode, **{**usual, **changes})


async def _uids(adapter: Elasticsearch, query: Query) -> list[str]:
    return [hit.uid for hit in (await adapter.search(query)).hits]


# --- quality -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ndcg", "recall"),
    [
        ("claude-docs", 0.6930, 0.9483),
        ("codebase-chunks", 0.5896, 0.9275),
        ("chunk-eval", 0.7890, 0.9936),
        ("covid-faq", 0.4586, 0.8229),
    ],
)
async def test_bm25_is_that_of_the_reference(
    node: str, shared: Path, name: str, ndcg: float, recall: float
) -> None:
    """If it fails, compare analyzer, k1, b and the field layout first."""
    folder = shared / "data" / name
    owner = TenantId("all")
    chunks = [
        Chunk(row["_id"], owner, row["text"], title=row["title"]) for row in _rows(folder, "corpus")
    ]
    judged = _judgements(folder)
    found: dict[str, dict[str, float]] = {}
    async with opened(node, modes=frozenset({"lexical"}), dimension=0, concurrency=8) as adapter:
        await adapter.put(chunks)
        await adapter.settle()

        async def ask(row: Mapping[str, Any]) -> None:
            async with at_once:
                answer = await adapter.search(Query(row["text"], owner, 100, "lexical"))
            found[row["_id"]] = {hit.uid.removeprefix("all/"): hit.score for hit in answer.hits}

        at_once = anyio.Semaphore(8)
        async with anyio.create_task_group() as tasks:
            for row in _rows(folder, "queries"):
                if row["_id"] in judged:
                    tasks.start_soon(ask, row)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.100"})
    values = evaluator.evaluate(found).values()
    assert len(values) == len(judged)
    assert np.mean([v["ndcg_cut_10"] for v in values]) == pytest.approx(ndcg, abs=0.002)
    assert np.mean([v["recall_100"] for v in values]) == pytest.approx(recall, abs=0.002)


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _judgements(folder: Path) -> dict[str, dict[str, int]]:
    """Those of queries with a relevant chunk."""
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, chunk, grade = line.split("\t")
        judged.setdefault(query, {})[chunk] = int(grade)
    return {query: grades for query, grades in judged.items() if max(grades.values()) > 0}


async def test_exact_dense_search_is_brute_force(node: str) -> None:
    """The flat index finds what numpy finds, in its order, with (1 + cosine) / 2."""
    chunks = [_chunk(f"t{n % 3}", str(n), "x", n) for n in range(300)]
    async with opened(node, options={"search": {"exact": True}}) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        for seed in range(1000, 1010):
            query = np.array(_vector(seed))
            own = [chunk for chunk in chunks if chunk.tenant.value == "t1"]
            cosines = {
                c.uid: float(query @ np.array(c.vector))
                / float(np.linalg.norm(query) * np.linalg.norm(np.array(c.vector)))
                for c in own
            }
            best = sorted(cosines, key=lambda uid: -cosines[uid])[:10]
            answer = await adapter.search(_query("t1", "dense", vector=_vector(seed)))
            assert [hit.uid for hit in answer.hits] == best
            scores = [hit.score for hit in answer.hits]
            assert scores == pytest.approx([(1 + cosines[uid]) / 2 for uid in best], abs=1e-5)
        described = await adapter.describe()
        assert "approximate" not in described.properties
        assert described.settings["mapping.vector.index_options.type"] == "flat"


@pytest.mark.parametrize("kind", ["hnsw", "int8_hnsw", "bbq_hnsw"])
async def test_the_vector_index_is_the_one_asked_for(node: str, kind: str) -> None:
    """Read back from the server, with its parameters."""
    place = {"vector_index": kind, "m": 24, "ef_construction": 77}
    # bbq_hnsw needs vectors of at least 64 numbers.
    async with opened(node, options={"place": place}, dimension=64) as adapter:
        await adapter.put([Chunk("a", TenantId("t"), "x", vector=_vector(1, 64))])
        await adapter.settle()
        assert await _uids(adapter, _query("t", "dense", vector=_vector(1, 64))) == ["t/a"]
        settings = (await adapter.describe()).settings
    assert settings["mapping.vector.index_options.type"] == kind
    assert settings["mapping.vector.index_options.m"] == 24
    assert settings["mapping.vector.index_options.ef_construction"] == 77


async def test_hybrid_is_reciprocal_rank_fusion_of_both_legs(node: str) -> None:
    """Composed here from the two single searches."""
    words = ["leave", "policy", "refund", "limit", "incident"]
    chunks = [_chunk("t", f"{n:02}", " ".join(words[: n % 5 + 1]), n) for n in range(40)]
    options = {"search": {"rrf_k": 7, "depth": 15}, "place": {"vector_index": "flat"}}
    async with opened(node, options=options) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        fused = await adapter.search(_query("t", "hybrid", k=5))
        scores: dict[str, float] = {}
        for mode in ("lexical", "dense"):
            leg: Mode = "lexical" if mode == "lexical" else "dense"
            for rank, uid in enumerate(await _uids(adapter, _query("t", leg, k=15)), start=1):
                scores[uid] = scores.get(uid, 0) + 1 / (7 + rank)
    best = sorted(scores, key=lambda uid: (-scores[uid], uid))[:5]
    assert [hit.uid for hit in fused.hits] == best
    assert [hit.score for hit in fused.hits] == pytest.approx([scores[uid] for uid in best])


# --- isolation -----------------------------------------------------------------------------

HOSTILE_TENANTS = [
    "acme", "ACME", "Acme", "acme corp", "acme-corp", "acme_corp", "acm", "acme*", "a?me", "*",
    "acme OR globex", "tenant:acme", "acme) OR (tenant:globex", "true", "1", "null", "[1]", "{}",
    '{"value":"acme","case_insensitive":true}', '"acme"', "'acme'", "a\\cme", "a/cme", "a%2Fcme",
    "äcme", "acmé", "\N{GREEK SMALL LETTER ALPHA}cme", "\N{CYRILLIC SMALL LETTER A}cme",
    "acme,globex", "_all", "x" * 128,
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
async def test_each_tenant_sees_its_own_and_nothing_else(node: str, mode: Mode) -> None:
    """All hold the same text and vector, so a missing or a loose filter must show."""
    chunks = [_chunk(tenant, "same", "leave policy", 1) for tenant in HOSTILE_TENANTS]
    async with opened(node) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        for chunk in chunks:
            answer = await adapter.search(_query(chunk.tenant.value, mode, k=50))
            assert [(hit.uid, hit.tenant) for hit in answer.hits] == [
                (chunk.uid, chunk.tenant.value)
            ]
        for unknown in ("globex", "acmex", "cme"):
            assert await _uids(adapter, _query(unknown, mode, k=50)) == []
        counts = (await adapter.describe()).chunks
    assert counts == dict.fromkeys(HOSTILE_TENANTS, 1)


@pytest.mark.parametrize("mode", MODES)
async def test_a_dropped_filter_would_show(
    node: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: every mode takes its condition from the one function."""
    async with opened(node) as adapter:
        await adapter.put([_chunk(tenant, "same", "leave policy", 1) for tenant in "ab"])
        await adapter.settle()
        monkeypatch.setattr(requests, "tenant_filter", lambda _: {"match_all": {}})
        assert sorted(await _uids(adapter, _query("a", mode))) == ["a/same", "b/same"]


@pytest.mark.parametrize(
    "text",
    [
        "*:*", "tenant:b", "leave) OR (tenant:b", '" unbalanced', "leave AND NOT policy", "a\\",
        '{"match_all":{}}', "/.*/", "leave~2 policy^9", "_exists_:tenant", "\x00", "😀 leave", "",
        "the of and", " ".join(f"w{n}" for n in range(900)),
    ],
)  # fmt: skip
async def test_query_text_is_words(node: str, text: str) -> None:
    """No text is an error, none widens the search."""
    async with opened(node) as adapter:
        await adapter.put([_chunk(tenant, "same", "leave policy", 1) for tenant in "ab"])
        await adapter.settle()
        lexical = await _uids(adapter, _query("a", "lexical", text))
        assert lexical == (["a/same"] if {"leave", "leave~2"} & _words(text) else [])
        assert await _uids(adapter, _query("a", "hybrid", text)) == ["a/same"]


def _words(text: str) -> set[str]:
    return {word.strip("()") for word in text.split()}


def test_both_legs_carry_every_condition() -> None:
    """In the client's fusion and in the server's; nowhere stands a filter beside the kNN."""
    query = _query("a", "hybrid", where={"lang": "en"})
    filters = [{"term": {"tenant": "a"}}, {"term": {"metadata": '["lang", "en"]'}}]
    lines = [json.loads(line) for line in requests.legs(query, Search())]
    assert [lines[0], lines[2]] == [{}, {}]
    assert lines[1]["query"]["bool"]["filter"] == filters
    assert lines[3]["knn"]["filter"] == filters
    rrf = requests.search_body(query, Search(depth=30))["retriever"]["rrf"]
    standard, nearest = rrf["retrievers"]
    assert standard["standard"]["query"]["bool"]["filter"] == filters
    assert nearest["knn"]["filter"] == filters
    assert (rrf["rank_constant"], rrf["rank_window_size"]) == (60, 30)


@pytest.mark.parametrize("tenant", [None, "", "a", {"value": "a", "case_insensitive": True}])
def test_an_unchecked_tenant_is_refused(tenant: Any) -> None:
    """Whatever is not a TenantId, and a TenantId that was made round its check."""
    forged = object.__new__(TenantId)
    object.__setattr__(forged, "value", tenant)
    unchecked: list[Any] = [tenant] if isinstance(tenant, str) else [tenant, forged]
    for value in unchecked:
        with pytest.raises(TenantError):
            requests.tenant_filter(value)


@pytest.mark.parametrize("mode", MODES)
async def test_conditions_are_exact_and_only_narrow(node: str, mode: Mode) -> None:
    """1 is 1.0 and neither "1" nor true; a condition on `tenant` is metadata."""
    long = "x" * 9000
    values: dict[str, Value] = {"one": 1, "text": "1", "true": True, "case": "En", "long": long}
    chunks = [_chunk("a", name, "leave policy", 1, v=value) for name, value in values.items()]
    async with opened(node) as adapter:
        await adapter.put([*chunks, _chunk("b", "foreign", "leave policy", 1, v=1, tenant="a")])
        await adapter.settle()
        wanted: list[tuple[Value, list[str]]] = [
            (1, ["a/one"]), (1.0, ["a/one"]), ("1", ["a/text"]), (True, ["a/true"]),
            ("true", []), ("En", ["a/case"]), ("en", []), (long, ["a/long"]), (long + "x", []),
        ]  # fmt: skip
        for value, uids in wanted:
            assert await _uids(adapter, _query("a", mode, where={"v": value})) == uids
        assert await _uids(adapter, _query("a", mode, where={"v": 1, "w": 1})) == []
        assert await _uids(adapter, _query("a", mode, where={"tenant": "b"})) == []


_values = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans())


@given(st.text(), _values, st.text(), _values)
def test_terms_are_equal_only_for_equal_conditions(
    name: str, value: Value, other: str, another: Value
) -> None:
    same = name == other and value == another and (value is True) == (another is True)
    same = same and isinstance(value, bool) == isinstance(another, bool)
    assert (requests.condition(name, value) == requests.condition(other, another)) == same


# --- life cycle ----------------------------------------------------------------------------


async def test_put_replaces_and_settle_shows(node: str) -> None:
    """After settle the new text is found and the old one is not; nothing is doubled."""
    async with opened(node, options={"place": {"force_merge": True}}) as adapter:
        assert isinstance(adapter, Writable)
        await adapter.put([_chunk("a", "1", "refund", 1), _chunk("a", "2", "incident", 2)])
        await adapter.settle()
        await adapter.put([_chunk("a", "1", "limits", 3)])
        await adapter.settle()
        assert await _uids(adapter, _query("a", "lexical", "refund")) == []
        assert await _uids(adapter, _query("a", "lexical", "limit")) == ["a/1"]
        described = await adapter.describe()
    assert described.chunks == {"a": 2}


async def test_describe_reads_back_and_is_stable(node: str, elasticsearch_node: Started) -> None:
    place = {"analyzer": "standard", "k1": 0.9, "b": 0.4}
    async with opened(node, options={"place": place}) as adapter:
        await adapter.put([_chunk(f"t{n:04}", "1", "x", n) for n in range(1500)])
        await adapter.settle()
        first = await adapter.describe()
        await adapter.search(_query("t0001", "hybrid"))
        assert await adapter.describe() == first
    assert len(first.chunks) == 1500  # more than one page of the counting search
    assert set(first.chunks.values()) == {1}
    assert first.server_version == elasticsearch_node.version
    assert first.fidelity == elasticsearch_node.fidelity == "engine"
    assert first.properties == {"shared_idf", "approximate"}
    assert first.settings["mapping.text.analyzer"] == "standard"
    assert first.settings["similarity.bm25.k1"] == "0.9"
    assert first.settings["similarity.bm25.b"] == "0.4"
    assert first.settings["request.fusion"] == "client"


async def test_long_uids_stay_apart(node: str) -> None:
    """Longer than an _id may be, and equal in all that fits into one."""
    chunks = [_chunk("a", "ü" * 400 + end, "leave policy", 1) for end in "xy"]
    async with opened(node) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        assert await _uids(adapter, _query("a", "lexical")) == [chunk.uid for chunk in chunks]


def test_batches_are_capped_by_bytes() -> None:
    """What is longer than the cap goes alone; nothing is lost and the order stays."""
    items = [b"aaa", b"bbb", b"ccc", b"d" * 9, b"e", b"f"]
    found = list(requests.batches(items, 6))
    assert found == [[b"aaa", b"bbb"], [b"ccc"], [b"d" * 9], [b"e", b"f"]]


async def test_a_small_batch_size_sends_everything(node: str) -> None:
    async with opened(node, options={"place": {"batch_bytes": 700}}) as adapter:
        await adapter.put([_chunk("a", str(n), "leave policy", n) for n in range(50)])
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"a": 50}


async def test_what_is_wanted_is_returned(node: str) -> None:
    """Text and total only when asked for; the tenant label always."""
    chunk = Chunk("1", TenantId("a"), "leave policy", title="Title", vector=_vector(1))
    async with opened(node) as adapter:
        await adapter.put([chunk, _chunk("a", "2", "policy", 2), _chunk("b", "3", "policy", 3)])
        await adapter.settle()
        plain = await adapter.search(_query("a", "lexical", k=1))
        assert (plain.hits[0].text, plain.hits[0].tenant, plain.total) == (None, "a", None)
        assert plain.server_ms is not None
        assert plain.partial is False
        full = await adapter.search(
            _query("a", "lexical", "policy title", k=1, want=frozenset({"text", "total"}))
        )
        assert (full.hits[0].text, full.total) == ("Title\nleave policy", 2)
        both = await adapter.search(_query("a", "hybrid", k=1, want=frozenset({"text"})))
        assert both.hits[0].text == "Title\nleave policy"


async def test_32_at_once_answer_as_one_after_another(node: str) -> None:
    """Interleaved tenants and modes, each with its own answer."""
    queries = [_query(f"t{n % 4}", MODES[n % 3], k=3, vector=_vector(n)) for n in range(32)]
    async with opened(node, concurrency=32) as adapter:
        await adapter.put([_chunk(f"t{n % 4}", str(n), "leave policy", n) for n in range(80)])
        await adapter.settle()
        alone = [await _uids(adapter, query) for query in queries]
        together: dict[int, list[str]] = {}

        async def ask(number: int) -> None:
            together[number] = await _uids(adapter, queries[number])

        async with anyio.create_task_group() as tasks:
            for number in range(32):
                tasks.start_soon(ask, number)
    assert [together[number] for number in range(32)] == alone
    assert all(uid.startswith(f"t{n % 4}/") for n in range(32) for uid in together[n])


async def test_a_cancelled_search_harms_no_other(node: str) -> None:
    async with opened(node, concurrency=1) as adapter:
        await adapter.put([_chunk(t, "1", "leave policy", n) for n, t in enumerate("ab")])
        await adapter.settle()
        for _ in range(5):
            with anyio.move_on_after(0.001):
                await adapter.search(_query("a", "hybrid"))
            assert await _uids(adapter, _query("b", "hybrid")) == ["b/1"]


async def test_close_removes_only_what_was_made(node: str) -> None:
    """A second object finds the same schema, reads, and leaves the index where it is."""
    settings = _settings(node)
    first = await Elasticsearch.open(settings)
    await first.put([_chunk("a", "1", "leave policy", 1)])
    await first.settle()
    second = await Elasticsearch.open(settings)
    assert await _uids(second, _query("a", "lexical")) == ["a/1"]
    await second.close()
    assert await _uids(first, _query("a", "lexical")) == ["a/1"]
    await first.close()
    await first.close()
    third = await Elasticsearch.open(settings)
    assert (await third.describe()).chunks == {}
    await third.close()


# --- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": {"place": {"k1": 2.0}}}, "bm25.k1 is 1.2, wanted 2.0"),
        ({"options": {"place": {"analyzer": "standard"}}}, "analyzer is english, wanted standard"),
        ({"dimension": 8}, "vector.dims is 16, wanted 8"),
        ({"dimension": 0, "modes": frozenset({"lexical"})}, "it has the field 'vector'"),
    ],
)
async def test_another_schema_is_rejected(
    node: str, changes: Mapping[str, Any], words: str
) -> None:
    async with opened(node, place="rb_taken"):
        with pytest.raises(Rejected, match=words) as caught:
            await Elasticsearch.open(_settings(node, place="rb_taken", **changes))
        assert "'rb_taken' already exists" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"place": "products"}, "place: 'products' must begin with 'rb_'"),
        ({"layout": "index"}, "layout: 'index' is not supported"),
        ({"dimension": 0}, "dimension"),
        ({"concurrency": 101}, "concurrency: 101"),
        ({"options": {"search": {"num_candidate": 5}}}, "num_candidate: unknown key"),
        ({"options": {"place": {"b": 1.5}}}, "b: 1.5"),
        (
            {"options": {"search": {"exact": True}, "place": {"vector_index": "hnsw"}}},
            "needs options.place.vector_index 'flat'",
        ),
        ({"secrets": {"token": Secret("hunter2")}}, "secret 'token'"),
        ({"options": {"connect": {"ca_certs": "/absent"}}, "endpoint": "https://h:1"}, "ca_certs"),
        ({"endpoint": "localhost"}, "endpoint 'localhost'"),
    ],
)
async def test_wrong_settings_are_refused_before_anything_is_sent(
    changes: dict[str, Any], words: str
) -> None:
    endpoint = changes.pop("endpoint", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(InputError) as caught:
        await Elasticsearch.open(_settings(endpoint, **changes))
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (_vector(1, 8), "dimensions"),
        (array("f", [0.0] * DIMENSION), "zero magnitude"),
        (None, "missing"),
    ],
)
async def test_an_item_that_fails_is_raised(
    node: str, vector: array[float] | None, words: str
) -> None:
    """With its uid and the server's reason, however many others went well."""
    bad = Chunk("bad", TenantId("a"), "x", vector=vector)
    async with opened(node) as adapter:
        with pytest.raises(Rejected, match=words) as caught:
            await adapter.put([_chunk("a", "1", "x", 1), bad, _chunk("a", "2", "x", 2)])
        assert "a/bad" in str(caught.value)


async def test_a_request_the_server_refuses_keeps_its_words(node: str) -> None:
    async with opened(node) as adapter:
        with pytest.raises(Rejected, match="dimension") as caught:
            await adapter.search(_query("a", "dense", vector=_vector(1, 8)))
        assert caught.value.code is Code.HTTP_4XX
        with pytest.raises(Rejected, match="dimension"):
            await adapter.search(_query("a", "hybrid", vector=_vector(1, 8)))
        with pytest.raises(Rejected, match="Result window"):
            await adapter.search(_query("a", "lexical", k=10_001))
        with pytest.raises(Rejected, match="cannot be sent"):
            await adapter.search(_query("a", "lexical", "\ud800"))


async def test_fusion_in_the_server_needs_its_licence(node: str) -> None:
    """The target is not measured, and the index made for it is gone."""
    settings = _settings(node, options={"search": {"fusion": "server"}})
    with pytest.raises(Unsupported, match=r'fusion = "client".*unknown retriever \[rrf\]'):
        await Elasticsearch.open(settings)
    async with opened(node, place=settings.place, dimension=8):
        pass  # another schema would be Rejected if the first index were still there


async def test_a_server_that_is_gone_is_unavailable() -> None:
    with pytest.raises(Unavailable) as caught:
        await Elasticsearch.open(_settings(f"http://127.0.0.1:{free_port()}"))
    assert caught.value.code is Code.CONNECT


async def test_a_node_killed_in_between_is_unavailable() -> None:
    """Search and close both say so, and neither hangs."""
    async with engine.start({"quick_start": True, "heap_mb": 256}) as started:
        adapter = await Elasticsearch.open(_settings(started.endpoint))
        await adapter.settle()
        await anyio.run_process(["kill", "-9", str(started.details["pid"])])
        with anyio.fail_after(20):
            with pytest.raises(Unavailable):
                await adapter.search(_query("a", "hybrid"))
            with pytest.raises(Unavailable):
                await adapter.close()
            await adapter.close()


@dataclass
class Stub:
    """A server that answers every search so; `GET /` and the rest answer as a node would."""

    url: str = ""
    status: int = 200
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    info: tuple[int, object] = (200, {"version": {"number": "9.5.3", "build_type": "docker"}})
    product: str | None = "Elasticsearch"
    stall: threading.Event = field(default_factory=threading.Event)
    behaviour: str = "answer"
    logins: list[str | None] = field(default_factory=list)


@pytest.fixture
def stub() -> Iterator[Stub]:
    told = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.logins.append(self.headers.get("authorization"))
            self.rfile.read(int(self.headers.get("content-length") or 0))
            searched = "search" in self.path
            if searched and told.behaviour == "stall":
                told.stall.wait(20)
            if searched and told.behaviour != "answer":
                self.close_connection = True
                return
            status, body = told.info if self.path == "/" else (200, {"acknowledged": True})
            if searched:
                status, body = told.status, told.body
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if told.product:
                self.send_header("X-Elastic-Product", told.product)
            kind = "text/plain" if isinstance(body, bytes) and status != 200 else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815  # the names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield told
        told.stall.set()
        server.shutdown()
        thread.join()


def _error(kind: str, why: str) -> dict[str, Any]:
    cause = {"type": kind, "reason": why}
    return {"error": {**cause, "root_cause": [cause]}, "status": 400}


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, _error("security_exception", "why it is so"), Refused, Code.AUTH),
        (403, _error("security_exception", "why it is so"), Refused, Code.AUTH),
        (429, _error("es_rejected_execution_exception", "why it is so"), Throttled, Code.THROTTLED),
        (400, _error("parsing_exception", "why it is so"), Rejected, Code.HTTP_4XX),
        (413, b"why it is so", Rejected, Code.HTTP_4XX),
        (503, _error("cluster_block_exception", "why it is so"), Unavailable, Code.HTTP_5XX),
        (200, b"no json", AdapterError, Code.BAD_ANSWER),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_answers_become_errors_by_remedy(
    stub: Stub, status: int, body: object, kind: type[BackendError], code: Code, mode: Mode
) -> None:
    stub.status, stub.body, stub.headers = status, body, {"Retry-After": "7"}
    async with opened(stub.url) as adapter:
        with pytest.raises(kind) as caught:
            await adapter.search(_query("a", mode))
    assert type(caught.value) is kind
    assert caught.value.code is code
    assert status == 200 or "why it is so" in str(caught.value)
    if isinstance(caught.value, Throttled):
        assert caught.value.retry_after == 7.0


async def test_an_error_in_one_leg_is_an_error(stub: Stub) -> None:
    """A hybrid answer of one leg alone would be another mode under a false name."""
    good = {"took": 1, "timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": []}}
    bad = {**_error("circuit_breaking_exception", "Data too large"), "status": 429}
    stub.body = {"took": 1, "responses": [good, bad]}
    async with opened(stub.url) as adapter:
        with pytest.raises(Throttled, match="Data too large"):
            await adapter.search(_query("a", "hybrid"))


@pytest.mark.parametrize(
    ("shards", "timed_out", "partial"), [(0, False, False), (1, False, True), (0, True, True)]
)
def test_an_incomplete_answer_says_so(shards: int, timed_out: bool, partial: bool) -> None:
    answer = {
        "took": 1,
        "timed_out": timed_out,
        "_shards": {"failed": shards},
        "hits": {"hits": []},
    }
    assert answers.response(answer, _query("a", "lexical")).partial is partial
    legs = {
        "took": 1,
        "responses": [answer, {**answer, "timed_out": False, "_shards": {"failed": 0}}],
    }
    assert answers.fused(legs, _query("a", "hybrid"), 60).partial is partial


def test_ties_come_in_the_order_of_uids() -> None:
    hits = [
        {"_score": score, "fields": {"uid": [uid], "tenant": ["a"]}}
        for uid, score in [("b", 1.0), ("a", 1.0), ("c", 2.0)]
    ]
    answer = {"took": 1, "timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits}}
    assert [hit.uid for hit in answers.response(answer, _query("a", "dense")).hits] == [
        "c",
        "a",
        "b",
    ]


async def test_no_answer_in_time_is_a_timeout(stub: Stub) -> None:
    stub.behaviour = "stall"
    async with opened(stub.url, timeout=0.3) as adapter:
        with pytest.raises(TimedOut):
            await adapter.search(_query("a", "lexical"))
        stub.stall.set()


async def test_a_lost_connection_is_a_reset_and_not_tried_again(stub: Stub) -> None:
    stub.behaviour = "drop"
    async with opened(stub.url) as adapter:
        before = len(stub.logins)
        with pytest.raises(Unavailable) as caught:
            await adapter.search(_query("a", "lexical"))
        assert caught.value.code is Code.RESET
        assert len(stub.logins) == before + 1


@pytest.mark.parametrize(
    ("info", "product", "words"),
    [
        (
            (200, {"version": {"number": "8.19.3"}}),
            "Elasticsearch",
            r"elasticsearch\[async\]==8\.\*",
        ),
        ((400, _error("media_type_header_exception", "9")), "Elasticsearch", "older than client 9"),
        ((200, {"version": {"number": "2.19"}}), None, "something else"),
    ],
)
async def test_a_server_of_another_kind_is_unsupported(
    stub: Stub, info: tuple[int, object], product: str | None, words: str
) -> None:
    stub.info, stub.product = info, product
    with pytest.raises(Unsupported, match=words):
        await Elasticsearch.open(_settings(stub.url))


@pytest.mark.parametrize(
    ("secrets", "login"),
    [
        ({"api_key": Secret("hunter2")}, "ApiKey hunter2"),
        ({"user": Secret("me"), "password": Secret("hunter2")}, "Basic bWU6aHVudGVyMg=="),
        ({}, None),
    ],
)
async def test_credentials_are_sent_and_never_shown(
    stub: Stub, secrets: dict[str, Secret], login: str | None
) -> None:
    stub.status, stub.body = 401, _error("security_exception", "unable to authenticate")
    async with opened(stub.url, secrets=secrets) as adapter:
        with pytest.raises(Refused, match="unable to authenticate") as caught:
            await adapter.search(_query("a", "lexical"))
    assert set(stub.logins) == {login}
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in f"{error} {error!r}"
        error = error.__cause__
