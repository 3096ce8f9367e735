"""Servers of a compose file against a `docker` that misbehaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from retrieverbench.engines import compose
from retrieverbench.engines.compose import Compose, read_compose
from retrieverbench.errors import InputError, NotConfigured, Unavailable

pytestmark = pytest.mark.anyio
LABELS = {"retrieverbench.endpoint": "http://127.0.0.1:1"}
STUBBORN = "trap '' TERM; echo waits >> asked; exec sleep 60"
NOTES_ITS_END = (
    "sleep 60 & trap 'kill $!; echo ended >> asked; exit 1' TERM; echo waits >> asked; wait"
)


class Docker:
    """A `docker` on PATH that keeps which subcommand it was asked; `faults` are its scripts."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.file = folder, folder / "compose.yaml"
        self.file.write_text("services: {}\n")  # only docker reads it
        patch.setenv("PATH", str(folder), prepend=":")

    def answers(self, interpreter: str = "/bin/sh", **scripts: str) -> None:
        usual = {"images": "echo '[]'", "config": "echo '{}'"}
        cases = "".join(f'*" {word} "*) {do};;\n' for word, do in {**usual, **scripts}.items())
        script = self.folder / "docker"
        script.write_text(
            f"#!{interpreter}\ncd {self.folder}\n"
            'for word in "$@"; do case $word in ps|up|images|config|stop) echo $word >> asked;; '
            f'esac; done\ncase " $* " in\n{cases}esac\n'
        )
        script.chmod(0o755)

    def is_waited_for(self) -> bool:
        file = self.folder / "asked"
        return file.exists() and "waits" in self.asked()

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().split()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    return Docker(tmp_path, monkeypatch)


def described(docker: Docker, labels: Mapping[str, str] | None = None) -> Compose:
    return Compose(docker.file, {"qdrant": {"image": "q:1", "labels": labels or LABELS}})


async def start(docker: Docker, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    async with described(docker, labels).start("qdrant") as started:
        return dict(started.details)


@pytest.mark.parametrize("told", ["null", "[]", '{"services": null}', '{"services": {"a": 1}}'])
def test_what_tells_no_services_is_the_files_fault(docker: Docker, told: str) -> None:
    docker.answers(config=f"echo '{told}'")
    with pytest.raises(InputError, match="tells no services; add some"):
        read_compose(docker.file)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'a warning'", "docker compose config prints no JSON; is .*/docker docker"),
        (
            "echo 'services.qdrant: bad' >&2; exit 15",
            "config failed: services.qdrant: bad; correct",
        ),
        ("exit 9", "config failed: exit code 9; correct the file, or install docker compose"),
        ("echo \"docker: no command\nSee 'docker --help'\" >&2; exit 1", "failed: docker: no comm"),
    ],
)
def test_a_docker_that_cannot_read_the_file_is_told(
    docker: Docker, script: str, words: str
) -> None:
    docker.answers(config=script)
    with pytest.raises(InputError, match=words):
        read_compose(docker.file)


async def test_a_docker_that_cannot_be_run_is_not_configured(docker: Docker) -> None:
    docker.answers("/nowhere/sh")
    with pytest.raises(NotConfigured, match=r"/docker cannot be run .*; repair it, or run without"):
        read_compose(docker.file)
    with pytest.raises(NotConfigured, match="/docker cannot be run"):
        await start(docker)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"x": "y"}, "services.qdrant.labels: retrieverbench.endpoint is missing; add it"),
        (
            {**LABELS, "retrieverbench.secret.api_key": "NONE"},
            "services.qdrant.labels: 'NONE' is neither in the service's environment",
        ),
        (
            {**LABELS, "retrieverbench.fidelity": "real"},
            "services.qdrant.labels: retrieverbench.fidelity: 'real' is unknown",
        ),
    ],
)
async def test_labels_that_tell_no_address_are_the_files_fault(
    docker: Docker, labels: dict[str, str], words: str
) -> None:
    docker.answers()
    with pytest.raises(InputError, match=words):
        await start(docker, labels)


@pytest.mark.parametrize(
    ("service", "ready", "error", "words"),
    [
        ({"labels": ["a=b"]}, None, InputError, "services.qdrant.labels: 'docker compose config'"),
        (
            {"labels": LABELS, "environment": ["A=b"]},
            None,
            InputError,
            "services.qdrant.environment: 'docker compose config' tells a list and no table",
        ),
        (
            {"labels": {**LABELS, "retrieverbench.secret.a": "KEY"}, "environment": {"KEY": None}},
            None,
            InputError,
            "services.qdrant: 'KEY' has no value, .*; set the variable that it is made of",
        ),
        (
            {"labels": {**LABELS, "retrieverbench.ready_file": "ready.json"}},
            "[1]",
            Unavailable,
            "ready.json: the service's ready file holds no JSON object",
        ),
        *(
            (
                {"labels": {"retrieverbench.endpoint": label}, "environment": {"PORT": "1"}},
                None,
                InputError,
                "retrieverbench.endpoint: .* cannot be filled in",
            )
            for label in ("{}", "{PORT.x}", "{PORT[x]}", "{PORT[9]}", "{", "{PORT:,}")
        ),
    ],
)
async def test_what_no_address_and_credential_can_be_made_of_is_told(
    docker: Docker, service: dict[str, Any], ready: str | None, error: type[Exception], words: str
) -> None:
    docker.answers()
    if ready is not None:
        (docker.folder / "ready.json").write_text(ready, encoding="utf-8")
    with pytest.raises(error, match=words):
        async with Compose(docker.file, {"qdrant": service}).start("qdrant"):
            pass


def test_a_docker_that_reads_the_file_for_ever_is_not_waited_for(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "ANSWER_SECONDS", 0.1)
    docker.answers(config="exec sleep 60")
    with pytest.raises(NotConfigured, match=r"config did not end within 0.1 s; see whether docker"):
        read_compose(docker.file)


async def test_the_reason_is_kept_where_stopping_fails_too(docker: Docker) -> None:
    docker.answers(
        up="echo 'Bind for 127.0.0.1:6333 failed: port is already allocated' >&2; exit 1",
        stop="echo 'no such service' >&2; exit 1",
    )
    with pytest.raises(Unavailable) as caught:
        await start(docker)
    told = str(caught.value)
    assert told.startswith(
        "docker compose up qdrant failed: Bind for 127.0.0.1:6333 failed: port is already "
        "allocated; and afterwards: docker compose stop qdrant failed: no such service; see docker"
    )
    assert docker.asked() == ["ps", "up", "stop"]


async def test_a_daemon_that_is_down_is_told_in_its_words(docker: Docker) -> None:
    docker.answers(ps="echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    with pytest.raises(Unavailable, match="docker compose ps qdrant failed: Cannot connect"):
        await start(docker)
    assert docker.asked() == ["ps"], "nothing was started, so nothing is stopped"


async def test_a_docker_that_does_not_answer_is_not_waited_for(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(compose, "END_SECONDS", 0.1)
    docker.answers(ps=STUBBORN)
    with pytest.raises(
        Unavailable, match=r"ps qdrant did not end within 0\.3 s; see whether docker"
    ):
        await start(docker)


async def test_an_image_that_docker_does_not_tell_is_none(docker: Docker) -> None:
    docker.answers(images="echo garbage")
    details = await start(docker)
    assert (details["image_id"], details["image_digests"]) == ("", [])
    assert docker.asked() == ["ps", "up", "images", "stop"]


@pytest.mark.parametrize(("up", "last"), [(NOTES_ITS_END, ["ended"]), (STUBBORN, [])])
async def test_cancelled_while_it_waits_it_asks_docker_to_end_and_stops_the_service(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, up: str, last: list[str]
) -> None:
    monkeypatch.setattr(compose, "END_SECONDS", 0.5 if up == STUBBORN else 30.0)
    docker.answers(up=up)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start, docker)
        with anyio.fail_after(60):
            while not docker.is_waited_for():  # noqa: ASYNC110 - a file cannot be waited for
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    assert docker.asked() == ["ps", "up", "waits", *last, "stop"]
