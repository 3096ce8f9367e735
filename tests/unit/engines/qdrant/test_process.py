"""Qdrant's engine behind our front: really started, really gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import anyio
import httpx
import psutil
import pytest

from retrieverbench.engines import Started, load_engine, qdrant
from retrieverbench.errors import InputError, MissingClient

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]

PARENT = textwrap.dedent(
    """
    import anyio, json, pathlib, tempfile
    from retrieverbench.engines import qdrant

    async def main():
        async with qdrant.start({}) as front:
            print(json.dumps({"endpoint": front.endpoint, "pid": front.details["pid"]}),
                  flush=True)
            await anyio.sleep(600)

    anyio.run(main)
    """
)


def get(front: Started, path: str, key: str | None = None) -> httpx.Response:
    if key is None:
        key = front.secrets["api_key"].reveal()
    return httpx.get(f"{front.endpoint}{path}", headers={"api-key": key})


def make_collection(front: Started) -> None:
    made = httpx.put(
        f"{front.endpoint}/collections/rb_x",
        json={"vectors": {"size": 4, "distance": "Cosine"}},
        headers={"api-key": front.secrets["api_key"].reveal()},
    )
    assert made.json()["result"] is True


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def is_open(endpoint: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(endpoint.rpartition(":")[2]))) == 0


def eventually_gone(pid: int, folder: Path) -> None:
    deadline = time.monotonic() + 30
    while psutil.pid_exists(pid) or any(folder.iterdir()):
        assert time.monotonic() < deadline, f"left: {pid}, {list(folder.iterdir())}"
        time.sleep(0.05)


async def test_it_answers_and_says_what_it_is() -> None:
    engine = load_engine("qdrant")
    async with engine.start({}) as front:
        assert front.fidelity == engine.FIDELITY == "engine"
        told = get(front, "/", key="").json()
        assert told["title"] == "qdrant - vector search engine"
        assert told["version"] == front.version
        assert told["commit"] == front.details["engine"]
        assert front.details["lacks"]
        json.dumps(front.details)
        assert front.secrets["api_key"].reveal() not in json.dumps(front.details)
        pid = front.details["pid"]
    assert isinstance(pid, int)
    assert not psutil.pid_exists(pid)
    assert not is_open(front.endpoint)


async def test_the_version_is_within_one_minor_of_the_client() -> None:
    from importlib.metadata import version

    from qdrant_client.common.version_check import is_compatible

    from retrieverbench.engines.qdrant.server import SERVER_VERSION

    assert is_compatible(version("qdrant-client"), SERVER_VERSION)


async def test_two_fronts_at_once_know_nothing_of_each_other() -> None:
    async with qdrant.start({}) as one, qdrant.start({}) as other:
        key = one.secrets["api_key"].reveal()
        make_collection(one)
        assert get(one, "/collections/rb_x").status_code == 200
        assert get(other, "/collections/rb_x").status_code == 404
        assert get(other, "/collections", key=key).status_code == 401
        assert get(one, "/collections/rb_x").status_code == 200


async def test_it_binds_loopback_only() -> None:
    async with qdrant.start({}) as front:
        pid = front.details["pid"]
        assert isinstance(pid, int)
        listening = [
            one.laddr.ip
            for one in psutil.Process(pid).net_connections("inet")
            if one.status == psutil.CONN_LISTEN
        ]
        assert listening == ["127.0.0.1"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_parent_dies(ending: signal.Signals, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with parent:
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())
        assert is_open(told["endpoint"])
        parent.send_signal(ending)
        parent.wait(30)
    eventually_gone(told["pid"], tmp_path)
    assert not is_open(told["endpoint"])


async def test_an_error_inside_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    started = []

    async def fail_inside() -> None:
        async with qdrant.start({}) as front:
            started.append(front)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_inside()
    assert not is_open(started[0].endpoint)
    assert names_in(tmp_path) == []


def test_run_by_hand_it_writes_a_ready_file_and_cleans_up(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    front = subprocess.Popen(
        [sys.executable, "-m", "retrieverbench.engines.qdrant", "--ready-file", str(ready)]
    )
    with front:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert front.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        told = json.loads(ready.read_text())
        assert ready.stat().st_mode & 0o777 == 0o600
        assert told["pid"] == front.pid
        answer = httpx.get(f"{told['url']}/collections", headers={"api-key": told["api_key"]})
        assert answer.json()["result"] == {"collections": []}
        front.terminate()
        front.wait(30)
    assert not any(tmp_path.iterdir())


async def test_unknown_options_are_refused_before_anything_starts() -> None:
    with pytest.raises(InputError, match=r"faulty: unknown key; did you mean 'faults'\?"):
        async with qdrant.start({"faulty": True}):
            pass


async def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingClient, match=r"pip install 'retrieverbench\[engines\]'"):
        async with qdrant.start({}):
            pass


async def test_a_cancelled_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with anyio.move_on_after(0.1):
        async with qdrant.start({}):
            await anyio.sleep_forever()
    assert names_in(tmp_path) == []
