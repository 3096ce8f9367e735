"""Vectors that come with the data."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest

from retrieverbench.embedding import Shipped
from retrieverbench.errors import InputError

pytestmark = pytest.mark.anyio


async def test_questions_are_looked_up_and_normalised(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"query": "why", "vector": [3, 4]}) + "\n\n")
    shipped = Shipped.read(path)
    assert await shipped.embed_queries(["why"]) == [array("f", [0.6, 0.8])]
    assert shipped.dimension == 2


async def test_what_was_not_shipped_is_an_error_naming_all_of_it() -> None:
    shipped = Shipped({"why": array("f", [1, 0])}, "q.jsonl")
    with pytest.raises(InputError) as caught:
        await shipped.embed_queries(["when", "why", "where", "when"])
    assert len(caught.value.faults) == 2
    assert "'where'" in caught.value.faults[1]
    with pytest.raises(InputError, match="1 chunk without a vector"):
        await shipped.embed_documents(["text"])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", ": it holds no vectors; "),
        ('{"query": "b", "vector": [1, 2]}', ":2: vector of 'b': 2 "),
        (
            '{"query": "a", "vector": [2, 4, 6]}\n{"query": "a", "vector": [3, 2, 1]}',
            ":3: vector of 'a': another one is in line 1; ",
        ),
    ],
)
def test_a_fault_names_the_file_and_the_line(tmp_path: Path, lines: str, told: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(lines and '{"query": "a", "vector": [1, 2, 3]}\n' + lines)
    with pytest.raises(InputError) as caught:
        Shipped.read(path)
    assert caught.value.faults[0].startswith(f"{path}{told}")


def test_another_file_is_another_identity(tmp_path: Path) -> None:
    identities = []
    for number in (1, 2):
        path = tmp_path / "queries.jsonl"
        path.write_text(json.dumps({"query": "why", "vector": [number, 1]}))
        identities.append(Shipped.read(path).identity)
    assert identities[0] != identities[1]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "write an object"),
        ('{"query": "x"}', "write an object"),
        ('{"query": 1, "vector": [1]}', "query must be text"),
        ('{"query": "x", "vector": []}', "list of numbers"),
        ('{"query": "x", "vector": [1, "1"]}', 'element 1 is "1"; write a list'),
        ('{"query": "x", "vector": [true]}', "element 0 is true; write a list"),
        ('{"query": "x", "vector": [0, 0]}', "no direction; make the vectors anew"),
        ('{"query": "x", "vector": [NaN, 1]}', "no direction; make the vectors anew"),
    ],
)
def test_a_broken_line_is_named_with_its_number(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"query": "ok", "vector": [1, 0]}\n' + line)
    with pytest.raises(InputError, match=rf"queries\.jsonl:2: .*{fault}"):
        Shipped.read(path)


def test_a_missing_file_and_mixed_lengths_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Shipped.read(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match=r"lengths \[1, 2\]"):
        Shipped({"a": array("f", [1]), "b": array("f", [1, 0])}, "q")
