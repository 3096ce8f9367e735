"""Engines must not outlive us, whatever ends us; so these tests end real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from retrieverbench.engines.processes import (
    free_port,
    private_folder,
    remove_leftovers,
    running,
    start_time,
    wait_until_ready,
)
from retrieverbench.errors import TimedOut, Unavailable

pytestmark = pytest.mark.anyio

# An engine that starts a child of its own in a session of its own, as PostgreSQL does.
ENGINE = textwrap.dedent(
    """
    import pathlib, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                             start_new_session=True)
    pathlib.Path("child.pid").write_text(str(child.pid))
    print("engine says hello", flush=True)
    time.sleep(600)
    """
)
# An engine that takes its time to stop, and says when it has begun to.
SLOW = textwrap.dedent(
    """
    import pathlib, signal, time
    def stop(*_):
        pathlib.Path("stopping").touch()
        time.sleep(1)
        raise SystemExit
    signal.signal(signal.SIGTERM, stop)
    pathlib.Path("child.pid").write_text("0")
    time.sleep(600)
    """
)
PARENT = textwrap.dedent(
    """
    import anyio, json, sys
    from retrieverbench.engines.processes import private_folder, running

    async def main():
        async with private_folder("test") as folder:
            command = [sys.executable, "-c", sys.argv[1]]
            async with running([command], folder=folder, name="test") as engine:
                while not (folder / "child.pid").exists() or not (folder / "child.pid").read_text():
                    await anyio.sleep(0.01)
                child = int((folder / "child.pid").read_text())
                print(json.dumps({"folder": str(folder), "engine": engine.pid, "child": child,
                                  "supervisor": engine.supervisor.pid}), flush=True)
                if sys.argv[2] == "crash":
                    raise RuntimeError("crash")
                if sys.argv[2] == "slow removal":
                    import shutil, time
                    def remove(folder, **_):
                        (folder / "owner.lock").unlink()
                        print("removing", flush=True)
                        time.sleep(600)
                    shutil.rmtree = remove
                    return
                await anyio.sleep(600)

    anyio.run(main)
    """
)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of other tests and users stay out of sight."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def start_parent() -> Iterator[Callable[..., tuple[subprocess.Popen[str], dict[str, str]]]]:
    started: list[subprocess.Popen[str]] = []

    def start(
        how: str = "wait", engine: str = ENGINE
    ) -> tuple[subprocess.Popen[str], dict[str, str]]:
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, engine, how],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(parent)
        assert parent.stdout is not None
        return parent, json.loads(parent.stdout.readline())

    yield start
    for parent in started:
        parent.kill()
        parent.communicate()


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def is_all_gone(told: dict[str, str]) -> bool:
    pids = [int(told[name]) for name in ("engine", "child", "supervisor")]
    return not any(map(is_alive, pids)) and not Path(told["folder"]).exists()


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL", "crash"])
def test_nothing_outlives_the_parent(
    how: str, start_parent: Callable[..., tuple[subprocess.Popen[str], dict[str, str]]]
) -> None:
    parent, told = start_parent("crash" if how == "crash" else "wait")
    if how != "crash":
        parent.send_signal(getattr(signal, how))
    parent.wait(30)

    assert until(lambda: is_all_gone(told)), told


def test_the_folder_goes_when_the_parent_is_killed_while_it_stops_the_engine(
    start_parent: Callable[..., tuple[subprocess.Popen[str], dict[str, str]]],
) -> None:
    parent, told = start_parent(engine=SLOW)
    parent.send_signal(signal.SIGINT)
    assert until((Path(told["folder"]) / "stopping").exists)
    parent.kill()
    assert parent.wait(30) == -signal.SIGKILL

    assert until(lambda: not Path(told["folder"]).exists())
    assert until(lambda: not is_alive(int(told["engine"])))


def test_the_folder_goes_when_the_parent_is_killed_while_it_removes_it(
    start_parent: Callable[..., tuple[subprocess.Popen[str], dict[str, str]]],
) -> None:
    parent, told = start_parent("slow removal")
    assert parent.stdout is not None
    assert parent.stdout.readline() == "removing\n"
    assert not is_alive(int(told["supervisor"]))
    parent.kill()
    parent.wait(30)

    assert until(lambda: not Path(told["folder"]).exists())


async def test_the_folder_stays_between_two_engines_in_it() -> None:
    async with private_folder("test") as folder:
        for _ in range(2):
            async with running([["sleep", "600"]], folder=folder, name="test") as engine:
                assert engine.ended is None
            await anyio.sleep(0.2)
            assert engine.log.is_file()


def test_when_the_supervisor_is_killed_too_the_next_start_removes_the_folder(
    start_parent: Callable[..., tuple[subprocess.Popen[str], dict[str, str]]],
) -> None:
    parent, told = start_parent()
    os.kill(parent.pid, signal.SIGSTOP)  # so that it cannot clean up after its supervisor
    os.kill(int(told["supervisor"]), signal.SIGKILL)
    assert until(lambda: not is_alive(int(told["engine"]))), "the kernel kills the engine"
    parent.kill()
    parent.wait(30)
    os.kill(int(told["child"]), signal.SIGKILL)
    assert Path(told["folder"]).exists()

    remove_leftovers()

    assert not Path(told["folder"]).exists()


async def test_leftovers_of_living_parents_and_folders_of_others_stay(tmp_path: Path) -> None:
    foreign = tmp_path / "retrieverbench-without-lock"
    foreign.mkdir()
    async with private_folder("one") as mine, private_folder("two") as other:
        remove_leftovers()
        assert mine.is_dir()
        assert other.is_dir()
        assert mine.stat().st_mode & 0o077 == 0
    assert not mine.exists()
    assert foreign.is_dir()


def test_a_recorded_process_is_killed_only_if_its_start_time_is_the_same(
    tmp_path: Path,
) -> None:
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        for number, started in enumerate(["1", start_time(sleeper.pid)]):
            assert sleeper.poll() is None, "killed although the start time differs"
            folder = tmp_path / f"retrieverbench-left-{number}"
            folder.mkdir()
            (folder / "owner.lock").touch()
            (folder / "engine.pid").write_text(f"{sleeper.pid} {started}")
            remove_leftovers()
            assert not folder.exists()
        assert sleeper.wait(30) == -signal.SIGKILL
    finally:
        sleeper.kill()
        sleeper.wait()


async def test_commands_run_in_order_and_the_last_is_the_engine() -> None:
    async with private_folder("test") as folder:
        commands = [["sh", "-c", "echo first > trace"], ["sh", "-c", "cat trace; exec cat"]]
        async with running(commands, folder=folder, name="test") as engine:

            async def has_read_the_trace() -> bool:
                return engine.log_tail() == "first"

            await wait_until_ready(engine, has_read_the_trace, timeout=30)
            assert engine.ended is None, "standard input is an open pipe, so cat waits"
            assert is_alive(engine.pid)
        assert not is_alive(engine.pid)


async def test_a_failing_preparation_shows_the_log() -> None:
    commands = [["sh", "-c", "echo the disk is full >&2; exit 3"], ["sleep", "600"]]
    with pytest.raises(Unavailable, match=r"(?s)exit code 3.*the disk is full"):
        async with private_folder("test") as folder, running(commands, folder=folder, name="test"):
            pytest.fail("started")


async def test_an_absent_program_is_an_error_not_a_traceback() -> None:
    commands = [["./no-such-program"]]
    with pytest.raises(Unavailable) as caught:
        async with private_folder("test") as folder, running(commands, folder=folder, name="test"):
            pytest.fail("started")
    assert "no-such-program" in str(caught.value)
    assert "Traceback" not in str(caught.value)


async def test_an_engine_that_ends_before_it_is_ready_shows_the_log() -> None:
    async def never() -> bool:
        return False

    commands = [["sh", "-c", "echo address in use; exit 1"]]
    with pytest.raises(Unavailable, match=r"(?s)exit code 1 before.*address in use"):
        async with (
            private_folder("test") as folder,
            running(commands, folder=folder, name="test") as engine,
        ):
            await wait_until_ready(engine, never, timeout=30)


async def test_an_engine_that_is_never_ready_times_out_with_the_log() -> None:
    async def never() -> bool:
        return "starting" not in engine.log_tail() and False

    commands = [["sh", "-c", "echo starting for ever; exec sleep 600"]]
    with pytest.raises(TimedOut, match=r"(?s)not ready after 0\.5 s.*starting for ever"):
        async with (
            private_folder("test") as folder,
            running(commands, folder=folder, name="test") as engine,
        ):
            await wait_until_ready(engine, never, timeout=0.5)
    assert not is_alive(engine.pid)


async def test_an_engine_deaf_to_its_signal_is_killed() -> None:
    commands = [["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.05; done"]]
    async with private_folder("test") as folder:
        async with running(commands, folder=folder, name="test", grace=0.2) as engine:

            async def has_started() -> bool:
                return engine.log_tail() == "deaf"

            await wait_until_ready(engine, has_started, timeout=30)
        assert not is_alive(engine.pid)


async def test_an_error_of_the_body_passes_unchanged() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with (
            private_folder("test") as folder,
            running([["sleep", "600"]], folder=folder, name="test"),
        ):
            raise KeyError("mine")


async def test_a_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    with anyio.move_on_after(0.3) as scope:
        async with (
            private_folder("test") as folder,
            running([["sleep", "600"], ["true"]], folder=folder, name="test"),
        ):
            pytest.fail("started")
    assert scope.cancelled_caught
    assert is_empty(tmp_path)


async def test_free_ports_can_be_bound() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=free_port())
    await listener.aclose()
