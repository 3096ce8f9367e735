"""Standard streams and their descriptors, put back after foreign code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrieverbench.cli.streams import FAR, far_copy, identity, kept_streams

PROGRAM = """
import os, sys
from retrieverbench.cli.streams import kept_streams
with kept_streams():
    SPOIL
print("kept")
print("kept", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize(
    "spoil",
    [
        "sys.stdout = sys.stderr = None",
        "sys.stdout.close(); sys.stderr.close()",
        "os.close(1); os.close(2); os.open('/', os.O_RDONLY); os.open('/', os.O_RDONLY)",
        "os.closerange(0, 256)",
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 1); os.dup2(1, 2)",
    ],
)
def test_what_leads_elsewhere_or_nowhere_is_put_back(spoil: str) -> None:
    program = PROGRAM.replace("SPOIL", spoil)
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=60, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "kept\n", "kept\n")


def test_streams_that_were_left_alone_are_the_same_objects() -> None:
    def found() -> tuple[object, ...]:
        return sys.stdout, sys.stderr, len(list(Path("/proc/self/fd").iterdir()))

    before = found()
    with kept_streams():
        pass
    assert found() == before


def test_a_copy_is_far_and_its_identity_that_of_what_it_leads_to(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as one, (tmp_path / "b").open("w") as other:
        copy = far_copy(one.fileno())
        assert copy >= FAR
        assert not os.get_inheritable(copy)
        assert identity(copy) == identity(one.fileno()) != identity(other.fileno())
        os.close(copy)
        assert identity(copy) is None
