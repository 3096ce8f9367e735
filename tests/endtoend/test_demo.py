"""The demo suite as it stands in the repository, and the README's excerpt of its report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench_support import Bench
from engine_support import need_engine
from shared_engines import Keeper

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


def test_the_opensearch_suite_agrees_with_the_reference(bench: Bench, keeper: Keeper) -> None:
    """By exact vectors; words, layouts and ways of fusing are compared under the contract.

    The suite is that of the repository but for its node, which is the one that tests share.
    """
    need_engine("opensearch")
    endpoint = f'endpoint = "{keeper.started("opensearch", {}).endpoint}"'
    text = OPENSEARCH.read_text(encoding="utf-8").replace('"../', f'"{OPENSEARCH.parents[1]}/')
    text, nodes = re.subn('engine = "embedded"\nengine_options = .*', endpoint, text)
    assert nodes == 4
    suite = bench.folder / OPENSEARCH.name
    suite.write_text(text, encoding="utf-8")
    targets = ("--target", "memory", "--target", "opensearch-exact")
    done = bench.run("run", suite, *targets, "--no-timing", "--results", bench.folder / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {
        t["target"]["name"]: t["scores"]["means"]["ndcg@10"]["value"]
        for t in bench.artifact()["targets"]
        if t["target"]["mode"] == "dense"
    }
    # Ties at the end of a list may fall otherwise.
    assert found["opensearch-exact"] == pytest.approx(found["memory"], abs=0.002)
