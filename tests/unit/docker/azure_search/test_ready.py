"""The stand-in's health check against the stand-in itself."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

READY = Path(__file__).parents[4] / "docker" / "azure_search" / "ready.py"


def check(file: Path) -> int:
    done = subprocess.run(
        [sys.executable, READY, file], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout + done.stderr == ""
    return done.returncode


@pytest.fixture(scope="module")
def ready_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a stand-in that was started as the image starts it."""
    file = tmp_path_factory.mktemp("stand-in") / "azure_search.json"
    command = [sys.executable, "-m", "retrieverbench.engines.azure_search", "--ready-file"]
    with subprocess.Popen(
        [*command, str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not file.exists():
                assert process.poll() is None, "the stand-in ended before it was ready"
                time.sleep(0.05)
            yield file
        finally:
            process.terminate()
            process.wait(timeout=20)


def test_the_running_stand_in_is_ready(ready_file: Path) -> None:
    deadline = time.monotonic() + 60  # the file names the port before the port answers
    while check(ready_file) != 0:
        assert time.monotonic() < deadline


def test_another_start_on_the_same_port_is_not(ready_file: Path, tmp_path: Path) -> None:
    told = json.loads(ready_file.read_text(encoding="utf-8"))
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**told, "token": "of another start"}), encoding="utf-8")
    assert check(other) == 1


def test_a_closed_port_and_an_absent_file_are_not(tmp_path: Path) -> None:
    closed = tmp_path / "closed.json"
    closed.write_text(json.dumps({"port": 1, "token": "t"}), encoding="utf-8")
    assert check(closed) == 1
    assert check(tmp_path / "absent.json") == 1
