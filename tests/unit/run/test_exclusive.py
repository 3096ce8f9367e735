"""The lock of a place: held by one, freed at its holder's death, and clear where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from retrieverbench.errors import BackendError, Unavailable
from retrieverbench.run.exclusive import only_run_at

HOLD = """
from retrieverbench.run.exclusive import only_run_at
with only_run_at("rb_x"):
    print("held", flush=True)
    input()
"""


def test_a_killed_holder_frees_its_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(Unavailable, match="another run is using this place"),
            only_run_at("rb_x"),
        ):
            pytest.fail("was held twice")
        with only_run_at("rb_y"):
            holder.kill()
            holder.wait()
    with only_run_at("rb_x"):
        pass


def test_a_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "retrieverbench").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with (
        pytest.raises(BackendError, match=r"cannot be written.*XDG_CACHE_HOME"),
        only_run_at("rb_x"),
    ):
        pytest.fail("was held")
