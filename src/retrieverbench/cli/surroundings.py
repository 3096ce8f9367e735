"""What belongs to the whole process, kept from what adapters make of it."""

from __future__ import annotations

import locale
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMITS = tuple(
    getattr(resource, f"RLIMIT_{name}")
    for name in ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK")
    if hasattr(resource, f"RLIMIT_{name}")
)
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


@contextmanager
def kept_surroundings() -> Iterator[None]:
    """Folder, environment, file mode mask, module path and recursion limit are put back.

    So are the locale, functions that trace what runs, signals and timers, and the limits of the
    system, as far as it lets them be raised. Foreign code runs inside; what comes after it writes
    files at the paths that the user named, with the modes that the user's mask leaves, still
    imports, and is not broken off. What it added to the module path comes last, where it hides
    nothing: an adapter may import what lies beside it whenever it likes.
    """
    folder = None
    with suppress(FileNotFoundError):  # it is gone: there is none to come back to
        folder = Path.cwd()
    variables, limit = dict(os.environ), sys.getrecursionlimit()
    paths, finders = list(sys.path), list(sys.meta_path)
    mask = os.umask(0o077)
    os.umask(mask)
    words = locale.setlocale(locale.LC_ALL)
    try:
        with _kept_signals(), _kept_limits(), _kept_tracing():
            yield
    finally:
        os.umask(mask)
        sys.setrecursionlimit(limit)
        sys.path[:] = [*paths, *(added for added in sys.path if added not in paths)]
        sys.meta_path[:] = finders
        os.environ.clear()
        os.environ.update(variables)
        with suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, words)
        with suppress(OSError):  # told by whoever writes there
            if folder is not None:
                os.chdir(folder)


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Timers first: what one of them raises would end the rest."""
    timers = {timer: signal.getitimer(timer) for timer in TIMERS}
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for timer, before in timers.items():
            if before == (0.0, 0.0):
                signal.setitimer(timer, 0.0)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextmanager
def _kept_limits() -> Iterator[None]:
    limits = {kind: resource.getrlimit(kind) for kind in LIMITS}
    try:
        yield
    finally:
        for kind, (soft, hard) in limits.items():
            with suppress(OSError, ValueError):  # only the superuser raises the hard one
                resource.setrlimit(kind, (soft, hard))
                continue
            with suppress(OSError, ValueError):
                _, highest = resource.getrlimit(kind)
                resource.setrlimit(kind, (highest, highest))


@contextmanager
def _kept_tracing() -> Iterator[None]:
    """Those who measure coverage have set one themselves."""
    trace, profile = sys.gettrace(), sys.getprofile()
    try:
        yield
    finally:
        if sys.getprofile() is not profile:
            sys.setprofile(profile)
        if sys.gettrace() is not trace:
            sys.settrace(trace)
