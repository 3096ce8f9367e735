"""Which artifact is accepted, and into which folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from retrieverbench.cli.baseline import accept
from retrieverbench.errors import InputError
from retrieverbench.gate import judge
from retrieverbench.model import Artifact
from retrieverbench.report import dump_artifact, run_path, write_whole

MakeArtifact = Callable[..., Artifact]


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(accept, [str(word) for word in arguments], catch_exceptions=False)


def fault(*arguments: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        invoke(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def runs(make_artifact: MakeArtifact, tmp_path: Path) -> list[Path]:
    """Two runs of one suite, the older first."""
    paths = []
    for started, run_id in (("20300102T030405Z", "ff"), ("20300102T030406Z", "aa")):
        artifact = make_artifact(started=started, run_id=run_id)
        artifact = replace(artifact, verdict=judge(artifact, [], {}))
        paths.append(run_path(artifact, tmp_path / "results"))
        write_whole(paths[-1], dump_artifact(artifact))
    return paths


def baselines(folder: Path) -> list[Path]:
    return list(folder.glob("baselines/*/*.json"))


def test_a_file_is_accepted(runs: list[Path], tmp_path: Path) -> None:
    done = invoke(runs[0])
    assert "fake/lexical/filter: accepted" in done.stdout
    (path,) = baselines(tmp_path / "results")
    assert '"run_id": "ff"' in path.read_text(encoding="utf-8")


def test_of_a_folder_the_newest_is_accepted_and_named(runs: list[Path], tmp_path: Path) -> None:
    done = invoke(runs[0].parent)
    assert f"newest artifact: {runs[1]}" in done.stdout
    (path,) = baselines(tmp_path / "results")
    assert '"run_id": "aa"' in path.read_text(encoding="utf-8")


def test_two_are_refused_and_nothing_is_written(runs: list[Path], tmp_path: Path) -> None:
    text = fault(*runs)
    assert "2 given" in text
    assert f"their folder {runs[0].parent}" in text
    assert not baselines(tmp_path / "results")


def test_none_is_refused() -> None:
    assert "none given; name one .json file" in fault()


def test_an_artifact_elsewhere_needs_a_results_folder(runs: list[Path], tmp_path: Path) -> None:
    moved = runs[0].rename(tmp_path / "moved.json")
    assert "with --results" in fault(moved)
    invoke(moved, "--results", tmp_path / "other")
    assert len(baselines(tmp_path / "other")) == 1
