"""The cache on disk: what it keeps apart, what it mends, who may share it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path

import pytest

from retrieverbench.embedding import VectorCache
from retrieverbench.errors import InputError

ONE, OTHER = {"model": "one"}, {"model": "other"}
VECTOR = array("f", [0.1, -2.5, 3e-20])


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors")


def test_what_was_put_is_found_bit_for_bit(cache: VectorCache) -> None:
    texts = {f"text {i} \u00e4\u4e2d": array("f", [i, 1 / 3]) for i in range(1200)}
    cache.put(ONE, "document", texts)
    assert cache.get(ONE, "document", [*texts, "unknown"]) == texts


def test_identity_role_and_text_keep_vectors_apart(cache: VectorCache) -> None:
    cache.put(ONE, "document", {"text": VECTOR})
    assert cache.get(ONE, "query", ["text"]) == {}
    assert cache.get(OTHER, "document", ["text"]) == {}
    assert cache.get(ONE, "document", ["text "]) == {}
    assert cache.path(ONE) != cache.path(OTHER)


def test_the_order_of_an_identity_does_not_matter(cache: VectorCache) -> None:
    cache.put({"a": "1", "b": "2"}, "document", {"text": VECTOR})
    assert cache.get({"b": "2", "a": "1"}, "document", ["text"]) == {"text": VECTOR}


def test_a_second_put_replaces(cache: VectorCache) -> None:
    cache.put(ONE, "document", {"text": array("f", [1])})
    cache.put(ONE, "document", {"text": VECTOR})
    assert cache.get(ONE, "document", ["text"]) == {"text": VECTOR}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = substr(vector, 1, 7)",
        "UPDATE vectors SET vector = zeroblob(12)",
        "UPDATE vectors SET dimension = 2",
        "UPDATE vectors SET vector = 'text'",
        "UPDATE vectors SET checksum = 0",
    ],
)
def test_a_damaged_row_counts_as_missing(cache: VectorCache, damage: str) -> None:
    cache.put(ONE, "document", {"text": VECTOR})
    with sqlite3.connect(cache.path(ONE)) as connection:
        connection.execute(damage)
    connection.close()
    assert cache.get(ONE, "document", ["text"]) == {}
    cache.put(ONE, "document", {"text": VECTOR})
    assert cache.get(ONE, "document", ["text"]) == {"text": VECTOR}


def test_a_file_that_is_no_database_is_replaced(cache: VectorCache) -> None:
    cache.folder.mkdir()
    cache.path(ONE).write_bytes(b"not a database, but long enough to be looked at" * 50)
    assert cache.get(ONE, "document", ["text"]) == {}
    cache.put(ONE, "document", {"text": VECTOR})
    assert cache.get(ONE, "document", ["text"]) == {"text": VECTOR}


def test_a_folder_that_cannot_be_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = VectorCache(tmp_path / "file" / "below")
    with pytest.raises(InputError, match=r"file/below.*name another folder"):
        cache.get(ONE, "document", ["text"])
    with pytest.raises(InputError, match=r"file/below.*name another folder"):
        cache.put(ONE, "document", {"text": VECTOR})


def test_a_directory_in_place_of_the_file_is_named(cache: VectorCache) -> None:
    cache.path(ONE).mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be used"):
        cache.get(ONE, "document", ["text"])


_WRITER = """
import sys
from array import array
from pathlib import Path
from retrieverbench.embedding import VectorCache
cache, name = VectorCache(Path(sys.argv[1])), sys.argv[2]
identity, same = {"model": "one"}, {"same": array("f", [7])}
for i in range(100):
    cache.put(identity, "document", {f"{name} {i}": array("f", [i]), **same})
    assert cache.get(identity, "document", ["same"]) == same
"""


def test_two_processes_may_write_at_once(cache: VectorCache) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, cache.folder, name]) for name in ("a", "b")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    expected: Mapping[str, array[float]] = {
        f"{name} {i}": array("f", [i]) for name in ("a", "b") for i in range(100)
    }
    assert cache.get(ONE, "document", list(expected)) == expected
