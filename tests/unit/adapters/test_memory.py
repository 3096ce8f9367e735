"""The memory adapter against formulas written out by hand and against published figures."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import pytrec_eval

from retrieverbench.adapter import CAPABILITIES, Settings, Writable
from retrieverbench.errors import InputError, Rejected, TenantError, Unavailable
from retrieverbench.model import Chunk, Layout, Mode, Query, Response, TenantId, Value
from retrieverbench_adapters.memory import Memory
from retrieverbench_adapters.memory.analyzer import Analyzer

pytestmark = pytest.mark.anyio

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
ALL_MODES: frozenset[Mode] = frozenset({"dense", "lexical", "hybrid"})


def chunk(
    tenant: TenantId, id_: str, text: str, *vector: float, title: str = "", **metadata: Value
) -> Chunk:
    numbers = array("f", vector) if vector else None
    return Chunk(id_, tenant, text, title, metadata=metadata, vector=numbers)


async def opened(
    chunks: Sequence[Chunk],
    *,
    layout: Layout = "filter",
    dimension: int = 0,
    options: Mapping[str, Mapping[str, object]] | None = None,
) -> Memory:
    modes = ALL_MODES if dimension else frozenset[Mode]({"lexical"})
    settings = Settings("", "rb_test", modes, layout, dimension, options=options or {})
    memory = await Memory.open(settings)
    await memory.put(chunks)
    await memory.settle()
    return memory


async def ask(
    memory: Memory, mode: Mode, text: str = "", *vector: float, k: int = 10, **more: Any
) -> Response:
    numbers = array("f", vector) if vector else None
    tenant = more.pop("tenant", ACME)
    return await memory.search(Query(text, tenant, k, mode, numbers, **more))


def uids(response: Response) -> list[str]:
    return [hit.uid for hit in response.hits]


def test_it_keeps_the_protocol() -> None:
    kept: type[Writable] = Memory
    assert set(CAPABILITIES) >= kept.capabilities


# Dense


async def test_dense_is_the_cosine_whatever_the_lengths() -> None:
    memory = await opened(
        [chunk(ACME, "far", "x", 0, 2), chunk(ACME, "near", "x", 3, 4)], dimension=2
    )
    response = await ask(memory, "dense", "", 10, 0)
    assert uids(response) == ["acme/near", "acme/far"]
    assert [hit.score for hit in response.hits] == pytest.approx([0.6, 0.0], abs=1e-6)


async def test_dense_agrees_with_cosines_added_up_one_by_one() -> None:
    dice = random.Random(7)
    vectors = {f"{i:03}": [dice.gauss(0, 1) for _ in range(33)] for i in range(300)}
    memory = await opened([chunk(ACME, i, "x", *v) for i, v in vectors.items()], dimension=33)
    question = [dice.gauss(0, 1) for _ in range(33)]

    def cosine(v: Sequence[float]) -> float:
        dot = math.fsum(a * b for a, b in zip(v, question, strict=True))
        return dot / math.hypot(*v) / math.hypot(*question)

    expected = sorted(vectors, key=lambda i: -cosine(vectors[i]))[:20]
    response = await ask(memory, "dense", "", *question, k=20)
    assert uids(response) == [f"acme/{i}" for i in expected]
    assert response.hits[0].score == pytest.approx(cosine(vectors[expected[0]]), abs=1e-6)


@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_equal_scores_come_in_order_of_uid(mode: Mode) -> None:
    """Equal vectors must score equally wherever they lie, also at the cut."""
    dice = random.Random(3)
    vectors = [[dice.gauss(0, 1) for _ in range(384)] for _ in range(2)]
    texts = ["words", "words and more"]
    ids = [f"{i:04}" for i in range(5003)]
    memory = await opened(
        [chunk(ACME, i, texts[int(i) % 2], *vectors[int(i) % 2]) for i in dice.sample(ids, 5003)],
        dimension=384,
    )
    response = await ask(memory, mode, "words", *vectors[0], k=5003)
    assert uids(response) == [f"acme/{i}" for i in ids[::2] + ids[1::2]]
    assert len({hit.score for hit in response.hits}) == 2
    cut = await ask(memory, mode, "words", *vectors[0], k=17)
    assert cut.hits == response.hits[:17]


async def test_fused_ties_come_in_order_of_uid() -> None:
    memory = await opened(
        [chunk(ACME, "b", "words", 0, 1), chunk(ACME, "a", "other", 1, 0)], dimension=2
    )
    response = await ask(memory, "hybrid", "words", 1, 0, k=1)
    assert uids(response) == ["acme/b"]  # both legs know it
    tied = await opened(
        [chunk(ACME, i, "words", 1, 0) for i in "cab"],
        dimension=2,
        options={"search": {"depth": 1}},
    )
    assert uids(await ask(tied, "hybrid", "words", 1, 0, k=3)) == ["acme/a", "acme/b", "acme/c"]


# Lexical


def lucene(tf: int, length: float, average: float, holders: int, chunks: int) -> float:
    idf = math.log(1 + (chunks - holders + 0.5) / (holders + 0.5))
    return idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * length / average))


async def test_bm25_is_lucenes() -> None:
    chunks = [
        chunk(ACME, "a", "refund refund policy"),
        chunk(ACME, "b", "refund of the money paid last month", title="Policy"),
        chunk(ACME, "c", "holidays"),
    ]
    memory = await opened(chunks)
    response = await ask(memory, "lexical", "refunds")
    # b: the title counts, two stop words do not.
    assert uids(response) == ["acme/a", "acme/b"]
    expected = [lucene(2, 3, 10 / 3, 2, 3), lucene(1, 6, 10 / 3, 2, 3)]
    assert [hit.score for hit in response.hits] == pytest.approx(expected)


async def test_a_term_asked_twice_counts_twice() -> None:
    memory = await opened([chunk(ACME, "a", "refund"), chunk(ACME, "b", "policy")])
    once = (await ask(memory, "lexical", "refund")).hits[0].score
    twice = (await ask(memory, "lexical", "refund refunds")).hits[0].score
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize(
    ("length", "stored"), [(39, 39), (40, 40), (41, 40), (42, 42), (100, 96), (1000, 984)]
)
async def test_long_texts_have_the_length_that_fits_lucenes_byte(length: int, stored: int) -> None:
    memory = await opened([chunk(ACME, "a", "word " * length), chunk(ACME, "b", "other")])
    response = await ask(memory, "lexical", "word")
    expected = lucene(length, stored, (length + 1) / 2, 1, 2)
    assert response.hits[0].score == pytest.approx(expected)


async def test_a_chunk_without_words_is_not_counted() -> None:
    with_it = await opened(
        [chunk(ACME, "a", "refund"), chunk(ACME, "b", "the"), chunk(ACME, "c", "policy")]
    )
    without = await opened([chunk(ACME, "a", "refund"), chunk(ACME, "c", "policy")])
    scores = [
        (await ask(memory, "lexical", "refund")).hits[0].score for memory in (with_it, without)
    ]
    assert scores[0] == scores[1]


async def test_lexical_returns_matches_only() -> None:
    memory = await opened([chunk(ACME, "a", "refund"), chunk(ACME, "b", "policy")])
    assert uids(await ask(memory, "lexical", "refund")) == ["acme/a"]
    assert uids(await ask(memory, "lexical", "the")) == []
    assert uids(await ask(memory, "lexical", "zebra")) == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The company's refunds aren't possible", ["compani", "refund", "aren't", "possibl"]),
        ("James\u2019s O'Neil DOG'S", ["jame", "o'neil", "dog"]),
        (
            "technology biology embedded trekking us",
            ["technolog", "biologi", "embed", "trek", "us"],
        ),
        ("v2.0.1-rc1 1,000.5 foo_bar a:b", ["v2.0.1", "rc1", "1,000.5", "foo_bar", "a:b"]),
        ("U.S.A. C++ node.js x@y.com", ["u.s.a", "c", "node.j", "x", "y.com"]),
        ("漢字かなカナ ﾊﾝｶｸ", ["漢", "字", "か", "な", "カナ", "ﾊﾝｶｸ"]),
        ("ΣΑΣ İx", ["\u03c3\u03b1\u03c3", "ix"]),
        ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
        ("🇩🇪🇫🇷 👍🏽★", ["🇩🇪", "🇫🇷", "👍🏽", "★"]),
        ("z" * 256, ["z" * 255, "z"]),
    ],
)
def test_the_english_analyzer_makes_lucenes_terms(text: str, terms: list[str]) -> None:
    """Each expected list is the output of Lucene 10.5's EnglishAnalyzer."""
    assert Analyzer("english").terms(text) == terms


def test_the_standard_analyzer_neither_stops_nor_stems() -> None:
    assert Analyzer("standard").terms("The dogs' JAMES's") == ["the", "dogs", "james's"]


# Published figures


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        judgements.setdefault(query, {})[document] = int(grade)
    return {query: own for query, own in judgements.items() if max(own.values()) > 0}


@pytest.mark.parametrize(
    ("name", "place", "ndcg", "recall"),
    [
        ("claude-docs", {}, 0.6930, 0.9483),
        ("claude-docs", {"k1": 0.9, "b": 0.4}, 0.6242, 0.9550),
        ("claude-docs", {"analyzer": "standard"}, 0.6670, 0.9317),
        ("codebase-chunks", {}, 0.5896, 0.9275),
        ("chunk-eval", {}, 0.7890, 0.9936),
    ],
)
async def test_the_figures_of_public_sets_are_reproduced(
    shared: Path, name: str, place: dict[str, object], ndcg: float, recall: float
) -> None:
    """Means over queries with a relevant document, linear gain, ties by id descending.

    The tolerance of 0.002 separates this configuration from its neighbours.
    """
    folder = shared / "data" / name
    chunks = [
        chunk(ACME, line["_id"], line["text"], title=line.get("title", ""))
        for line in read_lines(folder / "corpus.jsonl")
    ]
    memory = await opened(chunks, options={"place": place})
    judgements = read_judgements(folder / "qrels.tsv")
    run = {
        line["_id"]: {
            hit.uid.removeprefix("acme/"): hit.score
            for hit in (await ask(memory, "lexical", line["text"], k=1000)).hits
        }
        for line in read_lines(folder / "queries.jsonl")
        if line["_id"] in judgements
    }
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "recall.100"})
    rows = evaluator.evaluate(run)
    means = {
        measure: sum(rows.get(query, {}).get(measure, 0.0) for query in judgements)
        / len(judgements)
        for measure in ("ndcg_cut_10", "recall_100")
    }
    assert means["ndcg_cut_10"] == pytest.approx(ndcg, abs=0.002)
    assert means["recall_100"] == pytest.approx(recall, abs=0.002)


# Hybrid


async def test_hybrid_is_reciprocal_rank_fusion_of_both_legs() -> None:
    chunks = [
        chunk(ACME, "both", "refund", 1, 1),
        chunk(ACME, "dense", "other", 1, 0),
        chunk(ACME, "words", "refund refund", 0, 1),
    ]
    memory = await opened(chunks, dimension=2)
    response = await ask(memory, "hybrid", "refund", 1, 0)
    assert uids(response) == ["acme/words", "acme/both", "acme/dense"]
    expected = [1 / 63 + 1 / 61, 1 / 62 + 1 / 62, 1 / 61]
    assert [hit.score for hit in response.hits] == pytest.approx(expected)


async def test_fusion_looks_at_the_asked_depth_of_each_leg() -> None:
    chunks = [
        chunk(ACME, "both", "refund and more words", 1, 1),
        chunk(ACME, "dense", "other", 1, 0),
        chunk(ACME, "words", "refund", -1, 0),
    ]
    memory = await opened(chunks, dimension=2, options={"search": {"depth": 1, "rrf_k": 1}})
    response = await ask(memory, "hybrid", "refund", 1, 0, k=1)
    assert [(hit.uid, hit.score) for hit in response.hits] == [("acme/dense", 0.5)]
    whole = await opened(chunks, dimension=2, options={"search": {"rrf_k": 1}})
    response = await ask(whole, "hybrid", "refund", 1, 0, k=1)
    assert [(hit.uid, hit.score) for hit in response.hits] == [("acme/words", 0.75)]
    deeper = await ask(memory, "hybrid", "refund", 1, 0, k=2)
    assert uids(deeper)[0] == "acme/both"


# Tenants, conditions, what is wanted


@pytest.mark.parametrize("layout", ["filter", "index"])
@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
async def test_only_the_askers_chunks_are_returned(mode: Mode, layout: Layout) -> None:
    """Both tenants hold the same text and vector, so a missing condition must show."""
    chunks = [chunk(t, f"{i}", "same words", 1, 0) for t in (ACME, GLOBEX) for i in range(5)]
    memory = await opened(chunks, layout=layout, dimension=2)
    for tenant in (ACME, GLOBEX):
        response = await ask(memory, mode, "words", 1, 0, tenant=tenant, k=10)
        assert uids(response) == [f"{tenant}/{i}" for i in range(5)]
    nobody = await ask(memory, mode, "words", 1, 0, tenant=TenantId("Acme"))
    assert uids(nobody) == []


async def test_statistics_are_shared_in_layout_filter_and_own_in_layout_index() -> None:
    own = [chunk(ACME, "a", "refund policy"), chunk(ACME, "b", "policy")]
    foreign = [chunk(GLOBEX, f"{i}", "refund") for i in range(5)]
    question = ("lexical", "refund")

    async def score(chunks: Sequence[Chunk], layout: Layout) -> float:
        memory = await opened(chunks, layout=layout)
        described = await memory.describe()
        assert described.properties == ({"shared_idf"} if layout == "filter" else set())
        return (await ask(memory, *question)).hits[0].score  # type: ignore[arg-type]

    assert await score([*own, *foreign], "index") == await score(own, "index")
    assert await score([*own, *foreign], "filter") < await score(own, "filter")


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
async def test_conditions_are_equalities_combined_by_and(mode: Mode) -> None:
    chunks = [
        chunk(ACME, "one", "words", 1, 0, year=1, lang="en"),
        chunk(ACME, "true", "words", 1, 0, year=True, lang="en"),
        chunk(ACME, "german", "words", 1, 0, year=1, lang="de"),
        chunk(ACME, "none", "words", 1, 0),
        chunk(GLOBEX, "foreign", "words", 1, 0, year=1, lang="en"),
    ]
    memory = await opened(chunks, dimension=2)

    async def kept(**where: Value) -> list[str]:
        return uids(await ask(memory, mode, "words", 1, 0, where=where))

    assert await kept(year=1, lang="en") == ["acme/one"]
    assert await kept(year=1.0) == ["acme/german", "acme/one"]
    assert await kept(year=True) == ["acme/true"]
    assert await kept(tenant="acme") == []  # no key of the chunks, though the asker's name
    assert await kept(lang="1") == []


async def test_an_answer_carries_what_is_wanted_and_no_more() -> None:
    memory = await opened([chunk(ACME, f"{i}", f"words {i}", title="t") for i in range(3)])
    bare = await ask(memory, "lexical", "words", k=1)
    assert (bare.hits[0].text, bare.hits[0].tenant, bare.total) == (None, None, None)
    full = await ask(memory, "lexical", "words", k=1, want=frozenset({"text", "tenant", "total"}))
    assert (full.hits[0].text, full.hits[0].tenant, full.total) == ("words 0", "acme", 3)


# Life cycle


async def test_what_was_put_is_searchable_after_settle_only() -> None:
    memory = await opened([chunk(ACME, "a", "old words")])
    await memory.put([chunk(ACME, "a", "new words"), chunk(ACME, "b", "new")])
    assert uids(await ask(memory, "lexical", "new")) == []
    assert (await memory.describe()).chunks == {"acme": 1}
    await memory.settle()
    assert uids(await ask(memory, "lexical", "new")) == ["acme/b", "acme/a"]
    assert uids(await ask(memory, "lexical", "old")) == []
    assert (await memory.describe()).chunks == {"acme": 2}


async def test_settle_does_not_block_the_loop() -> None:
    memory = await opened([])
    await memory.put([chunk(ACME, f"{i}", f"some words of chunk {i} " * 20) for i in range(500)])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await memory.settle()
        seen = ticks
        tasks.cancel_scope.cancel()
    assert seen > 10


async def test_describe_tells_counts_settings_and_sizes() -> None:
    memory = await opened(
        [chunk(ACME, "a", "the refund policy"), chunk(GLOBEX, "a", "refund")],
        options={"place": {"k1": 0.9}},
    )
    described = await memory.describe()
    assert described.chunks == {"acme": 1, "globex": 1}
    assert described.settings["k1"] == 0.9
    assert (described.settings["terms"], described.settings["distinct_terms"]) == (3, 2)
    assert described == await memory.describe()
    assert described.fidelity == "engine"
    json.dumps(dict(described.settings))


async def test_concurrent_tenants_do_not_meet() -> None:
    tenants = [TenantId(f"t{i}") for i in range(8)]
    chunks = [chunk(t, f"{i}", "same words", 1, 0) for t in tenants for i in range(4)]
    memory = await opened(chunks, dimension=2)
    seen: dict[TenantId, list[str]] = {}

    async def one(tenant: TenantId) -> None:
        for mode in ALL_MODES:
            seen.setdefault(tenant, []).extend(
                uids(await ask(memory, mode, "words", 1, 0, tenant=tenant))
            )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(memory.settle)
        for tenant in tenants:
            tasks.start_soon(one, tenant)
    for tenant in tenants:
        assert {uid.split("/")[0] for uid in seen[tenant]} == {tenant.value}
        assert len(seen[tenant]) == 12


async def test_closed_twice_is_closed() -> None:
    memory = await opened([chunk(ACME, "a", "words")])
    await memory.close()
    await memory.close()
    with pytest.raises(Unavailable, match="closed"):
        await ask(memory, "lexical", "words")


async def test_an_empty_place_answers_nothing() -> None:
    memory = await opened([], dimension=2)
    assert (await memory.describe()).chunks == {}
    wanted = frozenset({"total"})
    assert (await ask(memory, "hybrid", "words", 1, 0, want=wanted)) == Response([], total=0)


# Refusals


@pytest.mark.parametrize(
    ("vector", "text"),
    [
        ((1, 2, 3), "chunk 'acme/bad': 3 numbers, expected 2"),
        ((0, 0), "no cosine"),
        ((math.nan, 1), "no cosine"),
        ((), "missing"),
    ],
)
async def test_a_wrong_vector_is_refused_and_nothing_of_the_batch_kept(
    vector: tuple[float, ...], text: str
) -> None:
    memory = await opened([], dimension=2)
    with pytest.raises(Rejected, match=text):
        await memory.put([chunk(ACME, "good", "x", 1, 0), chunk(ACME, "bad", "x", *vector)])
    await memory.settle()
    assert (await memory.describe()).chunks == {}


async def test_a_question_with_a_wrong_vector_is_refused() -> None:
    memory = await opened([chunk(ACME, "a", "x", 1, 0)], dimension=2)
    with pytest.raises(Rejected, match="query: 3 numbers, expected 2"):
        await ask(memory, "dense", "x", 1, 0, 0)
    with pytest.raises(Rejected, match="query: missing"):
        await ask(memory, "hybrid", "x")


async def test_an_unchecked_tenant_is_refused() -> None:
    memory = await opened([chunk(ACME, "a", "x")])
    for wrong in (None, "", "acme", ["acme"]):
        with pytest.raises(TenantError):
            await ask(memory, "lexical", "x", tenant=wrong)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"options": {"place": {"k2": 1}}}, r"memory: options: place.k2: unknown key"),
        ({"options": {"place": {"b": 1.5}}}, r"place.b: 1.5 is wrong"),
        ({"options": {"search": {"exact": False}}}, r"search.exact: False"),
        ({"options": {"connect": {"url": "x"}}}, r"connect.url: unknown key"),
        ({"options": {"index": {}}}, r"index: unknown key"),
        ({"layout": "rls"}, r"layout: 'rls'"),
        ({"modes": ALL_MODES}, r"dimension: 0"),
        ({"endpoint": "http://x"}, r"endpoint: 'http://x'"),
        ({"place": "mine"}, r"place: 'mine'"),
    ],
)
async def test_wrong_settings_are_refused(settings: dict[str, Any], fault: str) -> None:
    base: dict[str, Any] = {
        "endpoint": "",
        "place": "rb_x",
        "modes": frozenset({"lexical"}),
    }
    with pytest.raises(InputError, match=fault):
        await Memory.open(Settings(**(base | settings)))


async def test_reads_by_id_show_the_askers_own_alone() -> None:
    chunks = [chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "two")]
    memory = await opened(chunks)
    found = await memory.get(ACME, ["acme/a", "globex/b", "acme/none"])
    assert [(hit.uid, hit.tenant, hit.text) for hit in found] == [("acme/a", "acme", "one")]


async def test_a_delete_takes_the_owners_chunk_alone() -> None:
    memory = await opened([chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "one")])
    await memory.delete(ACME, ["acme/a", "globex/b"])
    await memory.settle()
    assert await memory.get(ACME, ["acme/a"]) == []
    assert len(await memory.get(GLOBEX, ["globex/b"])) == 1


async def test_a_moved_chunk_keeps_its_uid_and_changes_its_owner() -> None:
    memory = await opened([chunk(ACME, "a", "one"), chunk(GLOBEX, "b", "one")])
    with pytest.raises(Rejected, match="'acme' has no chunk 'globex/b'"):
        await memory.move("globex/b", ACME, GLOBEX)
    await memory.move("acme/a", ACME, GLOBEX)
    await memory.settle()
    assert await memory.get(ACME, ["acme/a"]) == []
    assert [hit.uid for hit in await memory.get(GLOBEX, ["acme/a"])] == ["acme/a"]
    response = await memory.search(Query("one", GLOBEX, 5, "lexical"))
    assert uids(response) == ["acme/a", "globex/b"]
