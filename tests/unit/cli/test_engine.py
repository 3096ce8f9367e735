"""`retrieverbench engine start`: what is left of it, whatever ends it or its engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner

from bench_support import COMMAND
from engine_support import need_engine
from retrieverbench.cli.engine import _where_secrets_are
from retrieverbench.cli.engine import start as start_engine
from retrieverbench.errors import InputError

Start = Callable[[], "tuple[subprocess.Popen[str], dict[str, Any]]"]


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    return tmp_path / "ready.json"


@pytest.fixture
def start(ready: Path) -> Iterator[Start]:
    """Starts pgvector by hand; returns the command's process and its ready file's content."""
    need_engine("pgvector")
    started: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], dict[str, Any]]:
        process = subprocess.Popen(
            [COMMAND, "engine", "start", "pgvector", "--ready-file", ready],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        until(lambda: ready.exists() or process.poll() is not None)
        return process, json.loads(ready.read_text("utf-8"))

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "waited in vain"
        sleep(0.02)


def test_credentials_that_are_not_printed_can_be_had() -> None:
    told = _where_secrets_are(["password", "user"])
    assert told == "user and password: start with --ready-file FILE, which holds them"


def engine_of(process: subprocess.Popen[str]) -> int:
    """The pid of the engine: the only child of the supervisor, the command's only child."""
    pid = process.pid
    for _ in range(2):
        pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()[0])
    return pid


def folder_of(process: subprocess.Popen[str]) -> Path:
    """The engine's folder, whose lock the command holds; an empty path before there is one."""
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            held = descriptor.readlink()
        except OSError:  # closed since
            continue
        if held.parent.name.startswith("retrieverbench-"):
            return held.parent
    return Path()


def test_an_engine_that_ends_is_3_with_its_last_words(start: Start, ready: Path) -> None:
    process, _ = start()
    os.kill(engine_of(process), signal.SIGQUIT)  # PostgreSQL's immediate shutdown
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert errors.startswith("error: engine pgvector: it ended with exit code 0; its log ends:")
    assert "received immediate shutdown request" in errors
    assert not ready.exists()


def test_kill_9_leaves_no_password_behind(start: Start, ready: Path) -> None:
    process, told = start()
    assert told["secrets"]["password"]
    process.kill()
    until(lambda: not ready.exists())
    assert list(ready.parent.iterdir()) == []


def test_signals_leave_nothing_but_a_ready_file_of_another_start(start: Start, ready: Path) -> None:
    process, _ = start()
    folder = folder_of(process)
    ready.unlink()
    ready.write_text("another's", "utf-8")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
        process.send_signal(number)
        sleep(0.02)
    _, errors = process.communicate(timeout=60)
    assert not folder.exists()
    assert (process.returncode, errors) == (0, "")
    assert ready.read_text("utf-8") == "another's"


def test_signals_during_the_start_leave_nothing() -> None:
    need_engine("pgvector")
    command = [str(COMMAND), "engine", "start", "pgvector"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: process.poll() is not None or folder_of(process) != Path())
        folder = folder_of(process)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            sleep(0.02)
        _, errors = process.communicate(timeout=60)
    assert not folder.exists()
    assert (process.returncode, errors) == (
        130, "error: interrupted before the engine answered\n"
    )  # fmt: skip


def test_a_file_that_is_no_ready_file_is_kept(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text("golden = 'g.jsonl'")
    done = CliRunner().invoke(start_engine, ["pgvector", "--ready-file", str(suite)])
    assert isinstance(done.exception, InputError)
    assert f"--ready-file: {suite} holds something else; name another" in str(done.exception)
    assert suite.read_text() == "golden = 'g.jsonl'"


@pytest.mark.parametrize("where", ["absent/ready.json", ""])
def test_a_ready_file_that_cannot_be_written_is_wrong_input(tmp_path: Path, where: str) -> None:
    command = [str(COMMAND), "engine", "start", "pgvector", "--ready-file", str(tmp_path / where)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--ready-file" in done.stderr
    assert str(tmp_path / where).rstrip("/") in done.stderr
    assert "Traceback" not in done.stderr
