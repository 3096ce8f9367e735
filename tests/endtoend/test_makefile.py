"""What `make` makes anew, and from what: asked without installing anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the Makefile looks at, and an environment that was made here."""
    folder = tmp_path / "a clone's folder"
    for file in ("Makefile", "requirements/installer.txt", "requirements/run.txt"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / file, folder / file)
    for name in ("pyproject.toml", "README.md", "LICENSE", "src", "adapters"):
        (folder / name).touch()
    environment = folder / ".venv-run"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "packages").write_text(f"{folder.resolve()}\n", encoding="utf-8")
    (environment / "installed").touch()
    return folder


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make, whatever make runs this test."""
    return subprocess.run(
        ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_environment_is_kept_where_nothing_changed(clone: Path) -> None:
    assert "-m venv" not in make(clone, "-n", "demo").stdout


def test_an_environment_is_made_anew_where_the_clone_was_moved(clone: Path) -> None:
    moved = clone.rename(clone.with_name("moved"))
    assert "-m venv --clear .venv-run" in make(moved, "-n", "demo").stdout


def test_an_environment_is_made_anew_where_its_interpreter_is_gone(clone: Path) -> None:
    interpreter = clone / ".venv-run" / "bin" / "python"
    interpreter.unlink()
    interpreter.symlink_to(clone / "gone")
    assert "-m venv --clear .venv-run" in make(clone, "-n", "demo").stdout


def test_pip_installs_where_uv_cannot_be_had(clone: Path) -> None:
    shutil.rmtree(clone / ".venv-run")
    log = clone / "log"
    fake = clone / "python"
    fake.write_text(
        f'#!/bin/sh\necho "$*" >> "{log}"\n'
        'case "$*" in *venv*) mkdir -p .venv-run/bin && cp "$0" .venv-run/bin/python;;\n'
        "*installer.txt*) exit 1;; esac\n"
    )
    fake.chmod(0o755)
    assert make(clone, "PYTHON=./python", "demo").returncode == 0
    *_, fallback, ours, demo = log.read_text().splitlines()
    assert fallback.endswith("--require-hashes -r requirements/run.txt")
    assert ours.endswith("--force-reinstall .")
    assert demo == "-m retrieverbench run benchmarks/suites/demo.toml"


def test_an_interpreter_that_is_too_old_is_named_before_anything_is_made(clone: Path) -> None:
    shutil.rmtree(clone / ".venv-run")
    as_if_old = clone / "python"
    program = "import sys; sys.version_info = (3, 10, 1); exec(sys.argv.pop())"
    as_if_old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{program}" "$2"\n')
    as_if_old.chmod(0o755)
    done = make(clone, "PYTHON=./python", "demo")
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert "is Python 3.10; 3.11 or newer is needed: add PYTHON=" in first
    assert "venv" not in done.stdout
