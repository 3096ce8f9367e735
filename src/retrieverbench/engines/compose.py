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
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, get_args

import anyio

from retrieverbench.adapter import Secret
from retrieverbench.engines.base import Started
from retrieverbench.errors import InputError, NotConfigured, Unavailable
from retrieverbench.model import Fidelity

LABEL = "retrieverbench."
HEALTH_SECONDS = 300
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
            wait = ("--wait", "--wait-timeout", str(HEALTH_SECONDS))
            await self._docker("up", "--detach", *wait, name)
            yield await self._started(name, labels, fidelity)
        finally:
            if not was_running:
                with anyio.CancelScope(shield=True):
                    await self._docker("stop", name)

    async def _started(self, name: str, labels: Mapping[str, str], fidelity: Fidelity) -> Started:
        service = self.services[name]
        told = _ready_file(self.path, labels) or service.get("environment") or {}
        image = json.loads(await self._docker("images", "--format", "json", name) or "[]")
        image_id = image[0]["ID"] if image else ""
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

    async def _docker(self, *arguments: str) -> str:
        return await _run("compose", "--file", str(self.path), "--profile", "*", *arguments)


def read_compose(path: Path) -> Compose:
    """The file as `docker compose config` resolves it, variables and defaults included.

    Raises InputError for a file that docker cannot read, NotConfigured without docker.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such compose file; name one with --compose-file")
    arguments = ("compose", "--file", str(path), "--profile", "*", "config", "--format", "json")
    command = _command(arguments)
    done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - docker itself
    try:
        found = json.loads(_printed(done, arguments))
    except Unavailable as error:
        raise InputError(f"{path}: {error}; correct the file, or install docker compose") from None
    services = found.get("services") if isinstance(found, dict) else None
    if not isinstance(services, dict) or not all(isinstance(s, dict) for s in services.values()):
        raise InputError(f"{path}: 'docker compose config' tells no services; add some")
    return Compose(path, services)


async def _image_digests(image: str) -> list[str]:
    text = await _run("image", "inspect", "--format", "{{json .RepoDigests}}", image)
    return [str(digest) for digest in json.loads(text) or []]


async def _run(*arguments: str) -> str:
    return _printed(await anyio.run_process(_command(arguments), check=False), arguments)


def _command(arguments: Sequence[str]) -> list[str]:
    docker = shutil.which("docker")
    if docker is None:
        raise NotConfigured("docker is not installed; install it, or run without --compose")
    return [docker, *arguments]


def _printed(done: CompletedProcess[bytes], arguments: Sequence[str]) -> str:
    """What `docker` printed; its last line of complaint as Unavailable when it failed."""
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(
            f"docker {' '.join(arguments[:1])} {arguments[-2]} {arguments[-1]} failed: "
            f"{lines[-1] if lines else f'exit code {done.returncode}'}"
        )
    return done.stdout.decode(errors="replace")


def _labels(path: Path, name: str, service: Mapping[str, Any]) -> dict[str, str]:
    found = {
        key.removeprefix(LABEL): str(value)
        for key, value in (service.get("labels") or {}).items()
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
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Unavailable(f"{file}: the service's ready file cannot be read: {error}") from None
    return found


def _looked_up(path: Path, name: str, variable: str, told: Mapping[str, Any]) -> Any:
    if variable not in told:
        raise InputError(
            f"{path}: services.{name}.labels: {variable!r} is neither in the service's "
            "environment nor in its ready file; correct the label"
        )
    return told[variable]


def _endpoint(path: Path, name: str, label: str, told: Mapping[str, Any]) -> str:
    try:
        return label.format_map(told)
    except (KeyError, ValueError) as error:
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
