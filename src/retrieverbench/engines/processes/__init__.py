"""Processes that cannot outlive their parent, and folders that are removed with them.

    async with private_folder("pgvector") as folder:
        async with running([["initdb", ...], ["postgres", ...]], folder=folder) as process:
            await wait_until_ready(process, probe, timeout=30)

Every process runs under a small supervisor (`supervisor.py`) that holds a pipe to us. After
kill -9 of this process, also while it stops the engine or removes the folder, the supervisor
ends the engine and removes the folder. When the supervisor is killed as well, the kernel
kills the engine (PR_SET_PDEATHSIG) and the folder is removed by the next `private_folder` of
anyone with the same user.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from retrieverbench.engines.processes.supervisor import PUBLISHED, remove_folder
from retrieverbench.errors import TimedOut, Unavailable

_PREFIX = "retrieverbench-"
_LOCK, _PID_FILE, _LOG = "owner.lock", "engine.pid", "engine.log"
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True, slots=True)
class Supervised:
    """A running engine. `pid` is the engine's own, `log` the file of all that it printed."""

    name: str
    pid: int
    log: Path
    supervisor: Process

    @property
    def ended(self) -> str | None:
        """None while it runs; afterwards how it ended, in words (128 + n is signal n)."""
        code = self.supervisor.returncode
        return None if code is None else f"it ended with exit code {code}"

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of the log, for an error's text."""
        return log_tail(self.log, lines)

    async def wait(self) -> str:
        """Wait until it ends, whatever ends it; return how it ended, with the end of its log."""
        await self.supervisor.wait()
        return f"engine {self.name}: {self.ended}; its log ends:\n{self.log_tail()}"

    def publish(self, path: Path, text: str) -> None:
        """Write a file for other programs, that only our user can read and that goes with us.

        It appears whole, and is removed with the engine's private folder, whoever removes it:
        so it does not outlive a kill -9 of this process either. Raises OSError.
        """
        path, content = path.absolute(), text.encode()
        descriptor, partial = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            with (self.log.parent / PUBLISHED).open("a", encoding="utf-8") as published:
                line = [partial, str(path), hashlib.sha256(content).hexdigest()]
                published.write(json.dumps(line) + "\n")
            file.write(content)
        Path(partial).replace(path)


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log file; says so when there are none."""
    try:
        text = log.read_text("utf-8", errors="replace").strip()
    except OSError:
        text = ""
    return "\n".join(text.splitlines()[-lines:]) or "(the log is empty)"


@contextlib.asynccontextmanager
async def private_folder(name: str) -> AsyncIterator[Path]:
    """A fresh folder that only we can enter, removed on leaving; removes leftovers first.

    `name` is the engine's. A lock that the kernel releases at our death marks the folder as
    in use, so that folders of killed processes can be told from those of living ones.
    """
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-"))
    lock = _lock_new(folder)
    try:
        yield folder
    finally:
        remove_folder(folder)
        os.close(lock)


@contextlib.asynccontextmanager
async def running(
    commands: Sequence[Sequence[str]],
    *,
    folder: Path,
    name: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: str | None = None,
    group: str | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace: float = 10.0,
) -> AsyncIterator[Supervised]:
    """Run the commands one after another; the last is the engine and is yielded started.

    `folder` comes from `private_folder`. `env` None means ours. Each command's standard
    input is an open pipe, its output goes to `engine.log` in the folder. On leaving, the
    engine gets `stop_signal`, after `grace` seconds SIGKILL, and so does all it started.
    Raises Unavailable with the log's tail when a command fails before the last one starts.
    """
    log = folder / _LOG
    order = {
        "commands": [list(command) for command in commands],
        "name": name,
        "folder": str(folder),
        "lock": str(folder / _LOCK),
        "log": str(log),
        "pid_file": str(folder / _PID_FILE),
        "env": None if env is None else dict(env),
        "cwd": str(cwd or folder),
        "user": user,
        "group": group or user,
        "stop_signal": int(stop_signal),
        "grace": grace,
    }
    with log.open("ab") as output:
        supervisor = await anyio.open_process(
            [sys.executable, "-I", "-S", str(_SUPERVISOR)],
            cwd="/",
            stderr=output,
            start_new_session=True,
        )
    try:
        assert supervisor.stdin is not None
        await supervisor.stdin.send(json.dumps(order).encode() + b"\n")
        yield Supervised(name, await _last_pid(supervisor, order), log, supervisor)
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(supervisor, grace)


async def wait_until_ready(
    engine: Supervised,
    probe: Callable[[], Awaitable[bool]],
    *,
    timeout: float,
    interval: float = 0.02,
) -> float:
    """Ask `probe` until it says True; return the seconds it took.

    Raises Unavailable when the engine ends, TimedOut after `timeout` seconds, both with the
    log's tail.
    """
    begin = time.perf_counter_ns()
    with anyio.move_on_after(timeout):
        while True:
            if engine.ended is not None:
                raise Unavailable(
                    f"engine {engine.name}: {engine.ended} before it was ready; its log ends:\n"
                    f"{engine.log_tail()}"
                )
            if await probe():
                return (time.perf_counter_ns() - begin) / 1e9
            await anyio.sleep(interval)
    raise TimedOut(
        f"engine {engine.name}: not ready after {timeout:g} s; its log ends:\n{engine.log_tail()}"
    )


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago.

    For engines that cannot choose one themselves: somebody else may take it before, so the
    caller must prove that its own process answers there, and try another port otherwise.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def remove_leftovers() -> None:
    """Remove the folders of killed parents, and end what still runs in them.

    Only folders of our user whose owner is dead; only processes whose pid and start time
    are those written down when we started them.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its owner is alive
        else:
            _kill_recorded(folder / _PID_FILE)
            remove_folder(folder)
        finally:
            os.close(lock)


def start_time(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]


def _lock_new(folder: Path) -> int:
    """Lock under another name first: without its lock file a folder is nobody's leftover."""
    unnamed = folder / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / _LOCK)
    return lock


def _kill_recorded(pid_file: Path) -> None:
    try:
        pid, _, started = pid_file.read_text("ascii").partition(" ")
    except OSError:
        return
    if pid.isdigit() and start_time(int(pid)) == started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


async def _last_pid(supervisor: Process, order: Mapping[str, Any]) -> int:
    """The pid of the last command, once those before it have ended well."""
    assert supervisor.stdout is not None
    events = BufferedByteReceiveStream(supervisor.stdout)
    try:
        while True:
            event = json.loads(await events.receive_until(b"\n", 4096))
            if event["command"] == len(order["commands"]):
                return int(event["pid"])
    except (anyio.EndOfStream, anyio.IncompleteRead):
        code = await supervisor.wait()
        raise Unavailable(
            f"engine {order['name']}: preparing it failed with exit code {code}; its log ends:\n"
            f"{log_tail(Path(order['log']))}"
        ) from None


async def _stop(supervisor: Process, grace: float) -> None:
    assert supervisor.stdin is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await supervisor.stdin.send(b"stop\n")
    with anyio.move_on_after(grace + 15):
        await supervisor.wait()
    if supervisor.returncode is None:
        supervisor.kill()  # the kernel then kills the engine
        await supervisor.wait()
    await supervisor.aclose()
