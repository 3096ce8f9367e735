"""`score` as a user types it, against trec_eval's own expected output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_support import Bench
from retrieverbench.metrics.conventions import CONVENTIONS


def expected(path: Path) -> dict[str, float]:
    """Measure → value over all topics, of one of trec_eval's output files."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: float(value) for name, topic, value in rows if topic == "all" and name != "runid"}


def test_trec_evals_own_files_give_its_own_numbers(bench: Bench, shared: Path) -> None:
    folder = shared / "conformance" / "trec_eval"
    done = bench.run(
        "score", folder / "results.test", folder / "qrels.test", "--json",
        "--convention", "trec_eval", "--metrics", "AP,MRR,P@5,Recall@100,nDCG@10",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    known = expected(folder / "out.test.a")
    theirs = {
        "AP": "map",
        "MRR": "recip_rank",
        "P@5": "P_5",
        "Recall@100": "recall_100",
        "nDCG@10": "ndcg_cut_10",
    }
    expected_means = {ours: known[name] for ours, name in theirs.items()}
    assert result["mean"] == pytest.approx(expected_means, abs=1e-4)
    assert result["metrics"]["nDCG@10"] == "ndcg_lin@10/trec_eval"
    assert len(result["per_query"]["nDCG@10"]) == 3


def test_names_of_the_issue_are_understood(bench: Bench) -> None:
    (bench.folder / "r").write_text("q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n", encoding="utf-8")
    (bench.folder / "j").write_text("q 0 b 1\n", encoding="utf-8")
    done = bench.run("score", "r", "j", "--metrics", "nDCG@10,Recall@100", "--json")
    assert done.returncode == 0, done.stderr
    mean = json.loads(done.stdout)["mean"]
    assert mean == {"nDCG@10": pytest.approx(0.63092975), "Recall@100": 1.0}


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ("q Q0 a 1\n", "q 0 b 1\n", "r:1:"),
        ("q Q0 a 1 2.0 x\n", "q 0 b one\n", "j:1:"),
        ("q Q0 a 1 nan x\n", "q 0 b 1\n", "r:1:"),
    ],
)
def test_broken_lines_are_named(bench: Bench, run: str, qrels: str, message: str) -> None:
    (bench.folder / "r").write_text(run, encoding="utf-8")
    (bench.folder / "j").write_text(qrels, encoding="utf-8")
    done = bench.run("score", "r", "j")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_swapped_files_are_one_line(bench: Bench) -> None:
    bench.with_file("a run.txt", "q Q0 a 1 2.0 x\n").with_file("qrels.txt", QRELS)
    done = bench.run("score", "qrels.txt", "a run.txt")
    assert (done.returncode, done.stdout) == (2, "")
    told = "name the run first: retrieverbench score 'a run.txt' qrels.txt\n"
    assert done.stderr == (
        f"error: qrels.txt: holds judgements, and a run.txt a run, as their columns tell; {told}"
    )
    twice = bench.run("score", "a run.txt", "a run.txt")
    assert "judgements have the columns" in twice.stderr


def test_unknown_names_are_named_with_the_nearest(bench: Bench) -> None:
    (bench.folder / "r").write_text("q Q0 a 1 2.0 x\n", encoding="utf-8")
    (bench.folder / "j").write_text("q 0 a 1\n", encoding="utf-8")
    metric = bench.run("score", "r", "j", "--metrics", "nDGC@10")
    convention = bench.run("score", "r", "j", "--convention", "trec_evil")
    assert (metric.returncode, convention.returncode) == (2, 2)
    assert "ndcg" in metric.stderr
    assert "trec_eval" in convention.stderr


def write(bench: Bench, run: str, qrels: str) -> None:
    (bench.folder / "r").write_text(run, encoding="utf-8")
    (bench.folder / "j").write_text(qrels, encoding="utf-8")


@pytest.mark.parametrize("metrics", ["", " , ,"])
def test_no_metric_is_2(bench: Bench, metrics: str) -> None:
    write(bench, "q Q0 a 1 2.0 x\n", "q 0 a 1\n")
    done = bench.run("score", "r", "j", "--metrics", metrics)
    assert (done.returncode, done.stdout) == (2, "")
    assert "names no metric; write nDCG@10" in done.stderr


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_convention_has_a_default_or_says_what_it_has(bench: Bench, convention: str) -> None:
    write(bench, "1 Q0 a 1 2.0 x\n", "1 0 a 1\n")
    done = bench.run("score", "r", "j", "--convention", convention)
    assert done.returncode == 0, done.stderr
    assert "all" in done.stdout


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_no_mean_at_all_is_5_and_says_why(bench: Bench, more: list[str]) -> None:
    write(bench, "q1 Q0 a 1 2.0 x\n", "1 0 a 1\n2 0 b 0\n")
    done = bench.run("score", "r", "j", *more)
    assert done.returncode == 5
    assert done.stderr == (
        "error: nothing valid was measured: no judged query has a value "
        "(1 missing, 1 no_relevant); check that both files name the same queries\n"
    )
    assert "n/a" in done.stdout or json.loads(done.stdout)["mean"]["MRR"] is None


QRELS = "p 0 a 1\nq 0 a 1\nr 0 a 0\ns 0 a 1\ns 0 a 1\n"


@pytest.mark.parametrize(
    ("convention", "mean", "told"),
    [
        ("house", "0.3333", "2 counted as 0, 1 left out of the means"),
        ("trec_eval", "0.2500", "3 counted as 0"),
        ("pytrec_eval", "1.0000", "3 left out of the means"),
    ],
)
def test_what_is_in_one_file_only_is_told(
    bench: Bench, convention: str, mean: str, told: str
) -> None:
    write(bench, "p Q0 a 1 2.0 x\nu Q0 a 1 2.0 x\nv Q0 a 1 2.0 x\n", QRELS)
    done = bench.run("score", "r", "j", "--metrics", "MRR", "--convention", convention)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == mean
    repeated, missing, unknown = done.stderr.splitlines()
    assert repeated.startswith("warning: j:5: document: 'a' of query 's' is already judged")
    assert missing == f"r: 3 queries of 4 judged ones missing from the run; {told}"
    assert unknown == "j: 2 queries of the run not judged; ignored"


def test_help_says_which_trec_eval(bench: Bench) -> None:
    assert "version 10 called with -c" in " ".join(bench.run("score", "--help").stdout.split())


@pytest.mark.parametrize(
    ("convention", "note"),
    [
        ("trec_eval", "nDCG@10 of trec_eval has linear gain; it is shown as ndcg_lin@10"),
        ("ranx", "nDCG@10 is exponential gain here; what ranx calls nDCG is nDCG_lin@10"),
    ],
)
def test_namesakes_of_the_houses_ndcg_are_told(bench: Bench, convention: str, note: str) -> None:
    (bench.folder / "run.txt").write_text("1 Q0 a 1 2.0 x\n")
    (bench.folder / "qrels.txt").write_text("1 0 a 2\n")
    names = "nDCG@10,nDCG_lin@10"
    done = bench.run(
        "score", "run.txt", "qrels.txt", "--convention", convention, "--metrics", names
    )
    assert done.returncode == 0, done.stderr
    assert note in done.stderr
    assert len(done.stdout.splitlines()) == len(set(done.stdout.splitlines()))


def test_a_grade_of_which_no_gain_can_be_computed_is_refused(bench: Bench) -> None:
    (bench.folder / "run.txt").write_text("1 Q0 a 1 2.0 x\n")
    (bench.folder / "qrels.txt").write_text("1 0 a 1100\n")
    done = bench.run("score", "run.txt", "qrels.txt")
    assert done.returncode == 2
    assert "qrels.txt:1: grade: '1100' is not between -100 and 100" in done.stderr
