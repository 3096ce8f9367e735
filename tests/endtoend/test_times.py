"""No time is printed that means nothing, and none without what it is worth."""

from __future__ import annotations

from pathlib import Path

from bench_support import Bench

MUTANTS = Path(__file__).parent / "mutants"


def row(text: str, target: str) -> list[str]:
    """The cells of a target's row in the Markdown report's table of times."""
    _, _, times = text.partition("## Service time")
    line = next(line for line in times.splitlines() if line.startswith(f"| {target}"))
    return [cell.strip().replace("\\", "") for cell in line.strip("| ").split("|")]


def test_fast_other_answers_are_no_times_and_few_samples_have_no_p99(bench: Bench) -> None:
    (bench.folder / "hurried.py").write_bytes((MUTANTS / "hurried.py").read_bytes())
    suite = bench.suite(
        'adapter = "memory"\nmodes = ["dense", "lexical"]',
        'adapter = "./hurried.py:Hurried"\nmodes = ["lexical"]',
    )
    text = suite.read_text(encoding="utf-8").replace("rounds = 1", "rounds = 2")
    suite.write_text(text, encoding="utf-8")
    done = bench.run("run", suite)
    assert done.returncode == 3, done.stdout + done.stderr
    assert (
        "hurried/lexical/filter: times are void: timed answers are not those of the quality pass"
        in done.stdout
    )
    (report,) = bench.folder.glob("results/runs/test/*.md")
    markdown = report.read_text(encoding="utf-8")
    wrong = row(markdown, "hurried/lexical")
    assert wrong[2:7] == ["-"] * 5
    assert wrong[-1].startswith("invalid: timed answers are not those of the quality pass")
    right = row(markdown, "memory/lexical")
    assert right[3:5] == ["n/a (n=40 &lt; 72)", "n/a (n=40 &lt; 368)"]
    assert right[9] == "100 %"
    noise = bench.artifact()["noise"]
    assert (noise["target"], noise["rounds"]) == ("memory/dense/filter", 2)
    assert "Noise floor: memory/dense/filter was timed twice" in markdown
    assert [t["target"]["name"] for t in bench.artifact()["targets"]] == [
        "memory",
        "memory",
        "hurried",
    ]
