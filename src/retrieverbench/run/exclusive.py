"""A place at a server is used by one run at a time, and remembered until it is removed.

What remembers it is a file in the user's cache folder, written before the place is made and
locked for as long as the run lives. A file that nobody locks is of a run that was killed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from time import sleep

from retrieverbench.adapter import OWN_PREFIX
from retrieverbench.errors import BackendError, Unavailable
from retrieverbench.run.endpoint import THIS_MACHINE, server_of

_ATTEMPTS, _PAUSE = 5, 0.05
"""Another run that only looks whether a place is in use holds its lock for a moment."""


class Unremembered(BackendError):
    """The folder in which places are remembered cannot be written."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A place that a run makes at a server.

    `server` is told as `server_of` does, `adapter` and `layout` say how it is removed. `resumes`
    where another run of the same suite can go on with it. `since` is the day, "" for today.
    `engine` is the one of ours that answers there, "" if none does: its places end with it.
    """

    place: str
    server: str
    adapter: str = ""
    layout: str = "filter"
    resumes: bool = False
    since: str = ""
    engine: str = ""


@dataclass(slots=True)
class Held:
    """A place whose lock is held.

    `was_begun` where a run began it before and did not remove it. `left` are other places at
    that server of which the same is true. Once it is `removed` nothing is remembered of it.
    """

    was_begun: bool
    left: tuple[Begun, ...]
    removed: bool = False


@contextmanager
def only_run_at(begun: Begun) -> Iterator[Held]:
    """Hold the lock of a place; the system frees it when the process ends, however it ends.

    It is a file in the user's cache folder, so it keeps apart the runs of one user on one
    machine. The file stays where the place stays. Raises Unavailable while another run holds
    it, and Unremembered where the folder cannot be written.
    """
    path = _file_of(begun)
    lock = _open_and_lock(path, begun)
    try:
        left = tuple(one for one in left_places() if one.server == begun.server)
        held = Held(bool(os.fstat(lock).st_size), left)
        if not held.was_begun:
            _remember(lock, path, begun)
        try:
            yield held
        finally:
            if held.removed:
                path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def left_places() -> Iterator[Begun]:
    """Places that runs of this user on this machine began, did not remove, and do not use.

    A file that names another place than its own is passed over: nothing is removed by it. One
    of a place that was in an engine of ours, which has ended, is removed.
    """
    for path in sorted(_folder("places").glob("*.lock")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            told = json.loads(path.read_bytes())
            begun = Begun(**told)
            is_ours = begun.place.startswith(OWN_PREFIX) and _file_of(begun) == path
            if not is_ours or _is_used(path):
                continue
            if begun.engine and not _runs(_folder("engines") / begun.engine):
                path.unlink()
                continue
            yield begun


@contextmanager
def engine_at(endpoint: str) -> Iterator[None]:
    """Tell runs of this user, while it lasts, that a started engine answers at an address.

    The lock of a file, which the system frees however the process ends. Where no file can be
    written, places in the engine are remembered as those of any other server.
    """
    import fcntl

    path = _folder("engines") / f"{_port(server_of(endpoint))}-{token_hex(4)}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in path.parent.glob("*.lock"):
            if not _runs(other):  # it was killed
                other.unlink(missing_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _engine_of(begun: Begun) -> str:
    """The file of the engine that answers at a place's server, "" if none of ours does."""
    found = _folder("engines").glob(f"{_port(begun.server)}-*.lock")
    return next((path.name for path in found if _runs(path)), "")


def _runs(engine: Path) -> bool:
    """Whether an engine holds its file, which goes with it unless it is killed."""
    with suppress(FileNotFoundError):
        return _is_used(engine)
    return False


def _port(server: str) -> str:
    """The port of a server on this machine, "other" of another one."""
    found = re.fullmatch(rf"{THIS_MACHINE}:(\d+)(/.*)?", server)
    return found[1] if found else "other"


def _folder(name: str) -> Path:
    from platformdirs import user_cache_path

    folder: Path = user_cache_path("retrieverbench") / name
    return folder


def _file_of(begun: Begun) -> Path:
    """A file of its own for each place at each server."""
    return (
        _folder("places") / f"{begun.place}.{sha256(begun.server.encode()).hexdigest()[:12]}.lock"
    )


def _open_and_lock(path: Path, begun: Begun) -> int:
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
        f"another run is using this place: {begun.place!r} at {begun.server} is locked on this "
        "machine",
        remedy="wait until it has ended, or give this suite another name",
    )


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def _remember(lock: int, path: Path, begun: Begun) -> None:
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    today = replace(begun, since=day, engine=_engine_of(begun))
    try:
        os.write(lock, json.dumps(asdict(today)).encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> Unremembered:
    return Unremembered(
        f"cache folder {path.parent}: cannot be written ({error.strerror}), so a run that is "
        "killed could not be told from one that lives, nor its place be found again",
        remedy="make it writable, or name another one by XDG_CACHE_HOME",
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
