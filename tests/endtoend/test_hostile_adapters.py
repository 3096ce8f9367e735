"""Adapters that end the process, stop the loop or cancel what is not theirs: never a pass."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path
from time import sleep

import psutil
import pytest

from bench_support import COMMAND, Bench, entry_of

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'

HOSTILE = """
import asyncio, atexit, os, signal, sys
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

def cancel_all():
    for task in asyncio.all_tasks():
        task.cancel()

class CancelsOpening(Memory):
    @classmethod
    async def open(cls, settings):
        cancel_all()
        await asyncio.sleep(0)

class CancelsSearching(Memory):
    async def search(self, query):
        cancel_all()
        await asyncio.sleep(0)

class Stops(Memory):
    async def search(self, query):
        asyncio.get_running_loop().stop()
        return await super().search(query)

class LeaksAndCancels(Memory):
    asked = 0

    async def search(self, query):
        self.asked += 1
        if self.asked > 1:
            cancel_all()
            asyncio.get_running_loop().stop()
        return Response([Hit("cedar/leave/annual#1", 1.0)])

class StopsPastUs(Memory):
    async def search(self, query):
        asyncio.BaseEventLoop.stop(asyncio.get_running_loop())
        return await super().search(query)

class Exits(Memory):
    async def search(self, query):
        if os.fork() == 0:
            signal.pause()
        os._exit(0)

class Dies(Memory):
    async def search(self, query):
        os.kill(os.getpid(), signal.SIGKILL)

class Execs(Memory):
    async def search(self, query):
        os.execv("/bin/true", ["true"])

class AtExit(Memory):
    @classmethod
    async def open(cls, settings):
        atexit.register(os._exit, 0)
        raise KeyError("no verdict but this")

class OpensSlowly(Memory):
    @classmethod
    async def open(cls, settings):
        print("opening", file=sys.stderr, flush=True)
        await asyncio.sleep(3600)

class Slow(Memory):
    async def search(self, query):
        await asyncio.sleep(3600)

class Swallows(Memory):
    async def search(self, query):
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue
"""


def entry(name: str) -> str:
    return entry_of("hostile.py", name)


@pytest.fixture
def hostile(bench: Bench) -> Bench:
    """The example set with `hostile.py` beside it."""
    return bench.with_file("hostile.py", HOSTILE)


def test_what_it_does_to_the_loop_fails_its_own_target_alone(hostile: Bench) -> None:
    names = ["CancelsOpening", "CancelsSearching", "Stops"]
    suite = hostile.suite(*map(entry, names), MEMORY, entry("StopsPastUs"))
    done = hostile.run("run", suite)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("stopped the event loop; the run goes on") == 1
    opening, searching, stops, good, past = hostile.artifact()["targets"]
    assert "open raised CancelledError (hostile.py:" in opening["failure"]
    assert searching["failure"].endswith("search was cancelled by the adapter or its client")
    assert "RuntimeError (hostile.py:" in stops["failure"]
    assert "the event loop is not the adapter's to stop" in stops["failure"]
    for target in (good, past):
        assert {case["status"] for case in target["results"]} == {"ok"}
        assert target["leaks"]["proof"] == "clean"


def test_a_leak_seen_before_it_is_4(hostile: Bench) -> None:
    done = hostile.run("run", hostile.suite(entry("LeaksAndCancels")))
    assert done.returncode == 4, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("job", "name", "told"),
    [
        ("run", "Exits", "ended by itself with code 0"),
        ("run", "Dies", "was killed by SIGKILL"),
        ("leaks", "Execs", "ended by itself with code 0"),
    ],
)
def test_a_process_that_ends_without_a_verdict_is_3_and_one_line(
    hostile: Bench, job: str, name: str, told: str
) -> None:
    with subprocess.Popen(
        [COMMAND, job, hostile.suite(entry(name))], cwd=hostile.folder, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("error: "):
                break
        assert process.wait(timeout=60) == 3, lines
        for left in _in_session(process.pid):
            left.kill()
    assert f"error: the run ended before its verdict: its process {told}" in lines[-1]


def test_a_hook_that_runs_after_the_verdict_does_not_change_it(hostile: Bench) -> None:
    done = hostile.process("run", hostile.suite(entry("AtExit")))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no verdict but this" in done.stdout


def test_ctrl_c_of_a_terminal_is_one_signal_and_the_second_ends_it(hostile: Bench) -> None:
    for times, name, judged in ((1, "Slow", True), (2, "Swallows", False)):
        code, out = _in_terminal(hostile, hostile.suite(entry(name)), times)
        assert code == 130, out
        assert (b"INTERRUPTED (exit 130)" in out) is judged


@pytest.mark.parametrize(("name", "stage"), [("OpensSlowly", "opening"), ("Slow", "quality")])
def test_the_first_thing_interrupted_leaves_an_artifact_too(
    hostile: Bench, name: str, stage: str
) -> None:
    with hostile.started("run", hostile.suite(entry(name)), until=stage) as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "INTERRUPTED (exit 130)" in out
    artifact = hostile.artifact()
    assert artifact["complete"] is False
    assert artifact["targets"][0]["failure"] == "interrupted before it was measured"


def test_the_job_dies_with_its_parent(hostile: Bench) -> None:
    with hostile.started("run", hostile.suite(entry("Slow")), until="quality") as process:
        (job,) = psutil.Process(process.pid).children()
        process.kill()
        job.wait(20)
    assert not job.is_running()


def _in_terminal(bench: Bench, suite: Path, times: int) -> tuple[int, bytes]:
    """Run it in a terminal of its own and press Ctrl-C in its quality pass."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(bench.folder)
        os.execv(COMMAND, [str(COMMAND), "run", str(suite)])
    out = b""
    pressed = 0
    while True:
        try:
            out += os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if pressed == 0 and b"quality" in out:
            for _ in range(times):
                sleep(0.3)
                os.write(terminal, b"\x03")
                pressed += 1
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out


def _in_session(pid: int) -> list[psutil.Process]:
    """What a job has left in the session that it was started in."""
    return [other for other in psutil.process_iter() if _session(other.pid) == pid]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
