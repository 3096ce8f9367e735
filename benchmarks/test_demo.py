"""What the command takes: its help, its start, and the main job of the demo suite.

    python -m pytest benchmarks/test_demo.py --benchmark-only -s

CPU seconds are of the process and of all that it started. The demo's engines must be there
(`retrieverbench engines`; `retrieverbench engine fetch elasticsearch` once). The first demo
run makes every vector anew, the second finds them in its cache.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

COMMAND = str(Path(sys.executable).with_name("retrieverbench"))
SUITE = Path(__file__).parent / "suites" / "demo.toml"
FRESH = 9
STEPS = {  # the first line of each part of the job, as the plain progress writes it
    "pgvector: starting": "command, golden set, clients, embedder",
    "embedding (": "engines, all at once",
    "memory: loading": "vectors",
    "memory/dense/filter: quality": "loading",
    "timed pass (": "quality pass",
    "memory/dense/filter: canaries": "timed pass",
}
LAST = "leak probes, closing, scores, report"

FIRST_REQUEST = """
import sys, time
from retrieverbench_adapters.memory import Memory

class First(Memory):
    told = False

    async def search(self, query):
        if not First.told:
            First.told = True
            print("first request", time.process_time(), file=sys.stderr)
        return await super().search(query)
"""


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(*command: str) -> float:
    before = children_cpu()
    subprocess.run(command, check=True, capture_output=True)
    return children_cpu() - before


def show(name: str, values: list[float], extra: dict[str, Any]) -> None:
    extra[name] = {"median": statistics.median(values), "smallest": min(values)}
    load = os.getloadavg()[0]
    print(
        f"\n{name}: median {statistics.median(values):.3f}, smallest {min(values):.3f} CPU s "
        f"of {len(values)} fresh processes (load average {load:.1f})"
    )


def test_help(benchmark: Any) -> None:
    values: list[float] = []
    benchmark.pedantic(lambda: values.append(cpu_of(COMMAND, "--help")), rounds=FRESH)
    show("retrieverbench --help", values, benchmark.extra_info)
    show("python -c pass", [cpu_of(sys.executable, "-c", "pass") for _ in range(FRESH)], {})


def test_start_to_first_request(benchmark: Any, tmp_path: Path) -> None:
    """The example suite of `retrieverbench init`: one target, lexical mode, in process."""
    subprocess.run([COMMAND, "init", tmp_path], check=True, capture_output=True)
    (tmp_path / "first.py").write_text(FIRST_REQUEST, encoding="utf-8")
    suite = tmp_path / "suite.toml"
    text = suite.read_text(encoding="utf-8")
    suite.write_text(text.replace('"memory"', '"./first.py:First"', 1), encoding="utf-8")
    values: list[float] = []

    def once() -> None:
        done = subprocess.run([COMMAND, "run", suite], check=False, capture_output=True, text=True)
        (line,) = [row for row in done.stderr.splitlines() if row.startswith("first request")]
        values.append(float(line.split()[-1]))

    benchmark.pedantic(once, rounds=FRESH)
    show("start to the first request", values, benchmark.extra_info)


def run_demo(suite: Path, results: Path) -> dict[str, float]:
    """Wall seconds by part, in all, and CPU seconds of all processes."""
    before = children_cpu()
    start = last = time.perf_counter()
    spent: dict[str, float] = {}
    pending = dict(STEPS)
    with subprocess.Popen(
        [COMMAND, "run", suite, "--results", results, "--plain"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            mark = next((mark for mark in pending if line.startswith(mark)), None)
            if mark is not None:
                now = time.perf_counter()
                spent[pending.pop(mark)], last = now - last, now
    end = time.perf_counter()
    assert process.returncode == 0
    assert not pending
    spent |= {LAST: end - last, "in all": end - start, "CPU": children_cpu() - before}
    return spent


@pytest.mark.timeout(900)
def test_demo(benchmark: Any, tmp_path: Path) -> None:
    text = SUITE.read_text(encoding="utf-8").replace('"../', f'"{SUITE.parents[1]}/')
    text = text.replace('kind = "minilm"', f'kind = "minilm"\ncache = "{tmp_path / "vectors"}"')
    suite = tmp_path / "demo.toml"
    suite.write_text(text, encoding="utf-8")
    runs: list[dict[str, float]] = []
    benchmark.pedantic(lambda: runs.append(run_demo(suite, tmp_path / "results")), rounds=2)
    print(f"\nload average {os.getloadavg()[0]:.1f}\n")
    print("| seconds | vectors made | vectors from the cache |\n|---|---|---|")
    for part in runs[0]:
        print(f"| {part} | {runs[0][part]:.1f} | {runs[1][part]:.1f} |")
    benchmark.extra_info["runs"] = runs
