"""What adapters make of the whole process does not reach what comes after them."""

from __future__ import annotations

import locale
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from retrieverbench.cli.surroundings import kept_surroundings


def surroundings() -> tuple[object, ...]:
    mask = os.umask(0)
    os.umask(mask)
    where, limit = Path.cwd(), sys.getrecursionlimit()
    process = (
        locale.setlocale(locale.LC_ALL),
        signal.getsignal(signal.SIGVTALRM),
        signal.getitimer(signal.ITIMER_VIRTUAL),
        sys.getprofile(),
        resource.getrlimit(resource.RLIMIT_CORE),
    )
    return where, mask, limit, dict(os.environ), list(sys.path), list(sys.meta_path), process


def _spoil(folder: Path) -> None:
    os.chdir(folder)
    folder.rmdir()
    os.umask(0o777)
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    os.environ.clear()
    sys.path.clear()
    sys.meta_path.clear()
    locale.setlocale(locale.LC_ALL, "POSIX")
    signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_VIRTUAL, 3600.0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.setprofile(lambda *_: None)
    raise ValueError("of the adapter")


def test_they_are_put_back_whatever_happens_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = surroundings()
    gone = tmp_path / "gone"
    gone.mkdir()
    with pytest.raises(ValueError, match="of the adapter"), kept_surroundings():
        _spoil(gone)
    assert surroundings() == before


def test_a_folder_that_is_gone_for_good_is_told_by_who_writes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    with kept_surroundings():
        os.chdir(tmp_path)
        gone.rmdir()
    assert Path.cwd() == tmp_path


@pytest.mark.usefixtures("folder_that_is_gone")
def test_a_folder_that_was_gone_before_is_not_needed(tmp_path: Path) -> None:
    with kept_surroundings():
        os.chdir(tmp_path)
    assert Path.cwd() == tmp_path


def test_what_was_added_to_the_module_path_comes_last() -> None:
    before = list(sys.path)
    with kept_surroundings():
        sys.path[:] = ["of the adapter", *before[1:]]
    added = sys.path[len(before) :]
    sys.path[:] = before
    assert added == ["of the adapter"]
