"""The lock of a place: held by one, freed at its holder's death, and clear where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from retrieverbench.errors import BackendError, Unavailable
from retrieverbench.run import engine_at
from retrieverbench.run.exclusive import Begun, left_places, only_run_at

HOLD = """
from retrieverbench.run.exclusive import Begun, only_run_at
with only_run_at(Begun("rb_x", "here:1")):
    print("held", flush=True)
    input()
"""


def test_a_killed_holder_frees_its_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(Unavailable, match="another run is using this place"),
            only_run_at(Begun("rb_x", "here:1")),
        ):
            pytest.fail("was held twice")
        with only_run_at(Begun("rb_y", "here:1")):
            holder.kill()
            holder.wait()
    with only_run_at(Begun("rb_x", "here:1")):
        pass


def test_a_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "retrieverbench").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with (
        pytest.raises(BackendError, match=r"cannot be written.*XDG_CACHE_HOME"),
        only_run_at(Begun("rb_x", "here:1")),
    ):
        pytest.fail("was held")


def test_a_place_of_that_name_at_another_server_is_another_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with only_run_at(Begun("rb_x", "here:1")), only_run_at(Begun("rb_x", "here:2")) as other:
        assert other.left == ()


def test_a_place_is_remembered_until_it_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with only_run_at(Begun("rb_old", "here:1")) as old:
        assert not old.was_begun
        with only_run_at(Begun("rb_new", "here:1")) as new:
            assert new.left == (), "it is in use"
    with only_run_at(Begun("rb_new", "here:1")) as new:
        assert new.was_begun
        [told] = new.left
        assert (told.place, told.server, told.since[:2]) == ("rb_old", "here:1", "20")
    with only_run_at(Begun("rb_old", "here:1")) as old:
        assert old.was_begun
        old.removed = True
    with only_run_at(Begun("rb_new", "here:1")) as new:
        assert new.left == ()
    with only_run_at(Begun("rb_old", "here:1")) as old:
        assert not old.was_begun


START = """
from retrieverbench.run import engine_at
with engine_at("http://localhost:4711"):
    print("answers", flush=True)
    input()
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_place_is_forgotten_with_the_engine_that_it_was_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_killed: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    places = {name: Begun(f"rb_{name}", f"this machine:{name}/db") for name in ("4711", "4712")}
    command = [sys.executable, "-c", START]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdout is not None
        assert engine.stdout.readline() == b"answers\n"
        for begun in places.values():
            with only_run_at(begun):
                pass
        assert [left.place for left in left_places()] == ["rb_4711", "rb_4712"]
        if is_killed:
            engine.kill()
        engine.communicate(b"\n")
    assert [left.place for left in left_places()] == ["rb_4712"]
    folder = tmp_path / "retrieverbench"
    assert [file.name[:7] for file in (folder / "places").iterdir()] == ["rb_4712"]
    assert len(list((folder / "engines").iterdir())) == is_killed
    with engine_at("http://localhost:4711"), only_run_at(places["4711"]) as anew:
        assert not anew.was_begun
        assert len(list((folder / "engines").iterdir())) == 1, "those of the killed are removed"


def test_no_engine_is_kept_from_starting_by_a_folder_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "retrieverbench").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with engine_at("http://localhost:4711"):
        pass


def test_tests_remember_places_in_a_folder_of_their_own(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with only_run_at(Begun("rb_of_a_test", "here:1")) as held:
        assert list(tmp_path_factory.getbasetemp().glob("**/places/rb_of_a_test.*"))
        held.removed = True


def test_a_file_that_holds_something_else_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "retrieverbench" / "places"
    folder.mkdir(parents=True)
    for number, text in enumerate(["", "{", "[]", "{}", "\xff"]):
        (folder / f"{number}.lock").write_text(text, encoding="latin-1")
    with only_run_at(Begun("rb_x", "here:1")):
        [written] = folder.glob("rb_x.*")
        theirs = written.read_text("utf-8")
    written.with_name("0.lock").write_text(theirs, "utf-8")
    written.write_text(theirs.replace("rb_x", "chunks"), "utf-8")
    assert not list(left_places())
