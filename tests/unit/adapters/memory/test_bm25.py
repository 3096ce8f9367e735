"""Scores against Lucene's formula by hand and against published figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

from memory_support import ACME, GLOBEX, ask, chunk, opened, uids
from retrieverbench.model import Chunk, Layout

pytestmark = pytest.mark.anyio


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
