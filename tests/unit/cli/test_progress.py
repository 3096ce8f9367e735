"""Progress in both its forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieverbench.cli.progress import show_progress
from retrieverbench.job.progress import counting, fetching, reading


def test_plain_lines_name_each_step_once(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(plain=True) as progress:
        advance = progress.begin("loading", 3)
        for done in (1, 2, 3):
            advance(done)
        progress.note("a note")
    assert capsys.readouterr().err == "loading (3)\na note\n"


def test_a_long_step_tells_its_rate_and_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 5.0, 20.0, 20.0])
    monkeypatch.setattr("retrieverbench.cli.progress.perf_counter", lambda: next(clock))
    with show_progress(plain=True) as progress:
        advance = progress.begin("loading", 1_000_000, "chunks")
        advance(100)
        advance(200_000)
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "loading (1000000 chunks)",
        "loading: 200000 of 1000000 chunks, 10,000 a second, 0:01:20 left",
    ]


def test_bars_take_foreign_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(plain=False) as progress:
        advance = progress.begin("[red]loading[/red]", 2)
        advance(1)
        advance(2)
        progress.note("[bold]as it is[/bold]")
    assert "[bold]as it is[/bold]" in capsys.readouterr().err


def test_counting_advances_by_one() -> None:
    seen: list[int] = []
    count = counting(seen.append)
    count("x")
    count()
    assert seen == [1, 2]


def test_reading_shows_long_files_only(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(plain=True) as progress:
        on_read = reading(progress)
        on_read(Path("short.jsonl"), 9_999_999)(9_999_999)
        on_read(Path("folder/long.jsonl"), 10_000_001)(1)
    assert capsys.readouterr().err == "reading long.jsonl (11 MB)\n"


def test_fetching_shows_one_step_per_engine_in_megabytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show_progress(plain=True) as progress:
        on_fetch = fetching(progress)
        on_fetch("one", 0, 46_000_000)
        on_fetch("one", 46_000_000, 46_000_000)
        on_fetch("two", 1, 500_000)
    assert capsys.readouterr().err == "one: fetching (46 MB)\ntwo: fetching (1 MB)\n"
