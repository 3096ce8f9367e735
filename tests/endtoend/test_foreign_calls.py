"""Adapters that swallow cancellation, block the loop or leave threads: every run ends."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from time import sleep

import pytest

from bench_support import COMMAND, Bench, entry_of

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'

FAULTY = """
import asyncio, hashlib, sys, threading, time
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

async def swallow():
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            continue

async def exit_now():
    sys.exit(0)

class OpenSwallows(Memory):
    @classmethod
    async def open(cls, settings):
        await swallow()

class PutSwallows(Memory):
    async def put(self, chunks):
        await swallow()

class SearchSwallows(Memory):
    async def search(self, query):
        await swallow()

class Late(Memory):
    calls = 0

    async def search(self, query):
        self.calls += 1
        if self.calls > 5:  # the quality pass is over
            await swallow()
        return await super().search(query)

class Leaky(Memory):
    calls = 0

    async def search(self, query):
        self.calls += 1
        if self.calls > 1:
            await swallow()
        return Response([Hit("cedar/leave/annual#1", 1.0)])

class Blocking(Memory):
    async def search(self, query):
        time.sleep(3600)

class InC(Memory):
    async def search(self, query):
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2**31 - 1)

class Careless(Memory):
    @classmethod
    async def open(cls, settings):
        threading.Thread(target=time.sleep, args=(3600,), name="forgotten").start()
        cls.forgotten = asyncio.to_thread(time.sleep, 3600)
        cls.task = asyncio.create_task(cls.forgotten)
        cls.exiting = asyncio.create_task(exit_now())
        return await super().open(settings)
"""


def entry(name: str) -> str:
    return entry_of("faulty.py", name)


@pytest.fixture
def faulty(bench: Bench) -> Bench:
    """The example set with `faulty.py` beside it."""
    return bench.with_file("faulty.py", FAULTY)


def suite(bench: Bench, *targets: str, timeout: float = 0.1) -> Path:
    path = bench.suite(*targets, head="concurrency = 1")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("timeout = 20.0", f"timeout = {timeout}"), encoding="utf-8")
    return path


def interrupt(bench: Bench, path: Path, times: int, after: str) -> tuple[int, str, str]:
    """Send so many SIGINT from the line on that begins so; exit code, output, messages."""
    process = subprocess.Popen(
        [COMMAND, "run", path], cwd=bench.folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith(after):
                break
        for _ in range(times):
            sleep(0.5)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, err


def test_calls_that_swallow_cancellation_fail_their_targets_and_no_other(faulty: Bench) -> None:
    names = ["OpenSwallows", "PutSwallows", "SearchSwallows", "Leaky", "Late"]
    done = faulty.process("run", suite(faulty, *map(entry, names), MEMORY), timeout=120)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4); also not measured" in done.stdout
    assert "Traceback" not in done.stderr
    *failed, late, good = faulty.artifact()["targets"]
    for target, word in zip(failed, ["open", "put", "search", "search"], strict=True):
        assert f"{word} did not end within" in target["failure"]
        assert "does not react to cancellation" in target["failure"]
    assert [finding["uid"] for finding in failed[-1]["leaks"]["findings"]]
    assert late["scores"] is not None
    assert late["timings"] is None
    assert "does not react to cancellation" in late["late_failure"]
    assert late["leaks"]["proof"] != "clean"
    assert good["scores"] is not None
    assert good["timings"] is not None


def test_what_a_client_leaves_in_the_background_keeps_nothing(faulty: Bench) -> None:
    done = faulty.process("run", suite(faulty, entry("Careless"), timeout=20.0), timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS (exit 0)" in done.stdout
    assert "code in the background raised SystemExit; the run goes on" in done.stderr
    assert "ended without waiting for what did not end: forgotten" in done.stderr


def test_one_interrupt_reaches_a_call_that_swallows_cancellation(faulty: Bench) -> None:
    path = suite(faulty, MEMORY, entry("SearchSwallows"), timeout=60.0)
    code, out, err = interrupt(faulty, path, 1, "searchswallows/lexical/filter: quality")
    assert code == 130, out + err
    assert "INTERRUPTED (exit 130)" in out
    first, second = faulty.artifact()["targets"]
    assert first["scores"] is not None
    assert second["failure"] == "interrupted before it was measured"


def test_one_interrupt_breaks_off_a_call_that_blocks_the_loop(faulty: Bench) -> None:
    path = suite(faulty, MEMORY, entry("Blocking"), timeout=60.0)
    code, out, err = interrupt(faulty, path, 1, "blocking/lexical/filter: quality")
    assert code == 130, out + err
    assert "in search blocks the event loop; once more to end at once" in err
    assert faulty.artifact()["targets"][0]["scores"] is not None


def test_the_second_interrupt_ends_the_process_though_c_code_blocks_it(faulty: Bench) -> None:
    path = suite(faulty, entry("InC"), timeout=60.0)
    code, out, _err = interrupt(faulty, path, 2, "inc/lexical/filter: quality")
    assert code == 130
    assert out == ""


def test_a_file_that_raises_no_exception_is_2_and_one_line(bench: Bench) -> None:
    (bench.folder / "mine.py").write_text("\nraise KeyboardInterrupt", encoding="utf-8")
    done = bench.run("run", bench.suite('adapter = "./mine.py:Mine"\nmodes = ["lexical"]'))
    assert done.returncode == 2
    first, line = done.stderr.splitlines()
    assert first.endswith("test.toml: reading"), "told before anything is loaded"
    assert "test.toml:7: targets.0.adapter: './mine.py:2' cannot be imported" in line
