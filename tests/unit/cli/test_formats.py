"""Files for other programs: refused before a run, named as a repository names them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from retrieverbench.cli.formats import Formats, check_files, shown_path, wanted, write_formats
from retrieverbench.errors import InputError
from retrieverbench.model import Artifact
from retrieverbench.report import render_junit, render_sarif


@pytest.mark.parametrize(
    ("environment", "named", "service"),
    [
        ({}, None, "none"),
        ({"GITHUB_ACTIONS": "true"}, None, "github"),
        ({"TF_BUILD": "True"}, None, "azure"),
        ({"GITHUB_ACTIONS": "false"}, None, "none"),
        ({"GITHUB_ACTIONS": "true"}, "none", "none"),
        ({}, "azure", "azure"),
    ],
)
def test_the_service_is_the_one_named_or_the_one_that_runs_us(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    named: str | None,
    service: str,
) -> None:
    for variable in ("GITHUB_ACTIONS", "TF_BUILD"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert wanted(named) == service


def test_files_that_cannot_be_written_are_all_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as raised:
        check_files(Formats(tmp_path / "file" / "j.xml", tmp_path))
    assert [fault.partition(": ")[2] for fault in raised.value.faults] == [
        "cannot be written: Not a directory; name another file",
        "cannot be written: it is a folder; name another file",
    ]


def test_a_loop_of_links_is_told_before_the_run(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="Too many levels of symbolic links"):
        check_files(Formats(junit=loop))


def test_only_a_report_of_its_kind_is_replaced(tmp_path: Path) -> None:
    """A suite or a golden set that was named by mistake was gone."""
    for name, text in (("g.jsonl", '{"id": "a"}'), ("j.xml", "<testsuites/>"), ("empty", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for kept in ("g.jsonl", "j.xml"):
        with pytest.raises(InputError, match=r"--sarif .*: it holds something else; name another"):
            check_files(Formats(sarif=tmp_path / kept))
    for replaced in ("j.xml", "empty"):
        check_files(Formats(junit=tmp_path / replaced))


@pytest.mark.parametrize("render", [render_junit, render_sarif])
def test_a_report_may_replace_that_of_an_earlier_run(
    tmp_path: Path, make_artifact: Callable[..., Artifact], render: Callable[..., bytes]
) -> None:
    file = tmp_path / "report"
    file.write_bytes(render(make_artifact(kind="audit"), "suite.toml"))
    check_files(Formats(junit=file) if render is render_junit else Formats(sarif=file))


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--junit and --sarif name one file"):
        check_files(Formats(tmp_path / "x", tmp_path / "a" / ".." / "x"))


def test_checking_makes_nothing(tmp_path: Path) -> None:
    check_files(Formats(tmp_path / "new" / "j.xml", tmp_path / "s.sarif"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_any_more_is_a_fault(
    tmp_path: Path, make_artifact: Callable[..., Artifact]
) -> None:
    (tmp_path / "j.xml").mkdir()
    formats = Formats(tmp_path / "j.xml", tmp_path / "new" / "s.sarif")
    (fault,) = write_formats(make_artifact(), formats, tmp_path / "suite.toml")
    assert "j.xml: cannot be written: Is a directory" in fault
    assert (tmp_path / "new" / "s.sarif").stat().st_size


def test_a_suite_is_seen_from_the_root_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "repository" / "bench" / "suite.toml"
    suite.parent.mkdir(parents=True)
    monkeypatch.chdir(suite.parent)
    assert shown_path(Path("suite.toml")) == "suite.toml"
    (tmp_path / "repository" / ".git").touch()
    assert shown_path(Path("suite.toml")) == "bench/suite.toml"
    assert shown_path(tmp_path / "elsewhere.toml") == "elsewhere.toml"
