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


def write(path: Path, text: str = "x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit, a suite's folder in it, and hostile configuration."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "status.showUntrackedFiles", "no")
    write(tmp_path / "ci/suite.toml")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    return tmp_path


def is_dirty(tree: Path) -> bool | None:
    results = tree / "ci" / "results"
    return commit_of(tree / "ci", results)[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ci/results/runs/suite/a b.json", "{}"),
        ('ci/results/runs/suite/\u00e4\n".md', "x"),
        ("ci/results/baselines/suite/mem.json", "{}"),
        ("ci/__pycache__/mine.cpython-311.pyc", "x"),
        ("j.xml", '<?xml version="1.0"?>\n<testsuites name="retrieverbench" tests="1">'),
        ("pg.json", '{"endpoint": "a", "fidelity": "server", "pid": 1}'),
    ],
)
def test_what_the_harness_wrote_makes_no_tree_dirty(tree: Path, name: str, text: str) -> None:
    write(tree / name, text)
    assert is_dirty(tree) is False


@pytest.mark.parametrize(
    "words",
    [
        ("mv", "ci/suite.toml", "ci/other.toml"),
        ("rm", "-q", "ci/suite.toml"),
        ("mv", "ci/suite.toml", "ci/results/runs/suite.toml"),
    ],
)
def test_so_does_a_file_that_moved_or_went(tree: Path, words: tuple[str, ...]) -> None:
    (tree / "ci/results/runs").mkdir(parents=True)
    git(tree, *words)
    assert is_dirty(tree) is True


def test_so_do_changes_of_a_tracked_report_and_of_a_submodule(tree: Path) -> None:
    report = write(tree / "j.xml", '<testsuites name="retrieverbench">')
    git(tree, "add", ".")
    git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tree), "sub")
    git(tree, "commit", "-qm", "y")
    assert is_dirty(tree) is False
    write(tree / "sub/ci/suite.toml", "changed")
    assert is_dirty(tree) is True
    git(tree / "sub", "checkout", "-q", ".")
    report.write_text('<testsuites name="retrieverbench">\n', encoding="utf-8")
    assert is_dirty(tree) is True


def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert commit_of(tmp_path, tmp_path / "results") == (None, None)
