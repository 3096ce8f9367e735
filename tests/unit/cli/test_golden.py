"""A manifest is written where the set's name says, and nothing that is there is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench_support import write_example
from retrieverbench.cli.golden import bump, check
from retrieverbench.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example set, not bumped yet."""
    (write_example(tmp_path) / "golden.v1.manifest.json").unlink()
    return tmp_path


def bumped(folder: Path, name: str = "golden.v1.jsonl") -> None:
    words = [str(folder / name), "--corpus", str(folder / "corpus.jsonl"), "--reason", "first"]
    done = CliRunner().invoke(bump, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_the_manifest_of_a_linked_set_lies_beside_the_link(folder: Path) -> None:
    (folder / "store").mkdir()
    real = (folder / "golden.v1.jsonl").rename(folder / "store" / "abc")
    link = folder / "golden.v1.jsonl"
    link.symlink_to("store/abc")
    before = real.read_bytes()
    bumped(folder)
    assert link.is_symlink()
    assert real.read_bytes() == before
    assert (folder / "golden.v1.manifest.json").is_file()
    assert [path.name for path in (folder / "store").iterdir()] == ["abc"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_the_manifests_place_is_never_written_through(folder: Path, there: bool) -> None:
    far, link = folder / "far.json", folder / "golden.v1.manifest.json"
    if there:
        far.write_bytes(b"{}")
    link.symlink_to("far.json")
    with pytest.raises(InputError) as caught:
        bumped(folder)
    text = str(caught.value)
    assert text.startswith(f"{link}: is already there" if there else f"{link}: is a link that")
    assert "; " in text
    assert link.is_symlink()
    assert far.exists() == there


def test_a_folder_that_takes_no_file_is_an_input_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device; make room"):
        bumped(folder)


def test_the_reading_of_a_long_corpus_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieverbench.job.progress.LONG_READING", 1)
    words = [str(folder / "golden.v1.jsonl"), "--corpus", str(folder / "corpus.jsonl")]
    done = CliRunner().invoke(check, words, catch_exceptions=False)
    assert done.stderr.startswith("reading corpus.jsonl (1 MB)\n")
    done = CliRunner().invoke(bump, [*words, "--reason", "first"], catch_exceptions=False)
    assert done.stderr == "reading corpus.jsonl (1 MB)\n"


def test_tenants_of_any_pattern_are_checked_and_bumped(folder: Path) -> None:
    for name in ("corpus.jsonl", "golden.v1.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace('"birch"', '"birch & sons*"'), encoding="utf-8")
    words = [str(folder / "golden.v1.jsonl"), "--corpus", str(folder / "corpus.jsonl")]
    with pytest.raises(InputError, match="widen tenant_pattern"):
        CliRunner().invoke(check, words, catch_exceptions=False)
    with pytest.raises(InputError, match="--tenant-pattern: '\\[' is no regular expression"):
        CliRunner().invoke(check, [*words, "--tenant-pattern", "["], catch_exceptions=False)
    words += ["--tenant-pattern", r"[\w &*]+"]
    for command, more in ((check, []), (bump, ["--reason", "first"])):
        done = CliRunner().invoke(command, [*words, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
