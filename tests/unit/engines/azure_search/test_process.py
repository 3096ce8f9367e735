"""The stand-in as a process: ready, apart from others, on loopback, and gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from retrieverbench.adapter import Secret
from retrieverbench.engines import load_engine
from retrieverbench.engines.azure_search import FIDELITY, missing, start
from retrieverbench.engines.azure_search.access import Credentials
from retrieverbench.engines.azure_search.replies import Call
from retrieverbench.engines.azure_search.server import _server
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.errors import InputError

pytestmark = pytest.mark.anyio


def _get(endpoint: str, path: str, key: Secret) -> int:
    connection = HTTPConnection("127.0.0.1", int(endpoint.rpartition(":")[2]), timeout=10)
    try:
        connection.request("GET", path, headers={"api-key": key.reveal()})
        return connection.getresponse().status
    finally:
        connection.close()


async def test_two_at_once_answer_their_own_keys_only_and_leave_nothing() -> None:
    """Two processes, two ports, two keys; nothing of them is left on leaving."""
    path = "/indexes?api-version=2026-04-01"
    async with start({}) as one, start({"shards": 1}) as two:
        assert one.endpoint != two.endpoint
        assert (one.fidelity, FIDELITY) == ("stand-in", "stand-in")
        assert _get(one.endpoint, path, one.secrets["api_key"]) == 200
        assert _get(one.endpoint, path, two.secrets["api_key"]) == 403
        assert one.secrets["api_key"].reveal() not in repr(one)
        pids = [int(str(started.details["pid"])) for started in (one, two)]
        assert all(psutil.pid_exists(pid) for pid in pids)
        folders = [psutil.Process(pid).cwd() for pid in pids]
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not any(os.path.exists(folder) for folder in folders)  # noqa: ASYNC240, PTH110


def test_it_is_found_by_name_and_can_be_started_here() -> None:
    assert load_engine("azure_search").FIDELITY == "stand-in"
    assert missing() is None


async def test_unknown_options_are_refused_before_a_process_starts() -> None:
    with pytest.raises(InputError, match="did you mean 'shards'"):
        async with start({"shard": 1}):
            pytest.fail("started")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "retrieverbench.engines.azure_search", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_addresses_than_loopback_are_refused(host: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ended = _run("--ready-file", str(ready), "--host", host)
    assert ended.returncode == 2
    assert host in ended.stderr
    assert not ready.exists()


_PARENT = """
import anyio, pathlib, sys
from retrieverbench.engines.azure_search import start
async def main():
    async with start({}) as started:
        pathlib.Path(sys.argv[1]).write_text(str(started.details["pid"]))
        await anyio.sleep(60)
anyio.run(main)
"""


def test_it_dies_with_a_killed_parent(tmp_path: Path) -> None:
    """Kill -9 gives the parent no chance to clean up; the stand-in must go all the same."""
    told = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(told)])
    try:
        _until(lambda: told.exists() and told.read_text() != "")
        process = psutil.Process(int(told.read_text()))
        folder = Path(process.cwd())
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    _until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    _until(lambda: not folder.exists())


def _until(condition: object) -> None:
    deadline = time.monotonic() + 60
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _call(service: Service, method: str, path: str, body: object = None) -> tuple[int, object]:
    call = Call(
        method,
        path,
        {"api-version": "2026-04-01"},
        {"api-key": "admin"},
        json.dumps(body).encode(),
    )
    reply = service.answer(call)
    return reply.status, json.loads(reply.body.decode("utf-8-sig") or "null")


def test_az_53_writes_are_seen_after_the_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of our own: stored at once, visible one second later; deletes likewise."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    service = Service(Credentials("admin", "query"), Options(lag=1.0))
    fields = [{"name": "id", "type": "Edm.String", "key": True}]
    _call(service, "POST", "/indexes", {"name": "lagging", "fields": fields})
    path = "/indexes('lagging')/docs"
    for action, created, final in (("upload", 201, 1), ("delete", 200, 0)):
        body = {"value": [{"@search.action": action, "id": "a"}]}
        status, answer = _call(service, "POST", f"{path}/index", body)
        assert isinstance(answer, dict)
        assert (status, answer["value"][0]["statusCode"]) == (200, created)
        now[0] += 0.9
        assert _call(service, "GET", f"{path}/$count")[1] == 1 - final
        now[0] += 0.2
        assert _call(service, "GET", f"{path}/$count")[1] == final


def test_an_idle_connection_is_kept_for_minutes() -> None:
    """Else a request meets a connection that is just being closed, and counts as a failure."""
    server = _server(Service(Credentials("admin", "query"), Options()), "token")
    assert server.config.timeout_keep_alive > 60
