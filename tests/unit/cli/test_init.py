"""What `init` writes is whole or not there, and the command it prints can be typed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from retrieverbench.cli.init import FILES, init


def test_the_next_command_works_as_it_is_printed(tmp_path: Path) -> None:
    folder = tmp_path / "a folder's (name)"
    printed = CliRunner().invoke(init, [str(folder)], catch_exceptions=False).stdout
    command = printed.splitlines()[-1].partition("next: ")[2]
    assert shlex.split(command) == ["retrieverbench", "run", str(folder / "suite.toml")]


def test_nothing_is_left_of_a_suite_that_could_not_be_written(tmp_path: Path) -> None:
    """So that the next attempt is not refused; the limit stands for a full disk."""
    command = f"ulimit -f 1; exec {shlex.quote(sys.executable)} -m retrieverbench init ."
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2, "error: .: cannot be written: File too large; name another folder\n"
    )  # fmt: skip
    assert [name for name in FILES if (tmp_path / name).exists()] == []


def test_runs_are_kept_out_of_git_and_a_file_of_the_user_is_kept(tmp_path: Path) -> None:
    new, used = tmp_path / "new", tmp_path / "used"
    used.mkdir()
    (used / ".gitignore").write_text("mine\n", encoding="utf-8")
    told = [CliRunner().invoke(init, [str(folder)]).output for folder in (new, used)]
    assert (new / ".gitignore").read_text(encoding="utf-8").splitlines() == [
        "results/runs/",
        "results/audits/",
        "__pycache__/",
    ]
    assert (used / ".gitignore").read_text(encoding="utf-8") == "mine\n"
    assert ".gitignore" in told[0].splitlines()[0]
    assert "is already there; results/runs/ and results/audits/ belong in it" in told[1]
    assert all((used / name).is_file() for name in FILES)
