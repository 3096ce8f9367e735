"""What is said of places that nobody could look for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUITE = """
golden = "golden.jsonl"
corpus = "corpus.jsonl"
[[targets]]
adapter = "pgvector"
"""


def leftovers(folder: Path, suite: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: the command runs a loop, which the tests' own one would not let."""
    path = folder / "suite.toml"
    path.write_text(suite, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "retrieverbench", "leftovers", str(path)],
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},  # what others left is not looked for
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_said_of_a_server_that_could_not_be_asked(tmp_path: Path) -> None:
    assert leftovers(tmp_path, SUITE).stdout == "nothing is left\n"
    done = leftovers(tmp_path, f'{SUITE}endpoint_env = "IS_NOT_SET"\n')
    assert done.returncode == 3
    assert done.stdout == ""
    assert "IS_NOT_SET is not set" in done.stderr
