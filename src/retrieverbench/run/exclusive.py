"""A place that outlives its run is used by one run at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from retrieverbench.errors import BackendError, Unavailable


@contextmanager
def only_run_at(place: str) -> Iterator[None]:
    """Hold the lock of a place; the system frees it when the process ends, however it ends.

    It is an empty file in the user's cache folder, so it keeps apart the runs of one user on one
    machine, whatever address they use. Raises Unavailable while another run holds it, and
    BackendError where the folder cannot be written.
    """
    import fcntl

    lock = _open_lock(place)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable(
                f"another run is using this place: {place!r} is locked on this machine",
                remedy="wait until it has ended, or give this suite another name",
            ) from None
        yield
    finally:
        os.close(lock)


def _open_lock(place: str) -> int:
    from platformdirs import user_cache_path

    folder: Path = user_cache_path("retrieverbench") / "places"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / f"{place}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BackendError(
            f"load.resume: cache folder {folder}: cannot be written ({error.strerror})",
            remedy="make it writable, name another one by XDG_CACHE_HOME, or remove load.resume",
        ) from error
