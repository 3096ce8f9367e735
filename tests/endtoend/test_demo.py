"""The demo suite as it stands in the repository, and the README's excerpt of its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_support import Bench
from engine_support import need_engine

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "benchmarks" / "suites" / "demo.toml"
OPENSEARCH = DEMO.with_name("opensearch.toml")


def test_demo_runs_and_the_readme_shows_its_figures(bench: Bench) -> None:
    """Lexical figures are the same on every machine; other rows of the excerpt are not."""
    done = bench.run("run", DEMO, "--target", "memory", "--results", bench.folder / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = _row((ROOT / "README.md").read_text(encoding="utf-8"))
    assert _row(done.stdout)[1:4] == shown[1:4]
    artifact = bench.artifact()
    assert artifact["complete"] is True
    assert artifact["golden"]["cases"] == 115
    assert {t["leaks"]["proof"] for t in artifact["targets"]} == {"clean"}
    assert json.dumps(artifact, allow_nan=False)
    means = [t["scores"]["means"]["ndcg@10"]["value"] for t in artifact["targets"]]
    assert min(means) < 0.9, "the set is saturated: it tells no retriever from another"


def _row(text: str) -> list[str]:
    """Target, fidelity, nDCG@10 and Recall@10 of memory's lexical row in the quality table."""
    lines = [line.split() for line in text.splitlines()]
    del lines[: lines.index(["Quality"])]
    return next(words for words in lines if words[:1] == ["memory/lexical/filter"])


def test_the_opensearch_suite_runs_and_agrees_with_the_reference(bench: Bench) -> None:
    """By words and by exact vectors, in three layouts and two ways of fusing."""
    need_engine("opensearch")
    options = ("--no-timing", "--require", "opensearch", "--results", bench.folder / "results")
    done = bench.run("run", OPENSEARCH, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    targets = bench.artifact()["targets"]
    assert {t["leaks"]["proof"] for t in targets} == {"clean"}
    found = {
        (t["target"]["name"], t["target"]["mode"]): t["scores"]["means"]["ndcg@10"]["value"]
        for t in targets
    }
    assert len(found) == 9
    # Ties at the end of a list may fall otherwise, and statistics per tenant are others.
    assert found["opensearch", "lexical"] == pytest.approx(found["memory", "lexical"], abs=0.002)
    assert found["opensearch-exact", "dense"] == pytest.approx(found["memory", "dense"], abs=0.002)
