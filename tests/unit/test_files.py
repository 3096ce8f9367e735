"""A file is written whole or not at all, and a link stays a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.files import write_whole


def test_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "a.json"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(folder, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    blocked = tmp_path / "file"
    blocked.write_bytes(b"old")
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(blocked / "b.json", b"new")
    assert blocked.read_bytes() == b"old"


def test_a_name_too_long_for_the_disk_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write_whole(tmp_path / f"{'n' * 300}.json", b"x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("there", [True, False])
def test_through_a_link_what_it_leads_to_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.json", tmp_path / "link.json"
    if there:
        real.write_bytes(b"old")
    link.symlink_to("far/real.json")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert {path.name for path in tmp_path.rglob("*")} == {"far", "link.json", "real.json"}
