"""What a run found ends it, whatever becomes of its output, its results and its baselines."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from time import sleep

import pytest

from bench_support import COMMAND, Bench
from retrieverbench.cli.ending import SAME_SECONDS

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'

LEAKING = """
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

class Leaking(Memory):
    async def search(self, query):
        return Response([Hit("cedar/leave/annual#1", 1.0)])
"""


def leaking_suite(bench: Bench, more: str = "") -> Path:
    (bench.folder / "leaking.py").write_text(LEAKING, encoding="utf-8")
    return bench.suite('adapter = "./leaking.py:Leaking"\nmodes = ["lexical"]', more=more)


def in_shell(bench: Bench, redirect: str, *arguments: str | Path) -> tuple[int, str]:
    """The exit code of the command itself behind a redirection, and what stderr got."""
    words = " ".join(f"'{word}'" for word in (COMMAND, *arguments))
    done = subprocess.run(
        ["bash", "-c", f"{words} {redirect}; exit ${{PIPESTATUS[0]}}"],
        cwd=bench.folder, capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "redirect",
    ["| true", ">/dev/full", "2>/dev/full", ">&- 2>&-", "2>&1 | true"],
)
def test_no_fault_of_the_output_hides_a_leak(bench: Bench, redirect: str) -> None:
    code, err = in_shell(bench, redirect, "run", leaking_suite(bench), "--no-timing")
    assert code == 4, err
    assert "Traceback" not in err
    assert bench.artifact()["verdict"]["exit_code"] == 4
    if redirect == ">/dev/full":
        assert "standard output cannot be written: No space left on device" in err


@pytest.mark.parametrize(
    ("redirect", "expected"), [(">/dev/full", 5), ("| true", 0), ("2>/dev/full", 0)]
)
def test_a_report_that_nobody_gets_does_not_pass(
    bench: Bench, redirect: str, expected: int
) -> None:
    code, err = in_shell(bench, redirect, "run", bench.suite(MEMORY), "--no-timing")
    assert code == expected, err
    assert ("error: " in err) == (expected == 5)
    if expected == 5:
        assert "standard output cannot be written: No space left on device" in err
        assert "it passed, but a report is missing (" in err
    assert bench.artifact()["verdict"]["exit_code"] == 0


def test_a_disk_that_fills_up_leaves_nothing_half_written(bench: Bench) -> None:
    """A limit on the size of files (8 KiB) stands for the disk."""
    command = f"ulimit -f 8; trap '' XFSZ; '{COMMAND}' run suite.toml --no-timing 2>&1"
    (bench.folder / "tmp").mkdir()
    done = subprocess.run(
        ["bash", "-c", command], env={**os.environ, "TMPDIR": str(bench.folder / "tmp")},
        cwd=bench.folder, capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 5, done.stdout
    assert ".json: cannot be written: File too large" in done.stdout
    assert "error: it passed, but nothing valid was kept: exit 5" in done.stdout
    assert not list(bench.folder.glob("results/runs/*/*"))
    assert not list((bench.folder / "tmp").iterdir())


def test_an_encoding_without_our_letters_hides_no_leak(bench: Bench) -> None:
    done = bench.process("run", leaking_suite(bench), env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 4, done.stderr
    assert "LEAK (exit 4)" in done.stdout
    assert "Traceback" not in done.stderr


REPLACING = """
import pathlib
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

class Replacing(Memory):
    async def search(self, query):
        results = pathlib.Path("results")
        if not results.exists():
            results.write_text("a file, put here during the run")
        return ANSWER
"""
HONEST = "await super().search(query)"
LEAKY = 'Response([Hit("cedar/leave/annual#1", 1.0)])'


@pytest.mark.parametrize(("answer", "code", "word"), [(LEAKY, 4, "LEAK"), (HONEST, 5, "PASS")])
def test_results_that_cannot_be_kept_are_reported_all_the_same(
    bench: Bench, answer: str, code: int, word: str
) -> None:
    (bench.folder / "replacing.py").write_text(REPLACING.replace("ANSWER", answer), "utf-8")
    suite = bench.suite('adapter = "./replacing.py:Replacing"\nmodes = ["lexical"]')
    done = bench.run("run", suite)
    assert done.returncode == code, done.stdout + done.stderr
    assert word in done.stdout
    assert "cannot be written: Not a directory" in done.stderr
    assert ("it passed, but a report is missing" in done.stderr) == (code == 5)
    assert "Traceback" not in done.stderr
    told = next(line for line in done.stderr.splitlines() if "is kept in " in line)
    kept = Path(told.partition("is kept in ")[2].removesuffix(" instead"))
    assert json.loads(kept.read_bytes())["verdict"]["exit_code"] == (4 if code == 4 else 0)
    shutil.rmtree(kept.parent)


def test_a_broken_baseline_is_2_and_hides_no_leak(bench: Bench) -> None:
    honest = bench.suite(MEMORY)
    path = bench.folder / "results/baselines/test/memory-lexical-filter.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    done = bench.run("run", honest)
    assert done.returncode == 2, done.stdout
    assert "memory-lexical-filter.json: not valid JSON" in done.stdout
    path.rename(path.with_name("leaking-lexical-filter.json"))
    done = bench.run("run", leaking_suite(bench))
    assert done.returncode == 4, done.stdout
    assert "also refused" in done.stdout


def test_wrong_input_leaves_no_results_folder(bench: Bench) -> None:
    done = bench.run("run", bench.suite('adapter = "memroy"\nmodes = ["lexical"]'))
    assert done.returncode == 2
    assert not (bench.folder / "results").exists()


NAMED = """
from retrieverbench_adapters.memory import Memory

class Mine(Memory): pass
class _Under(Memory): pass
class Größe(Memory): pass
class NoModes(Memory): capabilities = frozenset({"filter"})
"""


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["Mine", "Mine"], "--adapter own.py:Mine: 'mine' with layout 'filter' is already used"),
        (["_Under"], "--adapter own.py:_Under: '_under' cannot name files"),
        (["Größe"], "--adapter own.py:Größe: 'größe' cannot name files"),
        (["NoModes"], "--adapter own.py:NoModes: no mode among its capabilities (filter)"),
    ],
)
def test_adapters_of_the_command_line_are_checked(
    bench: Bench, words: list[str], fault: str
) -> None:
    (bench.folder / "own.py").write_text(NAMED, encoding="utf-8")
    options = [option for word in words for option in ("--adapter", f"own.py:{word}")]
    done = bench.run("run", "suite.toml", *options)
    assert done.returncode == 2, done.stdout
    assert fault in done.stderr


def test_a_score_of_5_stays_5_when_its_reader_leaves(bench: Bench) -> None:
    (bench.folder / "run.txt").write_text("q1 Q0 d1 1 1.0 x\n", encoding="utf-8")
    (bench.folder / "qrels.txt").write_text("q1 0 d1 0\n", encoding="utf-8")
    assert in_shell(bench, "| true", "score", "run.txt", "qrels.txt")[0] == 5
    assert in_shell(bench, "", "score", "run.txt", "qrels.txt")[0] == 5


@pytest.mark.parametrize("kind", ["long", "dangling", "below a file"])
def test_results_that_can_never_be_are_2_before_the_run(bench: Bench, kind: str) -> None:
    (bench.folder / "dangling").symlink_to("nowhere")
    folder = {"long": "n" * 300, "dangling": "dangling", "below a file": "suite.toml/x"}[kind]
    done = bench.run("run", "suite.toml", "--results", folder)
    assert done.returncode == 2, done.stdout
    assert "results cannot be written here" in done.stderr
    assert "loading" not in done.stderr


def test_results_of_a_name_that_differs_in_case_are_not_mixed(bench: Bench) -> None:
    (bench.folder / "results/baselines/SUITE").mkdir(parents=True)
    done = bench.run("run", "suite.toml")
    assert done.returncode == 2, done.stdout
    assert "results/baselines/SUITE: holds results of a suite whose name differs" in done.stderr


EXITING = """
import sys
from retrieverbench_adapters.memory import Memory

class Exiting(Memory):
    async def search(self, query):
        ERROR
"""


@pytest.mark.parametrize("error", ["sys.exit(0)", "sys.exit(1)", "raise BrokenPipeError(32, 'x')"])
def test_an_adapter_that_ends_the_process_does_not_pass(bench: Bench, error: str) -> None:
    (bench.folder / "exiting.py").write_text(EXITING.replace("ERROR", error), encoding="utf-8")
    done = bench.run("run", bench.suite('adapter = "./exiting.py:Exiting"\nmodes = ["lexical"]'))
    assert done.returncode in {3, 5}, done.stdout + done.stderr


@pytest.mark.parametrize(("redirect", "expected"), [(">/dev/full", 5), ("| true", 0)])
def test_a_list_that_nobody_gets_is_no_traceback(
    bench: Bench, redirect: str, expected: int
) -> None:
    code, err = in_shell(bench, redirect, "adapters", "--json")
    assert code == expected, err
    assert "Traceback" not in err
    assert ("error: the output cannot be written" in err) == (expected == 5)


@pytest.mark.parametrize(("times", "expected"), [(1, 0), (2, 130)])
def test_an_interrupt_while_the_report_is_printed_does_not_unsay_it(
    bench: Bench, times: int, expected: int
) -> None:
    """Nobody reads it until then: it waits for room in the pipe."""
    command: list[str | Path] = [COMMAND, "run", bench.suite(MEMORY), "--no-timing"]
    with subprocess.Popen(
        command, cwd=bench.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        select.select([process.stdout], [], [], 60)
        process.send_signal(signal.SIGINT)
        err = next(line for line in process.stderr if line.startswith("interrupted"))
        assert "nothing is measured any more: the report follows" in err
        if times > 1:
            sleep(2 * SAME_SECONDS)
            process.send_signal(signal.SIGINT)
            assert "interrupted before the report was whole: exit 130" in process.stderr.read()
        out = process.stdout.read()
    assert (process.returncode, "PASS (exit 0)\nwritten: " in out) == (expected, times == 1)
