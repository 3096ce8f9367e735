"""What is told of results of which only a part could be written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from retrieverbench.cli import jobs, loop
from retrieverbench.cli.formats import Formats
from retrieverbench.errors import InputError
from retrieverbench.files import write_whole
from retrieverbench.gate import judge
from retrieverbench.model import Artifact


@pytest.mark.parametrize(
    ("suffix", "kept", "word"),
    [
        (".json", [], "error: it passed, but nothing valid was kept: exit 5"),
        (".md", [".json"], "error: it passed, but a report is missing ("),
    ],
)
def test_a_disk_that_fills_up_between_the_files_is_told_as_it_is(
    make_artifact: Callable[..., Artifact],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
    kept: list[str],
    word: str,
) -> None:
    def write(path: Path, data: bytes) -> None:
        if path.suffix == suffix:
            raise InputError(f"{path}: cannot be written: No space left on device; make room")
        write_whole(path, data)

    monkeypatch.setattr(jobs, "write_whole", write)
    artifact = make_artifact()
    artifact = replace(artifact, verdict=judge(artifact, [], {}))
    suite: Any = SimpleNamespace(suite=SimpleNamespace(path=tmp_path / "suite.toml"))
    assert jobs.report(artifact, jobs.Ready(suite, tmp_path, Formats(), None)) == 5
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == kept
    told = capsys.readouterr()
    assert word in told.err
    assert (".json" in told.out) == bool(kept)


def test_an_interrupted_command_says_that_what_was_measured_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at_once(main: Callable[[Callable[[Callable[[], None]], None]], Any], _note: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:  # where no other test's event loop runs
            return pool.submit(anyio.run, main, lambda ask: ask()).result()

    async def work(_progress: Any, interrupt: anyio.Event) -> Any:
        return interrupt.is_set()

    said: list[str] = []
    monkeypatch.setattr(loop, "run_in_loop", at_once)
    assert jobs._measured(work, SimpleNamespace(note=said.append))
    assert [text for text in said if "then the report of what was measured" in text]
