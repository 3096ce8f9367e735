"""A server that stands on its own, reached by its address, as a user's would be."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, LiteralString

import psutil
import psycopg
import pytest

from bench_support import COMMAND, Bench
from engine_support import need_engine

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'


@contextmanager
def started_server(folder: Path) -> Iterator[dict[str, Any]]:
    """`retrieverbench engine start pgvector` in a process of its own, and its ready file."""
    need_engine("pgvector")
    ready = folder / "ready.json"
    process = subprocess.Popen([COMMAND, "engine", "start", "pgvector", "--ready-file", ready])
    deadline = monotonic() + 60
    while not ready.exists() and process.poll() is None and monotonic() < deadline:
        sleep(0.05)
    assert ready.exists()
    assert ready.stat().st_mode & 0o077 == 0, "others could read the password"
    told = json.loads(ready.read_text(encoding="utf-8")) | {"ends with": 0}
    yield told
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == told["ends with"]
    assert not ready.exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """One server, which every test leaves as it was."""
    with started_server(tmp_path_factory.mktemp("server")) as ready:
        yield ready


def target(server: dict[str, Any]) -> str:
    return (
        f'adapter = "pgvector"\nendpoint = "{server["endpoint"]}"\n'
        'secrets = { password = "PG_PASSWORD", user = "PG_USER" }'
    )


def secrets_of(server: dict[str, Any]) -> dict[str, str]:
    found = server["secrets"]
    return {"PG_PASSWORD": found["password"], "PG_USER": found.get("user", "postgres")}


def test_a_server_is_reached_by_address_and_left_as_it_was(
    bench: Bench, server: dict[str, Any]
) -> None:
    by_dsn = 'adapter = "pgvector"\nendpoint_env = "PG_DSN"'
    for entry, env in ((target(server), secrets_of(server)), (by_dsn, {"PG_DSN": server["dsn"]})):
        done = bench.run("run", bench.suite(entry), env=env)
        assert done.returncode == 0, done.stdout + done.stderr
    assert {t["fidelity"] for t in bench.artifact()["targets"]} == {"server"}


def test_a_wrong_password_is_3_in_the_servers_words_and_others_finish(
    bench: Bench, server: dict[str, Any]
) -> None:
    wrong = secrets_of(server) | {"PG_PASSWORD": "wrong-s3cret"}
    done = bench.run("run", bench.suite(target(server), MEMORY), env=wrong)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "password authentication failed" in done.stdout
    remedies = {t["remedy"] for t in bench.artifact()["targets"] if t["failure"]}
    assert all("PG_PASSWORD" in remedy for remedy in remedies), remedies
    assert "wrong-s3cret" not in done.stdout + done.stderr
    *failed, finished = bench.artifact()["targets"]
    assert finished["scores"] is not None, finished["failure"]
    assert [t["scores"] for t in failed] == [None, None, None]
    assert {t["failure_code"] for t in failed} == {"auth"}


def test_a_server_that_dies_during_the_run_is_3_and_no_zero(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with started_server(tmp_path_factory.mktemp("dying")) as server:
        suite = bench.suite(f'{target(server)}\nmodes = ["dense"]', MEMORY)
        text = suite.read_text(encoding="utf-8").replace("requests = 20", "requests = 100000")
        text = text.replace("timeout = 20.0", "timeout = 3.0")  # each step waits so long for it
        suite.write_text(text.replace("warmup = 1", "warmup = 1, seconds = 4.0"), encoding="utf-8")
        with bench.started("run", suite, until="timed pass", **secrets_of(server)) as process:
            _kill_postgres(server["pid"])
            server["ends with"] = 3
            out, _err = process.communicate(timeout=150)
    assert process.returncode == 3, out
    assert "timed requests failed" in out
    assert all(t["scores"] is not None for t in bench.artifact()["targets"])


def _kill_postgres(launcher: int) -> None:
    """End every process that the launcher started, the hard way; some end by themselves."""
    for child in psutil.Process(launcher).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "postgres" in child.name():
                child.kill()


def chunks_of(bench: Bench) -> list[dict[str, Any]]:
    text = (bench.folder / "corpus.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_vectors_of_another_model_are_2_before_the_run(bench: Bench) -> None:
    """A query embedder that differs from the one the vectors were made with."""
    rows = chunks_of(bench)
    with (bench.folder / "vectors.jsonl").open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            vector = [0.0] * 64
            vector[number] = 1.0
            file.write(
                json.dumps({"id": row["id"], "tenant": row["tenant"], "vector": vector}) + "\n"
            )
    done = bench.run("run", bench.suite('adapter = "memory"', head='vectors = "vectors.jsonl"'))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "cosine" in done.stderr
    assert not list(Path(bench.folder).glob("results/runs/*/*"))


@pytest.mark.parametrize(
    ("vector", "message"),
    [([1.0] * 63, "63"), ([0.0] * 64, "zero"), ([float("nan")] * 64, "NaN")],
    ids=["dimension", "zero", "NaN"],
)
def test_broken_vectors_are_2(bench: Bench, vector: list[float], message: str) -> None:
    rows = chunks_of(bench)
    good = [1.0] + [0.0] * 63
    with (bench.folder / "vectors.jsonl").open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            entry = {"id": row["id"], "tenant": row["tenant"], "vector": good if number else vector}
            file.write(json.dumps(entry) + "\n")
    done = bench.run("run", bench.suite('adapter = "memory"', head='vectors = "vectors.jsonl"'))
    assert done.returncode == 2, done.stdout + done.stderr
    assert message.lower() in done.stderr.lower()
    assert "[G42]" in done.stderr


def test_what_a_killed_run_left_is_told_and_removed_when_asked(
    bench: Bench, server: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 of everything; never while the run lives, and never what another one made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(bench.folder / "cache"))
    env = secrets_of(server)
    entry = f'{target(server)}\nname = "pg"\nmodes = ["lexical"]\nlayout = "rls"'
    suite = bench.suite(entry)
    text = suite.read_text(encoding="utf-8").replace("requests = 20", "requests = 1000000")
    suite.write_text(text, encoding="utf-8")
    _execute(server, "CREATE SCHEMA rb_of_somebody_else")
    with bench.started("run", suite, until="timed pass", **env) as process:
        assert bench.run("leftovers").stdout == "nothing is left\n"
        assert bench.run("leftovers", suite, "--remove", env=env).stdout == "nothing is left\n"
        for each in psutil.Process(process.pid).children(recursive=True):
            each.kill()
        process.kill()
    [place] = _places(server)
    shown = bench.run("leftovers")
    assert (shown.returncode, shown.stdout.split()[:2]) == (0, [place, "left"]), shown
    suite = bench.suite(entry)
    told = bench.run("run", suite, env=env)
    assert told.returncode == 0, told.stderr
    for output in (told.stdout, told.stderr):  # the report and the progress
        assert "left by an earlier run" in output
        assert repr(place) in output
    bench.run("leaks", suite, "--probe", "P21", env=env)
    (audited,) = bench.artifact()["targets"]
    assert [note for note in audited["notes"] if repr(place) in note]
    unknown = bench.run("leftovers", suite, "--remove", "--place", "rb_of_somebody_else", env=env)
    assert unknown.returncode == 2, unknown
    no_password = bench.run("leftovers", suite, "--remove", env=env | {"PG_PASSWORD": "wrong one"})
    assert no_password.returncode == 3, no_password
    assert "password authentication failed" in no_password.stderr
    assert _places(server) == [place]
    removed = bench.run("leftovers", suite, "--remove", env=env)
    assert (removed.returncode, removed.stdout.split()[:2]) == (0, [place, "removed"]), removed
    assert _places(server) == []
    assert bench.run("leftovers").stdout == "nothing is left\n"
    _execute(server, "DROP SCHEMA rb_of_somebody_else")


def _places(server: dict[str, Any]) -> list[str]:
    """Schemas and roles of runs, each once."""
    rows = _execute(
        server,
        "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rb%' UNION "
        "SELECT regexp_replace(rolname, '_search$', '') FROM pg_roles WHERE rolname LIKE 'rb%'",
    )
    return [name for (name,) in rows if name != "rb_of_somebody_else"]


def _execute(server: dict[str, Any], statement: LiteralString) -> list[Any]:
    with psycopg.connect(server["dsn"], autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []
