"""What is found and in which order: against published figures, brute force and each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import pytrec_eval

from lucene_support import Backend, chunk, query, uids, vector
from retrieverbench.model import Chunk, Mode, Query, TenantId

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "ndcg", "recall"),
    [
        ("claude-docs", 0.6930, 0.9483),
        ("codebase-chunks", 0.5896, 0.9275),
    ],
)
async def test_bm25_is_that_of_the_reference(
    backend: Backend, shared: Path, name: str, ndcg: float, recall: float
) -> None:
    """If it fails, compare analyzer, k1, b and the field layout first."""
    folder = shared / "data" / name
    found = await _lexical_run(backend, folder, {})
    values = _scores(folder, found)
    assert np.mean(values["ndcg_cut_10"]) == pytest.approx(ndcg, abs=0.002)
    assert np.mean(values["recall_100"]) == pytest.approx(recall, abs=0.002)


@pytest.mark.parametrize(
    ("name", "place", "ndcg", "recall"),
    [
        ("codebase-chunks", {"k1": 0.9, "b": 0.4}, 0.6039, 0.9269),
        ("codebase-chunks", {"analyzer": "standard"}, 0.4537, 0.8561),
    ],
)
async def test_text_analysis_and_constants_are_settings(
    backend: Backend, shared: Path, name: str, place: dict[str, object], ndcg: float, recall: float
) -> None:
    folder = shared / "data" / name
    values = _scores(folder, await _lexical_run(backend, folder, place))
    assert np.mean(values["ndcg_cut_10"]) == pytest.approx(ndcg, abs=0.002)
    assert np.mean(values["recall_100"]) == pytest.approx(recall, abs=0.002)


async def _lexical_run(
    backend: Backend, folder: Path, place: Mapping[str, object]
) -> dict[str, dict[str, float]]:
    owner = TenantId("all")
    chunks = [
        Chunk(row["_id"], owner, row["text"], title=row["title"]) for row in _rows(folder, "corpus")
    ]
    judged = _judgements(folder)
    found: dict[str, dict[str, float]] = {}
    lexical = frozenset({"lexical"})
    async with backend.opened(
        modes=lexical, dimension=0, concurrency=8, options={"place": place}
    ) as adapter:
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
    return found


def _scores(folder: Path, found: dict[str, dict[str, float]]) -> dict[str, list[float]]:
    judged = _judgements(folder)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.100"})
    values = evaluator.evaluate(found).values()
    assert len(values) == len(judged)
    return {name: [v[name] for v in values] for name in ("ndcg_cut_10", "recall_100")}


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _judgements(folder: Path) -> dict[str, dict[str, int]]:
    """Those of queries with a relevant chunk."""
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        asked, chunk_id, grade = line.split("\t")
        judged.setdefault(asked, {})[chunk_id] = int(grade)
    return {asked: grades for asked, grades in judged.items() if max(grades.values()) > 0}


async def test_fields_apart_add_or_compare_their_scores(backend: Backend) -> None:
    """Title and text each have a word of the question; alone each scores the same here."""
    owner = TenantId("t")
    chunks = [
        Chunk("both", owner, "policy", title="leave", vector=vector(1)),
        Chunk("text", owner, "policy", title="other", vector=vector(2)),
        Chunk("title", owner, "other", title="leave", vector=vector(3)),
    ]
    scores: dict[str, dict[str, float]] = {}
    for fields in ("summed", "best_fields"):
        options = {"place": {"fields": fields}, "search": {"tie_breaker": 0.25}}
        async with backend.opened(options=options) as adapter:
            await adapter.put(chunks)
            await adapter.settle()
            answer = await adapter.search(query("t", "lexical", want=frozenset({"text"})))
            scores[fields] = {hit.uid: hit.score for hit in answer.hits}
            assert {hit.uid: hit.text for hit in answer.hits}["t/both"] == "leave\npolicy"
    one = scores["summed"]["t/text"]
    assert scores["summed"]["t/title"] == pytest.approx(one)
    assert scores["summed"]["t/both"] == pytest.approx(2 * one)
    assert scores["best_fields"]["t/both"] == pytest.approx(1.25 * one)


async def test_exact_dense_search_is_brute_force(backend: Backend) -> None:
    """What numpy finds, in its order, with (1 + cosine) / 2."""
    chunks = [chunk(f"t{n % 3}", str(n), "x", n) for n in range(300)]
    async with backend.opened(options={"search": {"exact": True}}) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        for seed in range(1000, 1010):
            asked = np.array(vector(seed))
            cosines = {
                c.uid: float(asked @ np.array(c.vector))
                / float(np.linalg.norm(asked) * np.linalg.norm(np.array(c.vector)))
                for c in chunks
                if c.tenant.value == "t1"
            }
            best = sorted(cosines, key=lambda uid: -cosines[uid])[:10]
            answer = await adapter.search(query("t1", "dense", vector=vector(seed)))
            assert [hit.uid for hit in answer.hits] == best
            scores = [hit.score for hit in answer.hits]
            assert scores == pytest.approx([(1 + cosines[uid]) / 2 for uid in best], abs=1e-5)
        assert "approximate" not in (await adapter.describe()).properties


async def test_an_approximate_search_of_a_small_tenant_is_not_cut_afterwards(
    backend: Backend,
) -> None:
    """One chunk of a hundred is the tenant's; a filter after the search would lose them."""
    chunks = [chunk("few" if n % 100 == 7 else "many", str(n), "x", n) for n in range(1000)]
    async with backend.opened() as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        for seed in range(5):
            found = await uids(adapter, query("few", "dense", vector=vector(seed + 5000)))
            assert len(found) == 10


@pytest.mark.parametrize("fusion", ["client", "server"])
async def test_hybrid_is_reciprocal_rank_fusion_of_both_legs(backend: Backend, fusion: str) -> None:
    """Composed here from the two single searches; no two chunks tie in a leg."""
    if (backend.name, fusion) == ("elasticsearch", "server"):
        pytest.skip("needs a paid licence; run it against such a server")
    chunks = [chunk("t", f"{n:02}", "policy " * n + "leave", n) for n in range(40)]
    search = {"rrf_k": 7, "depth": 15, "exact": True, "fusion": fusion}
    async with backend.opened(options={"search": search}) as adapter:
        await adapter.put(chunks)
        await adapter.settle()
        found = await adapter.search(query("t", "hybrid", k=5))
        scores: dict[str, float] = {}
        legs: tuple[Mode, ...] = ("lexical", "dense")
        for leg in legs:
            for rank, uid in enumerate(await uids(adapter, query("t", leg, k=15)), start=1):
                scores[uid] = scores.get(uid, 0) + 1 / (7 + rank)
    best = sorted(scores, key=lambda uid: (-scores[uid], uid))[:5]
    assert [hit.score for hit in found.hits] == pytest.approx([scores[uid] for uid in best])
    assert [scores[hit.uid] for hit in found.hits] == pytest.approx([scores[uid] for uid in best])


async def test_what_is_wanted_is_returned(backend: Backend) -> None:
    """Text and total only when asked for; the tenant label always."""
    titled = Chunk("1", TenantId("a"), "leave policy", title="Title", vector=vector(1))
    async with backend.opened() as adapter:
        await adapter.put([titled, chunk("a", "2", "policy", 2), chunk("b", "3", "policy", 3)])
        await adapter.settle()
        plain = await adapter.search(query("a", "lexical", k=1))
        assert (plain.hits[0].text, plain.hits[0].tenant, plain.total) == (None, "a", None)
        assert plain.server_ms is not None
        assert plain.partial is False
        wanted = frozenset({"text", "total"})
        full = await adapter.search(query("a", "lexical", "policy title", k=1, want=wanted))
        assert (full.hits[0].text, full.total) == ("Title\nleave policy", 2)
        both = await adapter.search(query("a", "hybrid", k=1, want=frozenset({"text"})))
        assert both.hits[0].text == "Title\nleave policy"
