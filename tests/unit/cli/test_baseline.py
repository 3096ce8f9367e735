"""Which artifact is accepted, and into which folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench_support import measure, write_example
from retrieverbench.cli.baseline import accept
from retrieverbench.errors import InputError
from retrieverbench.files import write_whole
from retrieverbench.model import Artifact
from retrieverbench.report import dump_artifact, run_path

LABEL = "memory/lexical/filter"
SUITE = """
golden = "golden.v1.jsonl"
corpus = "corpus.jsonl"
metrics = ["nDCG@10"]
timing = { enabled = false }
targets = [{ adapter = "memory", modes = ["lexical"] }]
"""


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(accept, [str(word) for word in arguments], catch_exceptions=False)


def fault(*arguments: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        invoke(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """A real run of the example set."""
    return measure(write_suite(tmp_path_factory.mktemp("measured")))


def write_suite(folder: Path) -> Path:
    path = write_example(folder) / "small.toml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def write_run(artifact: Artifact, folder: Path) -> Path:
    path = run_path(artifact, folder / "results")
    write_whole(path, dump_artifact(artifact))
    return path


@pytest.fixture
def runs(artifact: Artifact, tmp_path: Path) -> list[Path]:
    """Two runs of one suite, the older first."""
    write_suite(tmp_path)
    seen = replace(artifact, suite_file="../small.toml")
    return [
        write_run(replace(seen, started=started, run_id=run_id), tmp_path)
        for started, run_id in (("20200102T030405Z", "ffffffff"), ("20200102T030406Z", "aaaaaaaa"))
    ]


def baselines(folder: Path) -> list[Path]:
    return list(folder.glob("baselines/*/*.json"))


def test_a_file_is_accepted(runs: list[Path], tmp_path: Path) -> None:
    done = invoke(runs[0])
    assert "memory/lexical/filter: accepted" in done.stdout
    (path,) = baselines(tmp_path / "results")
    assert '"run_id": "ffffffff"' in path.read_text(encoding="utf-8")


def test_of_a_folder_the_newest_is_accepted_and_named(runs: list[Path], tmp_path: Path) -> None:
    done = invoke(runs[0].parent)
    assert f"newest artifact: {runs[1]}" in done.stdout
    (path,) = baselines(tmp_path / "results")
    assert '"run_id": "aaaaaaaa"' in path.read_text(encoding="utf-8")


def test_two_are_refused_and_nothing_is_written(runs: list[Path], tmp_path: Path) -> None:
    text = fault(*runs)
    assert "2 given" in text
    assert f"their folder {runs[0].parent}" in text
    assert not baselines(tmp_path / "results")


def test_none_is_refused() -> None:
    assert "none given; name one .json file" in fault()


def test_an_artifact_elsewhere_needs_a_results_folder_and_its_suite(
    runs: list[Path], tmp_path: Path
) -> None:
    moved = runs[0].rename(tmp_path / "moved.json")
    assert "with --results" in fault(moved)
    other = tmp_path / "a" / "other"
    text = fault(moved, "--results", other)
    assert text.startswith(f"{tmp_path}/a/small.toml: the suite of this run is not there")
    assert "name it with --suite SUITE.toml" in text
    invoke(moved, "--results", other, "--suite", tmp_path / "small.toml")
    assert len(baselines(other)) == 1


def test_a_run_that_tells_no_suite_asks_for_it(artifact: Artifact, tmp_path: Path) -> None:
    text = fault(write_run(artifact, tmp_path))
    assert "does not tell where its suite lies" in text
    assert "name it with --suite SUITE.toml" in text


def test_another_suite_is_refused_and_a_changed_one_is_told(
    runs: list[Path], tmp_path: Path
) -> None:
    suite = tmp_path / "small.toml"
    done = invoke(runs[0], "--suite", suite)
    assert "has changed" not in done.stderr
    suite.write_text(f"# one more line\n{SUITE}", encoding="utf-8")
    done = invoke(runs[0])
    assert f"note: {suite} has changed since this run" in done.stderr
    other = suite.rename(tmp_path / "other.toml")
    text = fault(runs[0], "--suite", other)
    assert "is suite 'other', the run is of suite 'small'" in text


def test_a_number_written_by_hand_is_refused_with_both_values(
    runs: list[Path], artifact: Artifact, tmp_path: Path
) -> None:
    """The checksum tells an edit; scoring again tells one that was covered up."""
    text = runs[0].read_text(encoding="utf-8")
    runs[0].write_text(text.replace('"status":"ok"', '"status":"missing"', 1), encoding="utf-8")
    assert "altered or damaged; restore it, or run the suite again" in fault(runs[0])
    (result,) = artifact.targets
    assert result.scores is not None
    mean = replace(result.scores.means["ndcg@10"], value=0.123)
    scores = replace(result.scores, means={**result.scores.means, "ndcg@10": mean})
    covered = replace(
        artifact, targets=(replace(result, scores=scores),), suite_file="../small.toml"
    )
    text = fault(write_run(covered, tmp_path))
    assert text.startswith(f"{LABEL}: scores.means.ndcg@10.value: 0.123 in the artifact, ")
    assert text.endswith(" scored again from its answers; run the suite again")
    assert not baselines(tmp_path / "results")


def test_the_rules_of_today_and_todays_baseline_decide_whether_a_reason_is_needed(
    runs: list[Path], tmp_path: Path
) -> None:
    suite = tmp_path / "small.toml"
    rule = '[[rules]]\nkind = "maximum"\nmetric = "nDCG@10"\nvalue = 0.0\n'
    suite.write_text(f"{SUITE}{rule}", encoding="utf-8")
    assert "say why with --because" in fault(runs[0])
    invoke(runs[0], "--because", "known")
