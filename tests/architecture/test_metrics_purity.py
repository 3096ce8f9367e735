"""The metrics room gives the same numbers with the world shut off, and knows no library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import retrieverbench.metrics

ROOM = Path(retrieverbench.metrics.__file__).parent
FILES = sorted(ROOM.glob("*.py"))
ALLOWED = ("retrieverbench.metrics", "retrieverbench.model", "retrieverbench.errors")
FORBIDDEN = {"os", "sys", "io", "time", "datetime", "random", "secrets", "logging", "socket"}
HARMLESS = {"sys.maxsize"}

SHUT_OFF = """
import builtins, os, random, socket, sys, time
from retrieverbench.metrics import score_run, score_trec
from retrieverbench.model import CaseResult, GoldenCase, GoldenSet, Run, Target, TenantId

acme = TenantId("acme")
case = GoldenCase("c", "?", acme, relevant=("a",), grades={"a": 3, "b": 1})
golden = GoldenSet("s", 1, "", (case,))
hits = (("acme/b", 2.0), ("acme/a", 2.0))
run = Run(Target("m", "memory", "dense"), 5, (CaseResult("c", "ok", hits),), "engine")
written = sys.stdout.write

def stop(*args, **kwargs):
    raise AssertionError("the metrics room reached outside")

class Closed:
    def __getattr__(self, name):
        stop()
    __getitem__ = get = stop

for module, names in (
    (builtins, ("open", "print", "input")),
    (socket, ("socket", "create_connection")),
    (time, ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "sleep")),
    (random, ("random", "randint", "choice", "shuffle", "Random", "SystemRandom")),
    (os, ("open", "urandom", "getenv", "listdir", "stat")),
):
    for name in names:
        setattr(module, name, stop)
os.environ = Closed()
names = ["ndcg@5", "recall@5", "mrr", "ap", "rprec", "hit@1"]
scores = score_run(run, golden, names)
plain = score_trec({"c": list(hits)}, {"c": {"acme/a": 3, "acme/b": 1}}, names)
written(repr((scores, plain)))
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_only_the_standard_library_and_the_nouns_are_imported(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top == "retrieverbench":
                assert name.startswith(ALLOWED), name
            else:
                assert top in sys.stdlib_module_names, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_reaches_outside_waits_or_keeps_state(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global), node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used = f"{node.value.id}.{node.attr}"
            assert node.value.id not in FORBIDDEN or used in HARMLESS, used
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input", "eval", "exec", "__import__"}


def outside(*environment: str) -> str:
    """What the room answers in a process where files, sockets, clocks and chance raise."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHUT_OFF],
        env=dict(pair.split("=") for pair in environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_world_shut_off_changes_no_byte() -> None:
    first = outside("PYTHONHASHSEED=1")
    assert "ndcg@5" in first
    assert first == outside("PYTHONHASHSEED=2", "TZ=Asia/Tokyo")
