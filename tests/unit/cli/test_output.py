"""A stream that cannot be written to ends nothing but the writing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retrieverbench.cli.output import is_terminal, reader_may_leave, tell, unbroken
from retrieverbench.cli.progress import show_progress


@pytest.fixture
def full_stderr(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard error on a full disk."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full; run it on Linux")
    with (
        Path("/dev/full").open("w", buffering=1, encoding="utf-8") as stream,
        monkeypatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", stream)
        yield


@pytest.mark.parametrize("plain", [True, False])
def test_progress_on_a_full_disk_ends_no_run(full_stderr: None, *, plain: bool) -> None:
    reached = False
    with show_progress(plain=plain) as progress:
        advance = progress.begin("loading", 2)
        progress.note("a note")
        advance(1)
        advance(2)
        reached = True
    assert reached


def test_telling_a_full_disk_ends_nothing(full_stderr: None) -> None:
    tell("once")
    tell("twice")


def gone() -> None:
    raise BrokenPipeError(32, "Broken pipe")


def full() -> None:
    raise OSError(28, "No space left on device")


def left() -> None:
    sys.exit(1)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (gone, ""),
        (left, ""),
        (full, "error: standard output cannot be written: No space left on device\n"),
    ],
)
def test_only_a_reader_that_left_is_no_news(
    fault: Callable[[], None], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with unbroken(sys.stdout):
        fault()
    assert capsys.readouterr().err == told


def test_a_defect_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), unbroken(sys.stdout):
        raise ZeroDivisionError
    with pytest.raises(OSError, match="No space left"), reader_may_leave():
        full()


def test_a_closed_stream_is_no_terminal() -> None:
    assert not is_terminal(None)
