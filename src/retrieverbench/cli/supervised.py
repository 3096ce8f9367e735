"""A job in a process of its own: what it sent is its exit code, and a pass needs more than that.

Adapters and their clients run inside the job and can end its process at any moment:
`os._exit(0)`, another program in its place, a fault in C code, a kernel short of memory. They can
write into the job's pipe, too. None of that may look like a verdict, least of all like one
that passed: a pass is one whole message, with nothing before or behind it, of a process that
itself ended with 0.
"""

from __future__ import annotations

import os
import secrets
import signal
from contextlib import suppress
from time import monotonic
from types import FrameType

from retrieverbench.cli.ending import ASKING, INTERRUPTED, SAME_SECONDS, STUCK_CODE, say_now
from retrieverbench.cli.output import close_streams
from retrieverbench.cli.streams import far_copy, identity
from retrieverbench.errors import AdapterError

TOKEN_BYTES = 16
"""What begins the job's message is new in every run: who writes blindly does not know it."""
KILL_SECONDS = 3
"""After a second signal: an adapter can make its process deaf to all but SIGKILL."""
_MOST = 1 << 20
"""Bytes; more than a pipe holds."""


class Supervision:
    """Splits the process in two, the job and the parent that waits for its exit code."""

    def __init__(self) -> None:
        self._job = 0
        self._outbox = -1
        self._leads_to: object = None
        self._token = secrets.token_bytes(TOKEN_BYTES)

    def begin(self) -> int | None:
        """Fork: None in the job, which goes on; in the parent its exit code, once it has ended.

        Called before there is any thread or loop. The job has a process group of its own, so
        that Ctrl-C reaches the parent alone and the job gets each signal once; it dies with
        the parent. Raises AdapterError in the parent when the job ended without `send`.
        """
        close_streams()  # what is buffered would be written twice
        inbox, outbox = _pipe()
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
        job = os.fork()
        if job:
            os.close(outbox)
            return _code_of(job, inbox, self._token)
        os.close(inbox)
        os.set_blocking(outbox, False)  # somebody else may have filled it
        self._job, self._outbox = os.getpid(), outbox
        self._leads_to = identity(outbox)
        os.setpgid(0, 0)
        for number in (signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)  # the terminal would stop a background group
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        from retrieverbench.engines.processes.supervisor import die_with

        die_with(parent)
        return None

    def send(self, code: int) -> None:
        """The job's exit code to the parent; nothing outside the job, a fork of it included.

        Nothing either where foreign code closed the pipe: its number may be another's by now.
        """
        if os.getpid() == self._job and identity(self._outbox) == self._leads_to:
            with suppress(OSError):
                os.write(self._outbox, self._token + bytes([code]))


def _pipe() -> tuple[int, int]:
    """Never in the place of a standard stream that is closed: others write there."""
    ends = os.pipe()
    inbox, outbox = map(far_copy, ends)
    for end in ends:
        os.close(end)
    return inbox, outbox


def _code_of(job: int, inbox: int, token: bytes) -> int:
    """Pass signals on until the job ends; then what it sent, if that can be believed."""
    asked = _pass_signals_on(job)
    # The number stays the job's until it is reaped: until then nobody else can get the signals.
    os.waitid(os.P_PID, job, os.WEXITED | os.WNOWAIT)
    for number in (*ASKING, signal.SIGTSTP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    _, status = os.waitpid(job, 0)
    ended = os.waitstatus_to_exitcode(status)
    told = _read(inbox)
    before, _, after = told.partition(token)
    if after[:1] > b"\0":
        return after[0]  # it did not pass, whatever else was written and however it ended
    if (before, after, ended) == (b"", b"\0", 0):
        return 0  # also if it was asked to end: it had told its verdict, or was about to
    if asked:
        return INTERRUPTED
    if not told:
        raise AdapterError(f"the run ended before its verdict: its process {_end(ended)}")
    if before or after != b"\0":
        raise AdapterError(
            "the run's verdict cannot be believed: something else wrote into its pipe; look for "
            "writes to file descriptors in the adapters and their clients"
        )
    raise AdapterError(f"the run passed, but then its process {_end(ended)}")


def _pass_signals_on(job: int) -> list[float]:
    """To the job from now on; what is returned grows by the time of each one that asks to end."""
    asked: list[float] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if asked and monotonic() - asked[0] >= SAME_SECONDS:
            signal.alarm(KILL_SECONDS)
        asked.append(monotonic())
        os.kill(job, number)

    def kill(_number: int, _frame: FrameType | None) -> None:
        say_now("warning: the run did not react to the second request to end, and was killed")
        os.kill(job, signal.SIGKILL)

    def pause(_number: int, _frame: FrameType | None) -> None:
        os.kill(job, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(job, signal.SIGCONT)  # we go on, and so does the job

    signal.signal(signal.SIGTSTP, pause)
    signal.signal(signal.SIGALRM, kill)
    for number in ASKING:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
    return asked


def _read(inbox: int) -> bytes:
    """What was written; a process that the job left may hold the other end."""
    os.set_blocking(inbox, False)
    with suppress(BlockingIOError):
        return os.read(inbox, _MOST)
    return b""


def _end(code: int) -> str:
    """How a process ended, and where to look."""
    if code == STUCK_CODE:
        return "was ended, for what is named above blocked it; look for it in the adapters"
    if code >= 0:
        return (
            f"ended by itself with code {code}; look for os._exit, os.exec and os.closerange in "
            "the adapters and their clients"
        )
    name = signal.Signals(-code).name
    remedy = "look for the kernel's out-of-memory message, and for who else sends it"
    if name != "SIGKILL":
        remedy = "run it with python -X faulthandler to see where"
    return f"was killed by {name}; {remedy}"
