"""What was measured is kept and told, whatever breaks between the measuring and the end."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import retrieverbench.gate
import retrieverbench.report
from bench_support import Bench, Done, entry_of
from retrieverbench.job import assemble, passes

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'

LEAKING = """
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

class Leaking(Memory):
    async def search(self, query):
        return Response([Hit("cedar/leave/annual#1", 1.0)])
"""


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*_arguments: object, **_options: object) -> Any:
        raise error

    return function


@pytest.fixture(params=[False, True], ids=["honest", "leaking"])
def suite(bench: Bench, request: pytest.FixtureRequest) -> tuple[Path, bool]:
    """A suite, and whether its target leaks."""
    (bench.folder / "leaking.py").write_text(LEAKING, encoding="utf-8")
    target = 'adapter = "./leaking.py:Leaking"\nmodes = ["lexical"]' if request.param else MEMORY
    return bench.suite(target), bool(request.param)


def one_line_each(done: Done) -> list[str]:
    """The errors that were told; no traceback is among them."""
    assert "Traceback" not in done.stderr + done.stdout
    return [line for line in done.stderr.splitlines() if line.startswith("error: ")]


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        (assemble, "score_target", "its answers could not be scored: MemoryError: too little"),
        (retrieverbench.gate, "judge", "a defect of retrieverbench: MemoryError: too little"),
        (passes, "measure_closed", "a defect of retrieverbench: MemoryError: too little"),
    ],
)
def test_a_crash_of_ours_is_5_after_a_leak_4_and_the_answers_are_kept(
    bench: Bench,
    suite: tuple[Path, bool],
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    name: str,
    told: str,
) -> None:
    file, leaks = suite
    function = raising(MemoryError("too little"))
    monkeypatch.setattr(module, name, function)
    done = bench.run("--debug", "run", file)
    assert done.returncode == (4 if leaks else 5), done.stdout + done.stderr
    assert told in done.stdout
    assert "was raised here" in done.stderr
    assert f", in {function.__name__}" in done.stderr
    assert len(one_line_each(done)) <= 1
    artifact = bench.artifact()
    assert artifact["verdict"]["exit_code"] == done.returncode
    assert len(artifact["targets"][0]["results"]) == 5
    accepted = bench.run("baseline", "accept", next(bench.folder.glob("results/runs/*/*.json")))
    assert accepted.returncode == 2
    assert one_line_each(accepted)


@pytest.mark.parametrize(
    ("name", "told", "left"),
    [
        ("print_report", "the report cannot be printed: KeyError: 'a mode'", [".json", ".md"]),
        ("render_markdown", ".md: cannot be written: KeyError: 'a mode'", [".json"]),
        ("dump_artifact", ".json: cannot be written: KeyError: 'a mode'", []),
    ],
)
def test_a_defect_of_a_report_unsays_no_verdict(
    bench: Bench,
    suite: tuple[Path, bool],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    told: str,
    left: list[str],
) -> None:
    file, leaks = suite
    monkeypatch.setattr(retrieverbench.report, name, raising(KeyError("a mode")))
    done = bench.run("--debug", "run", file)
    assert done.returncode == (4 if leaks else 5), done.stdout + done.stderr
    assert "KeyError was raised here" in done.stderr
    assert any(told in line for line in one_line_each(done)), done.stderr
    kept = {path.suffix for path in bench.folder.glob("results/runs/*/*")}
    assert kept == set(left)


def test_a_crash_before_anything_is_measured_is_one_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieverbench.job.execute.open_model", raising(KeyError("a model")))
    done = bench.run("run", bench.suite(MEMORY))
    assert done.returncode == 5
    (line,) = one_line_each(done)
    assert "a defect of retrieverbench: KeyError: 'a model' (execute.py:" in line
    assert not (bench.folder / "results").exists()
    debugged = bench.run("--debug", "run", "test.toml")
    assert "Traceback" in debugged.stderr


HOSTILE = """
import asyncio, gc, locale, os, resource, signal, sys
from retrieverbench_adapters.memory import Memory

class Replaces(Memory):
    async def search(self, query):
        sys.stdout = sys.stderr = object()
        locale.setlocale(locale.LC_ALL, "C")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
            resource.setrlimit(kind, (0, resource.getrlimit(kind)[1]))
        return await super().search(query)

class Closes(Memory):
    async def search(self, query):
        sys.__stdout__.close()
        sys.__stderr__.close()
        for number in (0, 1, 2):
            try:
                os.close(number)
            except OSError:
                pass
        return await super().search(query)

class ClosesAll(Memory):
    async def search(self, query):
        os.closerange(3, 256)
        return await super().search(query)

def collect():
    raise KeyError("of mine")

class Patches(Memory):
    async def search(self, query):
        gc.collect = collect
        return await super().search(query)

class Deaf(Memory):
    async def search(self, query):
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        await asyncio.sleep(3600)
"""


def entry(name: str) -> str:
    return entry_of("hostile.py", name)


@pytest.fixture
def hostile(bench: Bench) -> Bench:
    return bench.with_file("hostile.py", HOSTILE)


def test_streams_limits_and_signals_that_adapters_took_are_put_back(hostile: Bench) -> None:
    suite = hostile.suite(entry("Replaces"), entry("Closes"), MEMORY)
    done = hostile.process("run", suite)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS (exit 0)" in done.stdout
    assert "Traceback" not in done.stderr
    assert hostile.artifact()["verdict"]["exit_code"] == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ClosesAll", "the event loop broke: [Errno 9] Bad file descriptor; look for os.close"),
        ("Patches", "the run was ended from inside by KeyError(\"'of mine'\") (hostile.py:"),
    ],
)
def test_what_breaks_the_run_itself_is_one_line_and_what_was_measured_is_kept(
    hostile: Bench, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    monkeypatch.setattr(gc, "collect", gc.collect)  # undone with what the adapter makes of it
    run = hostile.process if name == "ClosesAll" else hostile.run
    done = run("run", hostile.suite(MEMORY, entry(name)))
    assert done.returncode == 3, done.stdout + done.stderr
    (line,) = one_line_each(done)
    assert told in line
    good, bad = hostile.artifact()["targets"]
    assert good["scores"] is not None
    assert told in good["late_failure"]
    assert told in (bad["failure"] or bad["late_failure"])


def test_an_adapter_that_makes_its_process_deaf_ends_at_the_second_signal(hostile: Bench) -> None:
    with hostile.started("run", hostile.suite(entry("Deaf")), until="quality") as process:
        sleep(1)
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            sleep(0.5)
        _out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "did not react to the second request to end, and was killed" in err
