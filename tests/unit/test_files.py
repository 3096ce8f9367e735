"""Regular files alone are read and written; what is written is whole, and a link stays a link."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import socket
from pathlib import Path

import pytest

from retrieverbench import files
from retrieverbench.errors import InputError
from retrieverbench.files import (
    holds_other,
    open_file,
    read_whole,
    seen_from_here,
    whole_path,
    write_whole,
)


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


def test_a_file_that_another_process_is_writing_is_its_own(tmp_path: Path) -> None:
    """Two runs that end at once, with the same --junit."""
    for other in ("report.xml.tmp", "report.xml.0.tmp"):
        (tmp_path / other).write_text("half of")
    write_whole(tmp_path / "report.xml", b"whole")
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found.pop("report.xml") == b"whole"
    assert set(found.values()) == {b"half of"}


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


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_regular_file_is_neither_read_nor_written(
    tmp_path: Path, kind: str, *, linked: bool
) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        path = Path("/dev/zero")
    if linked:
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    with pytest.raises((InputError, OSError), match=r"not a regular file|No such device"):
        open_file(path)
    with pytest.raises(InputError, match="not a regular file; name a file"):
        write_whole(path, b"x")
    assert not path.is_file()


def test_a_folder_and_nothing_are_errors_of_the_system(tmp_path: Path) -> None:
    for path, error in ((tmp_path, IsADirectoryError), (tmp_path / "no", FileNotFoundError)):
        with pytest.raises(error):
            open_file(path)


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (gzip.compress(b"{}", mtime=0), "compressed with gzip; unpack it"),
        (b"PK\x03\x04....", "compressed with zip; unpack it"),
        (b"\x28\xb5\x2f\xfd....", "compressed with zstd; unpack it"),
        (bz2.compress(b"{}"), "compressed with bzip2; unpack it"),
        (lzma.compress(b"{}"), "compressed with xz; unpack it"),
        ("{}".encode("utf-16"), "text in UTF-16; save it as UTF-8"),
        ("{}".encode("utf-32"), "text in UTF-32; save it as UTF-8"),
        (b"\xfe\xff\x00{\x00}", "text in UTF-16; save it as UTF-8"),
    ],
)
def test_what_is_packed_or_not_utf8_is_called_so(tmp_path: Path, head: bytes, what: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(head)
    with pytest.raises(InputError) as caught:
        read_whole(path)
    assert str(caught.value) == f"{path}: is {what}" + (
        " and name what it holds" if "unpack" in what else ""
    )


def test_gzip_is_let_through_where_it_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(b"x"))
    with open_file(path, gzip=True) as file:
        assert file.read(2) == b"\x1f\x8b"


def test_no_more_is_read_whole_than_the_memory_can_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="is larger than 1 GiB; name another file"):
        read_whole(path)
    monkeypatch.setattr(files, "WHOLE_LIMIT", 3)
    path.write_bytes(b"1234")
    with pytest.raises(InputError, match="is larger"):
        read_whole(path)
    path.write_bytes(b"123")
    assert read_whole(path) == b"123"


@pytest.mark.usefixtures("folder_that_is_gone")
def test_a_path_seen_from_a_folder_that_is_gone_is_the_callers_fault(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.json: the folder that this was started in is gone"):
        whole_path(Path("a.json"))
    with pytest.raises(InputError, match="is gone"):
        write_whole(Path("a.json"), b"")
    assert whole_path(tmp_path / "a.json") == tmp_path.resolve() / "a.json"


def test_a_loop_of_links_is_told_by_who_opens_it(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="Too many levels"):
        open_file(whole_path(loop))


def test_a_pipe_is_not_waited_for_to_see_what_it_holds(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not holds_other(tmp_path / "pipe", b"mark")
    assert not holds_other(tmp_path / "absent", b"mark")


@pytest.mark.usefixtures("folder_that_is_gone")
def test_a_path_that_cannot_be_seen_from_here_is_named_whole(tmp_path: Path) -> None:
    assert seen_from_here(tmp_path / "a") == str(tmp_path / "a")
    os.chdir(tmp_path)
    assert seen_from_here(tmp_path / "a") == "a"
