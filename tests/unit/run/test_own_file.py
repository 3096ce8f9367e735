"""A retriever of several files: what lies beside is imported, and never another in its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from retrieverbench.errors import InputError
from retrieverbench.run import load_adapter

MINE = """
from retrieverbench.adapter import Description
from retrieverbench.model import Response
{imports}

class Mine:
    capabilities = frozenset({{"lexical", "filter"}})
    word = {word}

    @classmethod
    async def open(cls, settings): return cls()

    async def search(self, query):
        import own_late
        return Response([])

    async def describe(self): return Description("s", "1", "c", "1", {{}}, {{}})

    async def close(self): pass
"""


@pytest.fixture(autouse=True)
def _imports() -> Iterator[None]:
    """What a test imports is forgotten, and its folders leave the path."""
    with patch.dict(sys.modules), patch.object(sys, "path", list(sys.path)):
        yield


def write(folder: Path, imports: str, word: str, **beside: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(MINE.format(imports=imports, word=word))
    for name, body in beside.items():
        (folder / f"{name}.py").write_text(body)


def word_of(folder: Path) -> object:
    return vars(load_adapter("./mine.py:Mine", folder).cls)["word"]


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_adapter("mine.py:Mine", folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_lies_beside_the_file_is_imported_also_later(tmp_path: Path) -> None:
    write(tmp_path, "import own_helper", "own_helper.WORD", own_helper="WORD = 'own'", own_late="")
    assert word_of(tmp_path) == "own"
    __import__("own_late")


@pytest.mark.parametrize("imports", ["from . import own_part", "from own_package import own_part"])
def test_a_file_in_a_package_is_a_module_of_it(tmp_path: Path, imports: str) -> None:
    folder = tmp_path / "own_package"
    write(folder, imports, "own_part.WORD", own_part="WORD = 'part'", __init__="")
    assert word_of(folder) == "part"
    assert load_adapter("./own_package/mine.py:Mine", tmp_path).cls.__module__ == "own_package.mine"


def test_a_dot_without_a_package_is_told_with_what_helps(tmp_path: Path) -> None:
    write(tmp_path, "from . import own_helper", "1", own_helper="")
    assert refused(tmp_path).endswith("put an __init__.py into its folder, or leave the dot out")


def test_what_is_nowhere_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "import own_nowhere", "1")
    assert refused(tmp_path) == (
        "adapter: 'mine.py:4' cannot be imported: ModuleNotFoundError: No module named "
        "'own_nowhere'; install it, or put it beside the file"
    )


def test_nothing_beside_the_file_hides_what_is_installed(tmp_path: Path) -> None:
    write(tmp_path, "import secrets", "secrets.WORD", json="raise RuntimeError", secrets="WORD = 1")
    text = refused(tmp_path)
    assert "'mine.py' needs 'secrets' of " in text
    assert "and Python finds another one (" in text
    write(tmp_path, "", "__import__('json').dumps('own')")
    assert word_of(tmp_path) == '"own"'


VERSIONS = {
    "imported": ("from own_lib import rule", {"own_lib.py": "rule = {n}"}),
    "a folder without __init__.py": (
        "from own_lib.part import rule",
        {"own_lib/part.py": "rule = {n}"},
    ),
    "imported later": (
        "rule = __import__('importlib').import_module('own_lib')",
        {"own_lib.py": ""},
    ),
    "by a package": (
        "from own_{n}.part import rule",
        {
            "own_{n}/__init__.py": "",
            "own_{n}/part.py": "from own_lib import rule",
            "own_lib.py": "rule = {n}",
        },
    ),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_two_versions_do_not_share_what_lies_beside_only_one(tmp_path: Path, case: str) -> None:
    """The second would be measured with the helper of the first."""
    imports, files = VERSIONS[case]
    for number in (1, 2):
        folder = tmp_path / f"v{number}"
        write(folder, imports.format(n=number), "rule")
        (folder / "setup.cfg").touch()
        for name, body in files.items():
            path = folder / name.format(n=number)
            path.parent.mkdir(exist_ok=True)
            path.write_text(body.format(n=number))
    word_of(tmp_path / "v1")
    assert word_of(tmp_path / "v1") is not None
    text = refused(tmp_path / "v2")
    assert "each have a 'own_lib' beside them" in text
    assert text.endswith("rename one, or measure them in two runs")


def test_what_lies_beside_and_is_not_asked_for_is_no_matter(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"v{number}", "'mine'", str(number), own_other=f"WORD = {number}")
    assert [word_of(tmp_path / "v1"), word_of(tmp_path / "v2")] == [1, 2]


def test_two_packages_share_nothing_that_they_import_with_a_dot(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / f"v{number}"
        write(folder, "from . import own_middle", "own_middle.WORD", __init__="")
        (folder / "own_version.py").write_text(f"WORD = {number}")
        (folder / "own_middle.py").write_text("from .own_version import WORD")
    assert [word_of(tmp_path / "v1"), word_of(tmp_path / "v2")] == [1, 2]


def test_a_folder_without_init_hides_nothing_that_is_installed(tmp_path: Path) -> None:
    write(tmp_path, "from json.own_part import rule", "rule")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "own_part.py").write_text("rule = 1")
    assert "'mine.py' needs 'json' of " in refused(tmp_path)
