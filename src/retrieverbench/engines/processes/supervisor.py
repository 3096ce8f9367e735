"""Runs an engine for a parent, and ends it whenever and however the parent ends.

Started by path with nothing but the standard library (`python -I -S supervisor.py`), in a
session of its own, so that Ctrl-C in the terminal does not reach it. The first line of
standard input is the order, as JSON; then the parent holds the pipe open. The line `stop`
ends the engine. The end of the pipe without it means that the parent was killed: then the
parent's folder is removed too. When the parent lives on, a last process waits until the
parent lets go of the folder's lock, and removes what the parent did not: it may be killed
after `stop` as well, and in the middle of removing. Standard output tells one JSON object
per event.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PUBLISHED = "published.jsonl"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PARENT_GONE, _ENGINE_GONE, _STOP = "parent gone", "engine gone", "stop"


def main() -> None:
    """Do one order from standard input; exit with the code of the last command."""
    parent = os.getppid()
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        order = json.loads(stdin.readline())
    _process_control(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reason = _ENGINE_GONE
    code = 0
    for number, command in enumerate(order["commands"], start=1):
        try:
            engine = _spawn(command, order)
        except OSError as error:
            os.write(2, f"{command[0]}: {error}\n".encode())
            raise SystemExit(127) from None
        _tell({"pid": engine.pid, "command": number})
        reason = _watch(engine, parent)
        if reason != _ENGINE_GONE:
            _end(engine, order["stop_signal"], order["grace"])
            break
        code = engine.returncode if engine.returncode >= 0 else 128 - engine.returncode
        if code != 0:
            break
    _kill_descendants()
    if reason == _PARENT_GONE:
        remove_folder(Path(order["folder"]))
    else:
        _remove_when_released(Path(order["folder"]), Path(order["lock"]))
    raise SystemExit(code)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all in it, and first the files elsewhere that it names as its own.

    A file with such a name and other content is another's and stays.
    """
    with contextlib.suppress(OSError):
        for line in (folder / PUBLISHED).read_text("utf-8").splitlines():
            partial, path, sha256 = json.loads(line)
            with contextlib.suppress(OSError):
                Path(partial).unlink(missing_ok=True)
                if hashlib.sha256(Path(path).read_bytes()).hexdigest() == sha256:
                    Path(path).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _spawn(command: list[str], order: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start one command; its standard input is a pipe that stays open."""
    user = order["user"]
    identity: dict[str, Any] = {"user": user, "group": order["group"], "extra_groups": []}
    supervisor = os.getpid()
    with Path(order["log"]).open("ab") as log:
        engine = subprocess.Popen(  # noqa: S603 - the commands are the launchers' own
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=order["cwd"],
            env=order["env"],
            start_new_session=True,
            # This process has one thread, so code between fork and exec is safe.
            preexec_fn=lambda: die_with(supervisor),  # noqa: PLW1509 - one system call, no lock
            **(identity if user is not None else {}),
        )
    Path(order["pid_file"]).write_text(f"{engine.pid} {_started(engine.pid)}", "ascii")
    return engine


def _watch(engine: subprocess.Popen[bytes], parent: int) -> str:
    """Wait until the engine ends, the parent says stop, or the parent is gone."""
    while True:
        readable, _, _ = select.select([0], [], [], 0.05)
        if readable:
            return _STOP if os.read(0, 64).startswith(b"stop") else _PARENT_GONE
        if os.getppid() != parent:  # a fork of the parent may still hold the pipe
            return _PARENT_GONE
        if engine.poll() is not None:
            return _ENGINE_GONE


def _end(engine: subprocess.Popen[bytes], stop_signal: int, grace: float) -> None:
    if engine.poll() is not None:
        return
    engine.send_signal(stop_signal)
    try:
        engine.wait(grace)
    except subprocess.TimeoutExpired:
        engine.kill()
        engine.wait()


def _kill_descendants() -> None:
    """End what the engine left behind: as subreaper, this process inherits its orphans."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.005)


def _remove_when_released(folder: Path, lock: Path) -> None:
    """In a process of its own: wait for the parent to end or to let go, then remove the folder.

    The parent removes it before it lets go; then the path is gone or another folder's.
    """
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # so its number is not used again
        released = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return  # the parent has removed it already
    if os.fork() != 0:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # the parent waits for the end of some of them
        os.dup2(nothing, standard)
    fcntl.flock(released, fcntl.LOCK_EX)
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(held), folder.lstat()):
            remove_folder(folder)
    os._exit(0)


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path("/proc/thread-self/children").read_text("ascii").split()]
    except OSError:
        return []


def _started(pid: int) -> str:
    """When the process was started, in clock ticks since boot: with the pid, its identity."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return "?"


def die_with(supervisor: int) -> None:
    """In the child: be killed when the supervisor dies, kill -9 included."""
    _process_control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # it died before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def _process_control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _tell(event: dict[str, int]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main()
