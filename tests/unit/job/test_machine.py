"""Which tree a run is of, and whether it is what was committed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from retrieverbench.job.machine import commit_of


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.test")
    done = subprocess.run(
        ["git", "-C", folder, *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """The folder of a suite, committed, in a repository with a name that is a pattern of git's."""
    top = tmp_path / "a *[b] repository"
    folder = top / "bench"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text("x = 1\n")
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    return folder


def test_what_earlier_runs_wrote_makes_no_tree_dirty(suite: Path) -> None:
    results = suite / "results[1]"
    for part in ("runs/s/a.json", "audits/s/a.json", "baselines/s/a.json"):
        (results / part).parent.mkdir(parents=True)
        (results / part).touch()
    assert commit_of(suite, results) == (git(suite, "rev-parse", "HEAD"), False)
    assert commit_of(suite, suite.parent.parent / "elsewhere")[1] is True


@pytest.mark.parametrize("changed", ["suite.toml", "new.jsonl", "../above.py", "results/mine.py"])
def test_any_other_change_does(suite: Path, changed: str) -> None:
    (suite / "results").mkdir()
    (suite / changed).write_text("y = 2\n")
    assert commit_of(suite, suite / "results")[1] is True


def test_names_of_files_that_are_no_text_are_no_defect(suite: Path) -> None:
    git(suite, "config", "core.quotepath", "off")
    Path(bytes(suite).decode() + "/caf\udce9").touch()
    assert commit_of(suite, suite / "results")[1] is True


def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert commit_of(tmp_path, tmp_path / "results") == (None, None)
