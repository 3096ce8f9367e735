"""What a job tells its parent, and what is not taken for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os
from contextlib import suppress
from retrieverbench.cli.supervised import Supervision
from retrieverbench.errors import AdapterError

for stream in CLOSED:
    os.close(stream)
supervision = Supervision()
try:
    code = supervision.begin()
except AdapterError as error:
    if 2 not in CLOSED:
        os.write(2, str(error).encode())
    os._exit(3)
if code is not None:
    os._exit(code)
for stream in CLOSED:
    with suppress(OSError):
        os.write(stream, b"0")

def write(what):
    os.write(supervision._outbox, what)

JOB
"""


def run(job: str, closed: tuple[int, ...] = ()) -> tuple[int, str]:
    """The exit code and the words of a program whose job does this."""
    program = PROGRAM.replace("CLOSED", str(closed)).replace("JOB", job)
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=False, capture_output=True, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("closed", [(), (1, 2)], ids=["open streams", "closed streams"])
def test_the_code_is_what_the_job_itself_sent(closed: tuple[int, ...]) -> None:
    job = """
if os.fork() == 0:
    supervision.send(0)
    os._exit(0)
os.wait()
supervision.send(7)
os.abort()
"""
    assert run(job, closed)[0] == 7


@pytest.mark.parametrize(
    ("job", "code", "told"),
    [
        ("supervision.send(0); os._exit(0)", 0, ""),
        ("write(bytes(1)); os._exit(0)", 3, "something else wrote"),
        ("write(bytes(1)); supervision.send(0); os._exit(0)", 3, "something else wrote"),
        ("supervision.send(0); write(bytes(1)); os._exit(0)", 3, "something else wrote"),
        ("write(bytes(17)); os._exit(0)", 3, "something else wrote"),
        ("write(bytes(1)); supervision.send(4); write(bytes(1)); os._exit(0)", 4, ""),
        ("write(bytes(65536)); supervision.send(0); os._exit(0)", 3, "something else wrote"),
        ("supervision.send(4); os._exit(0)", 4, ""),
        ("supervision.send(0); os._exit(5)", 3, "passed, but then its process ended by itself"),
        ("supervision.send(0); os.abort()", 3, "passed, but then its process was killed"),
        ("os._exit(0)", 3, "ended before its verdict"),
    ],
)
def test_a_pass_is_one_whole_message_of_a_process_that_ended_with_0(
    job: str, code: int, told: str
) -> None:
    ended, words = run(job)
    assert (ended, told in words) == (code, True), words


ASKED = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
os.kill(os.getppid(), signal.SIGINT)
signal.sigwait({signal.SIGINT})
"""


@pytest.mark.parametrize(
    ("job", "code"),
    [("supervision.send(0); os._exit(0)", 0), ("supervision.send(0); os._exit(1)", 130),
     ("supervision.send(1); os._exit(1)", 1), ("os._exit(0)", 130)],
)  # fmt: skip
def test_one_that_is_asked_to_end_and_has_its_verdict_keeps_it(job: str, code: int) -> None:
    assert run(ASKED + job) == (code, "")
