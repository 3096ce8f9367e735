"""`run --compose` against a `docker` that is recorded: what it is asked, and what it answers."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from bench_support import Bench
from engine_support import need_engine
from retrieverbench.engines import Started, load_engine

pytestmark = pytest.mark.anyio

DIGEST = "qdrant/qdrant@sha256:" + "a" * 64
DOCKER = """#!{python}
import json, sys
from pathlib import Path

here = Path(__file__).parent
words = sys.argv[1:]
with (here / "asked.jsonl").open("a") as asked:
    asked.write(json.dumps(words) + "\\n")
answers = json.loads((here / "answers.json").read_text())
for key, answer in answers.items():
    if set(key.split()) <= set(words):
        sys.stderr.write(answer.get("err", ""))
        print(answer.get("out", ""))
        sys.exit(answer.get("code", 0))
sys.exit("unknown: " + " ".join(words))
"""


class Docker:
    """A folder to be put on PATH, with a `docker` that answers as told and keeps what it heard."""

    def __init__(self, folder: Path, services: Mapping[str, Any], **answers: Any) -> None:
        folder.mkdir()
        self.folder = folder
        told = {
            "config": {"out": json.dumps({"services": services})},
            "inspect": {"out": json.dumps([DIGEST])},
            "images": {"out": json.dumps([{"ID": "sha256:bbb", "Repository": "qdrant/qdrant"}])},
            "ps": {"out": ""},
            "up": {},
            "stop": {},
        }
        (folder / "answers.json").write_text(json.dumps({**told, **answers}))
        docker = folder / "docker"
        docker.write_text(DOCKER.format(python=sys.executable))
        docker.chmod(docker.stat().st_mode | stat.S_IXUSR)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}"}

    def asked(self) -> list[str]:
        """The subcommands in order, each with the service it was about."""
        lines = (self.folder / "asked.jsonl").read_text().splitlines()
        words = [[w for w in json.loads(line) if not w.startswith("-")] for line in lines]
        return [" ".join(w[3:4] if w[0] == "compose" else w[:2]) for w in words]


def service(started: Started | None = None) -> dict[str, Any]:
    """As `docker compose config` tells it; the address is that of a running engine."""
    key = started.secrets["api_key"].reveal() if started else "none"
    return {
        "image": "qdrant/qdrant:v1.19.0",
        "environment": {"API_KEY": key},
        "mem_limit": "2147483648",
        "labels": {
            "retrieverbench.endpoint": started.endpoint if started else "http://127.0.0.1:1",
            "retrieverbench.secret.api_key": "API_KEY",
        },
    }


def compose_file(bench: Bench) -> Path:
    path = bench.folder / "compose.yaml"
    path.write_text("services: {}\n")  # only docker reads it
    return path


async def test_a_service_takes_the_place_of_an_engine_and_is_stopped(
    bench: Bench, tmp_path: Path
) -> None:
    need_engine("qdrant")
    async with load_engine("qdrant").start({}) as started:
        docker = Docker(tmp_path / "bin", {"qdrant": service(started)})
        suite = bench.suite('adapter = "qdrant"\nengine = "embedded"\nmodes = ["dense"]')
        arguments = ("run", suite, "--compose", "--compose-file", compose_file(bench))
        done = await anyio.to_thread.run_sync(lambda: bench.process(*arguments, env=docker.env))
    assert done.returncode == 0, done.stdout + done.stderr
    assert docker.asked() == ["config", "ps", "up", "images", "image inspect", "stop"]
    (target,) = bench.artifact()["targets"]
    engine = target["backend"]["engine"]
    assert engine["image_digests"] == [DIGEST]
    assert engine["limits"] == {"mem_limit": "2147483648"}
    key = started.secrets["api_key"].reveal()
    written = [path.read_text() for path in bench.folder.glob("results/runs/*/*")]
    assert not any(key in text for text in [*written, done.stdout, done.stderr])


def test_what_docker_complains_of_is_told(bench: Bench, tmp_path: Path) -> None:
    up = {"err": "a\ncontainer qdrant is unhealthy\n", "code": 1}
    docker = Docker(tmp_path / "bin", {"qdrant": service()}, up=up)
    suite = bench.suite('adapter = "qdrant"\nmodes = ["dense"]\nrequired = true')
    file = compose_file(bench)
    done = bench.run("run", suite, "--compose", "--compose-file", file, env=docker.env)
    assert done.returncode == 3, done.stdout + done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert "docker compose up qdrant failed: container qdrant is unhealthy" in told
    assert docker.asked() == ["config", "ps", "up", "stop"]


def test_a_server_that_was_running_is_left_running(bench: Bench, tmp_path: Path) -> None:
    docker = Docker(tmp_path / "bin", {"qdrant": service()}, ps={"out": "3f2a"})
    suite = bench.suite('adapter = "qdrant"\nmodes = ["dense"]')
    file = compose_file(bench)
    bench.run("run", suite, "--compose", "--compose-file", file, env=docker.env)
    assert "up" in docker.asked()
    assert "stop" not in docker.asked()


@pytest.mark.parametrize(
    ("target", "file", "words"),
    [
        ('adapter = "memory"', "compose.yaml", "no target of test.toml is a service of"),
        ('adapter = "qdrant"', "nowhere.yaml", "nowhere.yaml: no such compose file"),
    ],
)
def test_nothing_to_start_is_said_before_anything_starts(
    bench: Bench, tmp_path: Path, target: str, file: str, words: str
) -> None:
    docker = Docker(tmp_path / "bin", {"qdrant": service()})
    compose_file(bench)
    suite = bench.suite(target).name
    done = bench.run("run", suite, "--compose", "--compose-file", file, env=docker.env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr


def test_a_password_in_an_address_is_shown_nowhere(bench: Bench, tmp_path: Path) -> None:
    labels = {"retrieverbench.endpoint": "http://user:s3cr3tPW@127.0.0.1:1"}
    docker = Docker(tmp_path / "bin", {"qdrant": {**service(), "labels": labels}})
    suite = bench.suite('adapter = "qdrant"\nmodes = ["dense"]')
    file = compose_file(bench)
    done = bench.run("run", suite, "--compose", "--compose-file", file, env=docker.env)
    written = [path.read_text() for path in bench.folder.glob("results/runs/*/*")]
    assert written
    assert not any("s3cr3tPW" in text for text in [*written, done.stdout, done.stderr])


def test_without_docker_it_says_what_to_do(bench: Bench) -> None:
    suite = bench.suite('adapter = "qdrant"')
    file = compose_file(bench)
    done = bench.run(
        "run", suite, "--compose", "--compose-file", file, env={"PATH": str(bench.folder)}
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "docker is not installed; install it, or run without --compose" in done.stderr
