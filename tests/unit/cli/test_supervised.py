"""What a job tells its parent, and what is not taken for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os
from contextlib import suppress
from retrieverbench.cli.supervised import Supervision

for stream in CLOSED:
    os.close(stream)
supervision = Supervision()
code = supervision.begin()
if code is not None:
    os._exit(code)
for stream in CLOSED:
    with suppress(OSError):
        os.write(stream, b"0")
if os.fork() == 0:
    supervision.send(0)
    os._exit(0)
os.wait()
supervision.send(7)
os.abort()
"""


@pytest.mark.parametrize("closed", [(), (1, 2)], ids=["open streams", "closed streams"])
def test_the_code_is_what_the_job_itself_sent(closed: tuple[int, ...]) -> None:
    program = PROGRAM.replace("CLOSED", str(closed))
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 7
