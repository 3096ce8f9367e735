"""Scoring 10,000 queries x 100 results beside ranx, pytrec_eval and ir_measures.

    python -m pytest benchmarks/test_scoring.py --benchmark-only -s

All systems must agree on the values first. In memory, rounds of all systems alternate in
one process, so that noise of the machine meets all of them; times are CPU seconds. ranx is
given its objects ready-made and compiled; we look at every list for repeated ids, order and
ties, which the others do not; we are given pairs of id and score, and once more the same lists
as a column of ids and one of scores. From files, each system reads and scores in a process of
its own, which also tells its peak memory; so does scoring ten times as many lists from memory.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval

from retrieverbench.metrics import score_trec
from retrieverbench.model import Listing

QUERIES, RESULTS, JUDGED, ROUNDS = 10_000, 100, 10, 9
NAMES = ("ndcg_lin@10", "recall@100", "mrr", "precision@5")
OURS, COLUMNS = "retrieverbench", "retrieverbench, from columns"

Run = dict[str, list[tuple[str, float]]]
Qrels = dict[str, dict[str, int]]
Means = dict[str, float]


def workload(seed: int = 1) -> tuple[Run, Qrels]:
    """Six judged chunks in each list and four outside it, grades 0 to 3, no ties."""
    chance = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for query in range(QUERIES):
        numbers = chance.sample(range(100_000), RESULTS + JUDGED)
        names = [f"d{number}" for number in numbers]
        returned = names[:RESULTS]
        run[f"q{query}"] = [(name, 100.0 - rank) for rank, name in enumerate(returned)]
        judged = chance.sample(returned, 6) + names[RESULTS : RESULTS + JUDGED - 6]
        qrels[f"q{query}"] = {name: chance.randint(0, 3) for name in judged}
        qrels[f"q{query}"][judged[0]] = 1  # a query without a relevant chunk is another matter
    return run, qrels


def contenders(run: Run, qrels: Qrels) -> dict[str, Callable[[], Means]]:
    """What is timed of each system; everything that it wants made before is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, about its own casts
        import ranx

    by_query = {query: dict(hits) for query, hits in run.items()}
    columns = {q: (list(hits), list(hits.values())) for q, hits in by_query.items()}
    ranx_qrels, ranx_run = ranx.Qrels(qrels), ranx.Run(by_query)
    ranx_names = ["ndcg@10", "recall@100", "mrr", "precision@5"]
    trec_names = {"ndcg_cut.10", "recall.100", "recip_rank", "P.5"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, trec_names)
    measures = [ir_measures.nDCG @ 10, ir_measures.R @ 100, ir_measures.RR, ir_measures.P @ 5]

    def ours() -> Means:
        return {k: v for k, v in score_trec(run, qrels, NAMES)["mean"].items() if v is not None}

    def from_columns() -> Means:
        listings = {query: Listing(*lists) for query, lists in columns.items()}
        means = score_trec(listings, qrels, NAMES)["mean"]
        return {k: v for k, v in means.items() if v is not None}

    def by_ranx() -> Means:
        means: dict[str, Any] = ranx.evaluate(ranx_qrels, ranx_run, ranx_names)
        return dict(zip(NAMES, (float(means[name]) for name in ranx_names), strict=True))

    def by_pytrec_eval() -> Means:
        rows = evaluator.evaluate(by_query).values()
        keys = ("ndcg_cut_10", "recall_100", "recip_rank", "P_5")
        means = (statistics.fmean(row[key] for row in rows) for key in keys)
        return dict(zip(NAMES, means, strict=True))

    def by_ir_measures() -> Means:
        means = ir_measures.calc_aggregate(measures, qrels, by_query)
        return dict(zip(NAMES, (means[measure] for measure in measures), strict=True))

    return {
        OURS: ours,
        COLUMNS: from_columns,
        "ranx (evaluate only)": by_ranx,
        "pytrec_eval": by_pytrec_eval,
        "ir_measures": by_ir_measures,
    }


@pytest.mark.timeout(900)
def test_scoring_from_memory(benchmark: Any) -> None:
    run, qrels = workload()
    systems = contenders(run, qrels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = {name: score() for name, score in systems.items()}  # also compiles ranx
    for name, means in answers.items():
        for metric in NAMES:
            assert abs(means[metric] - answers[OURS][metric]) < 1e-9, (name, metric)
    seconds: dict[str, list[float]] = {name: [] for name in systems}

    def one_round() -> None:
        for name, score in systems.items():
            start = time.process_time()
            score()
            seconds[name].append(time.process_time() - start)

    benchmark.pedantic(one_round, rounds=ROUNDS, iterations=1)
    ours = statistics.median(seconds[OURS])
    print("\n\n| system | CPU s, median | smallest | pairs / this | columns / this |")
    print("|---|---|---|---|---|")
    for name, times in seconds.items():
        ratios = [
            statistics.median(a / b for a, b in zip(seconds[of], times, strict=True))
            for of in (OURS, COLUMNS)
        ]
        shown = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {statistics.median(times):.3f} | {min(times):.3f} | {shown} |")
        benchmark.extra_info[name] = ratios
    assert ours > 0.0


FROM_FILES = {
    OURS: """
from pathlib import Path
from retrieverbench.golden.runs import read_run
from retrieverbench.golden.trec import read_qrels
from retrieverbench.metrics import score_trec
run, qrels = read_run(Path(sys.argv[1])).lists, read_qrels(Path(sys.argv[2])).grades
mean = score_trec(run, qrels, ["ndcg_lin@10", "recall@100", "mrr", "precision@5"])["mean"]
mean = list(mean.values())
""",
    "pytrec_eval": """
import statistics
import pytrec_eval
with open(sys.argv[2]) as file:
    qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[1]) as file:
    run = pytrec_eval.parse_run(file)
names = {"ndcg_cut.10", "recall.100", "recip_rank", "P.5"}
rows = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values()
keys = ("ndcg_cut_10", "recall_100", "recip_rank", "P_5")
mean = [statistics.fmean(row[key] for row in rows) for key in keys]
""",
}
CHILD = """
import json, sys, time
{body}
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([time.process_time(), int(status["VmHWM"].split()[0]) / 1024, mean]))
"""


def test_scoring_from_files(benchmark: Any, tmp_path: Path) -> None:
    run, qrels = workload()
    run_file, qrels_file = tmp_path / "run.trec", tmp_path / "qrels.trec"
    with run_file.open("w", encoding="utf-8") as file:
        for query, hits in run.items():
            for rank, (name, score) in enumerate(hits, 1):
                file.write(f"{query} Q0 {name} {rank} {score} tag\n")
    with qrels_file.open("w", encoding="utf-8") as file:
        for query, grades in qrels.items():
            file.writelines(f"{query} 0 {name} {grade}\n" for name, grade in grades.items())
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in FROM_FILES}
    means: dict[str, list[float]] = {}

    def one_round() -> None:
        for name, body in FROM_FILES.items():
            command = [sys.executable, "-c", CHILD.format(body=body)]
            command += [str(run_file), str(qrels_file)]
            out = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            cpu, peak, means[name] = json.loads(out)
            figures[name].append((cpu, peak))

    benchmark.pedantic(one_round, rounds=5, iterations=1)
    for ours, theirs in zip(*means.values(), strict=True):
        assert abs(ours - theirs) < 1e-9
    print("\n\n| system | CPU s of the process, median | peak MiB, median |")
    print("|---|---|---|")
    for name, rows in figures.items():
        cpu, peak = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"| {name} | {cpu:.2f} | {peak:.0f} |")
        benchmark.extra_info[name] = [cpu, peak]


FROM_MEMORY = {
    OURS: """
from retrieverbench.metrics import score_trec
run = {query: list(hits) for query, hits in lists()}
held = peak()
scores = score_trec(run, qrels, ["ndcg_lin@10", "recall@100", "mrr", "precision@5"])
""",
    COLUMNS: """
from retrieverbench.metrics import score_trec
from retrieverbench.model import Listing
run = {query: Listing(*map(list, zip(*hits))) for query, hits in lists()}
held = peak()
scores = score_trec(run, qrels, ["ndcg_lin@10", "recall@100", "mrr", "precision@5"])
""",
    "pytrec_eval": """
import pytrec_eval
run = {query: dict(hits) for query, hits in lists()}
held = peak()
names = {"ndcg_cut.10", "recall.100", "recip_rank", "P.5"}
scores = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
""",
}
MANY = f"""
import json
def peak():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status["VmHWM"].split()[0]) / 1024
queries, results = {10 * QUERIES}, {RESULTS}
def lists():
    for query in range(queries):
        start = query * 7
        hits = [(f"d{{start + rank}}", 100.0 - rank) for rank in range(results)]
        yield f"q{{query}}", hits
qrels = {{f"q{{q}}": {{f"d{{q * 7 + 3 * n}}": n % 4 for n in range(10)}} for q in range(queries)}}
"""


@pytest.mark.timeout(900)
def test_memory_of_scoring_many_lists(benchmark: Any) -> None:
    peaks: dict[str, list[float]] = {}

    def one_round() -> None:
        for name, body in FROM_MEMORY.items():
            program = MANY + body + "print(json.dumps([held, peak()]))"
            command = [sys.executable, "-c", program]
            out = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            peaks[name] = json.loads(out)

    benchmark.pedantic(one_round, rounds=1, iterations=1)
    print("\n\n| system | MiB before scoring, judgements and lists | peak MiB | of pytrec_eval |")
    print("|---|---|---|---|")
    for name, (held, peak) in peaks.items():
        print(f"| {name} | {held:.0f} | {peak:.0f} | {peak / peaks['pytrec_eval'][1]:.2f} |")
    benchmark.extra_info.update(peaks)


IMPORTS = {OURS: "import retrieverbench.metrics", "ir_measures": "import ir_measures"}
TIMED = "import time\nbegin = time.process_time()\n{}\nprint(time.process_time() - begin)"


def test_importing(benchmark: Any) -> None:
    """CPU seconds in fresh processes in turns, without the start of Python.

    The first round is not counted: it may compile.
    """
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    writing = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def one_round() -> None:
        for name, line in IMPORTS.items():
            command = [sys.executable, "-c", TIMED.format(line)]
            run = subprocess.run(command, capture_output=True, check=True, text=True, env=writing)
            seconds[name].append(float(run.stdout))

    benchmark.pedantic(one_round, rounds=ROUNDS, iterations=1)
    ours, theirs = seconds.values()
    ratio = statistics.median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True))
    medians = {name: round(statistics.median(times[1:]), 3) for name, times in seconds.items()}
    print(f"\n\nimport, CPU s, medians: {medians}; ratio {ratio:.2f}")
    benchmark.extra_info["ratio"] = ratio


STARTS = {
    OURS: """
from retrieverbench.metrics import score_trec
mean = score_trec({"q": [("a", 2.0), ("b", 1.0)]}, {"q": {"b": 1}}, ["ndcg_lin@10"])["mean"]
first = mean["ndcg_lin@10"]
""",
    "ranx": """
import ranx
first = ranx.evaluate(ranx.Qrels({"q": {"b": 1}}), ranx.Run({"q": {"a": 2.0, "b": 1.0}}), "ndcg@10")
""",
}


@pytest.mark.timeout(900)
def test_first_number(benchmark: Any, tmp_path: Path) -> None:
    """CPU seconds from the start of a process to the first number of one query.

    The first round is not counted: it fills the cache of numba, which ranx is given warm.
    """
    seconds: dict[str, list[float]] = {name: [] for name in STARTS}
    cache = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    cache["NUMBA_CACHE_DIR"] = str(tmp_path)
    numbers: dict[str, float] = {}

    def one_round() -> None:
        for name, body in STARTS.items():
            program = body + "import time; print(time.process_time(), float(first))"
            command = [sys.executable, "-W", "ignore", "-c", program]
            run = subprocess.run(command, capture_output=True, check=True, text=True, env=cache)
            cpu, numbers[name] = map(float, run.stdout.split())
            seconds[name].append(cpu)

    benchmark.pedantic(one_round, rounds=4, iterations=1)
    ours, theirs = seconds.values()
    assert abs(numbers[OURS] - numbers["ranx"]) < 1e-9
    ratio = statistics.median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True))
    medians = {name: round(statistics.median(times[1:]), 3) for name, times in seconds.items()}
    print(f"\n\nfirst number, CPU s, medians: {medians}; ratio {ratio:.3f}")
    benchmark.extra_info["ratio"] = ratio
