"""What is told of results of which only a part could be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from retrieverbench.cli import jobs
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
