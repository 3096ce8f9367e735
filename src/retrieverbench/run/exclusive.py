"""A place that outlives its run is used by one at a time, and remembered until it is removed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import sleep

from retrieverbench.errors import BackendError, Unavailable

_ATTEMPTS, _PAUSE = 5, 0.05
"""Another run that only looks whether a place is in use holds its lock for a moment."""


@dataclass(slots=True)
class Held:
    """A place whose lock is held.

    `was_begun` where a run began it before and did not remove it. `left` says the same of other
    places at that server, a line each. Once it is `removed` nothing is remembered of it.
    """

    was_begun: bool
    left: tuple[str, ...]
    removed: bool = False


@contextmanager
def only_run_at(place: str, server: str) -> Iterator[Held]:
    """Hold the lock of a place; the system frees it when the process ends, however it ends.

    It is a file in the user's cache folder, so it keeps apart the runs of one user on one
    machine; `server` is told as `server_of` does. The file stays where the place stays. Raises
    Unavailable while another run holds it, and BackendError where the folder cannot be written.
    """
    path = _file_of(place, server)
    lock = _open_and_lock(path, place, server)
    try:
        held = Held(bool(os.fstat(lock).st_size), tuple(_left_beside(path, server)))
        if not held.was_begun:
            _remember(lock, path, place, server)
        try:
            yield held
        finally:
            if held.removed:
                path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _file_of(place: str, server: str) -> Path:
    """A file of its own for each place at each server."""
    from platformdirs import user_cache_path

    name = f"{place}.{sha256(server.encode()).hexdigest()[:12]}.lock"
    folder: Path = user_cache_path("retrieverbench") / "places"
    return folder / name


def _open_and_lock(path: Path, place: str, server: str) -> int:
    """The lock of the file that is there now, not of one that its last holder removed."""
    import fcntl

    for attempt in range(_ATTEMPTS):
        lock = _open_lock(path)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        except BlockingIOError:
            if attempt:
                sleep(_PAUSE)
        os.close(lock)
    raise Unavailable(
        f"another run is using this place: {place!r} at {server} is locked on this machine",
        remedy="wait until it has ended, or give this suite another name",
    )


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def _remember(lock: int, path: Path, place: str, server: str) -> None:
    since = datetime.now(UTC).strftime("%Y-%m-%d")
    try:
        os.write(lock, json.dumps({"place": place, "server": server, "since": since}).encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BackendError:
    return BackendError(
        f"load.resume: cache folder {path.parent}: cannot be written ({error.strerror})",
        remedy="make it writable, name another one by XDG_CACHE_HOME, or remove load.resume",
    )


def _left_beside(own: Path, server: str) -> Iterator[str]:
    """Other places at that server that a run began and did not remove, and that none uses."""
    for path in sorted(own.parent.glob("*.lock")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            told = json.loads(path.read_bytes())
            if path != own and told["server"] == server and not _is_used(path):
                yield (
                    f"place {told['place']!r} at {server}, begun on {told['since']} with another "
                    "corpus, model or suite, was never removed: remove it there if nobody needs "
                    f"it, and {path.name} from the folder 'places' of the user's cache"
                )


def _is_used(path: Path) -> bool:
    import fcntl

    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
