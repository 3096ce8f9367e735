"""Servers that a compose file describes, started and stopped by the `docker` command.

A service is found by the adapter's name. Its labels say how it is reached, so that nothing
about it stands in two places:

    retrieverbench.endpoint: "http://127.0.0.1:${PORT:-6333}"
    retrieverbench.secret.password: POSTGRES_PASSWORD      (a variable of its environment)
    retrieverbench.ready_file: ./run/azure_search.json     (seen from the compose file; then the
        endpoint's {port} and the secrets are looked up there)
    retrieverbench.fidelity: stand-in                      (server, where it is not said)

Unlike the engines of this room, a service outlives a kill -9 of the command; it is stopped,
its volumes kept, on every other way out, unless it was already running before.
"""

from __future__ import annotations

import json
import math
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, get_args

import anyio
from anyio.abc import Process

from retrieverbench.adapter import Secret
from retrieverbench.engines.base import Started
from retrieverbench.errors import BackendError, InputError, NotConfigured, Unavailable
from retrieverbench.model import Fidelity

LABEL = "retrieverbench."
HEALTH_SECONDS = 300
ANSWER_SECONDS = 60.0
"""For everything that docker does without fetching anything; `stop` waits ten for a service."""
END_SECONDS = 5.0
_FIDELITIES: tuple[Fidelity, ...] = get_args(Fidelity)
_LIMITS = ("cpus", "cpuset", "mem_limit", "shm_size")


@dataclass(frozen=True, slots=True)
class Compose:
    """A compose file as docker reads it: each service's resolved configuration, by name."""

    path: Path
    services: Mapping[str, Mapping[str, Any]]

    @asynccontextmanager
    async def start(self, name: str) -> AsyncIterator[Started]:
        """Start a service, wait until it is healthy, say what runs; stop it on the way out.

        Raises Unavailable with docker's own last words, and InputError for labels from which
        no address can be made.
        """
        labels = _labels(self.path, name, self.services[name])
        fidelity = _fidelity(self.path, name, labels)
        was_running = bool((await self._docker("ps", "--status", "running", "-q", name)).strip())
        try:
            yield await self._up(name, labels, fidelity)
        except BaseException as error:
            try:
                await self._stop(name, was_running=was_running)
            except Unavailable as second:
                if isinstance(error, BackendError):
                    error.args = (f"{error.reason}; and afterwards: {second.reason}",)
            raise
        await self._stop(name, was_running=was_running)

    async def _up(self, name: str, labels: Mapping[str, str], fidelity: Fidelity) -> Started:
        """Without a limit of ours: docker may have to fetch the image first."""
        wait = ("--wait", "--wait-timeout", str(HEALTH_SECONDS))
        try:
            await self._docker("up", "--detach", *wait, name, seconds=math.inf)
        except Unavailable as error:
            words = ["docker", "compose", "--file", str(self.path), "logs", name]
            error.remedy = f"see {shlex.join(words)}"
            raise
        return await self._started(name, labels, fidelity)

    async def _stop(self, name: str, *, was_running: bool) -> None:
        """Stop what was started here, also when the run is cancelled."""
        if not was_running:
            with anyio.CancelScope(shield=True):
                await self._docker("stop", name)

    async def _started(self, name: str, labels: Mapping[str, str], fidelity: Fidelity) -> Started:
        service = self.services[name]
        told = _ready_file(self.path, labels) or _table(self.path, name, service, "environment")
        image_id = _image_id(await self._docker("images", "--format", "json", name))
        digests = await _image_digests(image_id) if image_id else []
        secrets = {
            key.removeprefix("secret."): Secret(str(_looked_up(self.path, name, variable, told)))
            for key, variable in labels.items()
            if key.startswith("secret.")
        }
        return Started(
            endpoint=_endpoint(self.path, name, labels["endpoint"], told),
            fidelity=fidelity,
            version=str(service.get("image", "built from the repository")),
            secrets=secrets,
            details={
                "service": name,
                "image_id": image_id,
                "image_digests": digests,
                "limits": {key: service[key] for key in _LIMITS if key in service},
            },
        )

    async def _docker(self, *words: str, seconds: float | None = None) -> str:
        doing = f"docker compose {words[0]} {words[-1]}"
        every = ("compose", "--file", str(self.path), "--profile", "*", *words)
        return await _run(doing, every, ANSWER_SECONDS if seconds is None else seconds)


def read_compose(path: Path) -> Compose:
    """The file as `docker compose config` resolves it, variables and defaults included.

    Raises InputError for a file that docker cannot read, NotConfigured without docker.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such compose file; name one with --compose-file")
    arguments = ("compose", "--file", str(path), "--profile", "*", "config", "--format", "json")
    command, doing = _command(arguments), "docker compose config"
    try:
        done = subprocess.run(  # noqa: S603 - the user's docker, no shell
            command, check=False, capture_output=True, timeout=ANSWER_SECONDS
        )
        found = json.loads(_printed(doing, done.returncode, done.stdout, done.stderr))
    except OSError as error:
        raise _broken(command[0], error) from error
    except subprocess.TimeoutExpired:
        raise NotConfigured(
            f"{doing} did not end within {ANSWER_SECONDS:g} s; see whether docker answers, or run "
            "without --compose"
        ) from None
    except ValueError:
        raise InputError(f"{path}: {doing} prints no JSON; is {command[0]} docker?") from None
    except Unavailable as error:
        raise InputError(f"{path}: {error}; correct the file, or install docker compose") from None
    services = found.get("services") if isinstance(found, dict) else None
    if not isinstance(services, dict) or not all(isinstance(s, dict) for s in services.values()):
        raise InputError(f"{path}: 'docker compose config' tells no services; add some")
    return Compose(path, services)


def _image_id(told: str) -> str:
    """The id in what `docker compose images` prints; "" where it tells none."""
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(told)[0]["ID"])
    return ""


async def _image_digests(image: str) -> list[str]:
    words = ("image", "inspect", "--format", "{{json .RepoDigests}}", image)
    text = await _run("docker image inspect", words, ANSWER_SECONDS)
    with suppress(ValueError, TypeError):
        return [str(digest) for digest in json.loads(text) or []]
    return []


async def _run(doing: str, arguments: Sequence[str], seconds: float) -> str:
    """What `docker` printed. Cancelled, it is asked to end, so that it tells its own children.

    It prints into files: a child that it leaves behind would hold pipes open.
    """
    command = _command(arguments)
    with TemporaryFile() as printed, TemporaryFile() as complained:
        try:
            process = await anyio.open_process(
                command, stdin=subprocess.DEVNULL, stdout=printed, stderr=complained
            )
        except OSError as error:
            raise _broken(command[0], error) from error
        try:
            with anyio.fail_after(seconds):
                code = await process.wait()
        except TimeoutError:
            told = f"{doing} did not end within {seconds:g} s"
            raise Unavailable(told, remedy="see whether docker answers") from None
        finally:
            await _end(process)
        printed.seek(0)
        complained.seek(0)
        return _printed(doing, code, printed.read(), complained.read())


async def _end(process: Process) -> None:
    """End it, if it has not ended."""
    with anyio.CancelScope(shield=True), suppress(ProcessLookupError):
        if process.returncode is None:
            process.terminate()
            with anyio.move_on_after(END_SECONDS):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


def _broken(docker: str, error: OSError) -> NotConfigured:
    return NotConfigured(
        f"{docker} cannot be run ({error.strerror}); repair it, or run without --compose"
    )


def _command(arguments: Sequence[str]) -> list[str]:
    docker = shutil.which("docker")
    if docker is None:
        raise NotConfigured("docker is not installed; install it, or run without --compose")
    return [docker, *arguments]


def _printed(doing: str, code: int, printed: bytes, complained: bytes) -> str:
    """What `docker` printed; its last line of complaint as Unavailable when it failed."""
    if code != 0:
        lines = complained.decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if not line.startswith(("See '", "Run '"))]
        reason = telling[-1] if telling else f"exit code {code}"
        raise Unavailable(f"{doing} failed: {reason}")
    return printed.decode(errors="replace")


def _table(path: Path, name: str, service: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What docker resolves a part of a service to; podman's answer, for one, may be a list."""
    found = service.get(key) or {}
    if not isinstance(found, Mapping):
        raise InputError(
            f"{path}: services.{name}.{key}: 'docker compose config' tells a "
            f"{type(found).__name__} and no table; use docker compose 2"
        )
    return found


def _labels(path: Path, name: str, service: Mapping[str, Any]) -> dict[str, str]:
    found = {
        key.removeprefix(LABEL): str(value)
        for key, value in _table(path, name, service, "labels").items()
        if key.startswith(LABEL)
    }
    if "endpoint" not in found:
        raise InputError(
            f"{path}: services.{name}.labels: {LABEL}endpoint is missing; "
            "add it with the address at which this machine reaches the service"
        )
    return found


def _ready_file(path: Path, labels: Mapping[str, str]) -> Mapping[str, Any]:
    """What the service wrote about itself when it was ready; empty where it writes nothing."""
    if "ready_file" not in labels:
        return {}
    file = path.parent / labels["ready_file"]
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Unavailable(f"{file}: the service's ready file cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise Unavailable(f"{file}: the service's ready file holds no JSON object")
    return found


def _looked_up(path: Path, name: str, variable: str, told: Mapping[str, Any]) -> Any:
    if variable not in told:
        raise InputError(
            f"{path}: services.{name}.labels: {variable!r} is neither in the service's "
            "environment nor in its ready file; correct the label"
        )
    if told[variable] is None:
        raise InputError(
            f"{path}: services.{name}: {variable!r} has no value, and the service would be asked "
            "without a credential; set the variable that it is made of"
        )
    return told[variable]


def _endpoint(path: Path, name: str, label: str, told: Mapping[str, Any]) -> str:
    try:
        return label.format_map(told)
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"{path}: services.{name}.labels: {LABEL}endpoint: {label!r} cannot be filled in "
            f"({error}); use words of the ready file"
        ) from None


def _fidelity(path: Path, name: str, labels: Mapping[str, str]) -> Fidelity:
    word = labels.get("fidelity", "server")
    for known in _FIDELITIES:
        if word == known:
            return known
    raise InputError(
        f"{path}: services.{name}.labels: {LABEL}fidelity: {word!r} is unknown; "
        f"known: {', '.join(_FIDELITIES)}"
    )
