"""The demo suite as it stands in the repository, and the README's excerpt of its report."""

from __future__ import annotations

import json
from pathlib import Path

from bench_support import Bench

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "benchmarks" / "suites" / "demo.toml"


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
