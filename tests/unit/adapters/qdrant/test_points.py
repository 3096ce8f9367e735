"""Stored points, and the bodies they are sent in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, TenantId
from retrieverbench_adapters.qdrant.points import bodies, point_row

ACME = TenantId("acme")


def test_a_stored_point_says_its_tenant_and_its_names() -> None:
    chunk = Chunk("1/2", ACME, "Text", title="Title", metadata={"lang": "en", "n": 2.0})
    row = json.loads(point_row(chunk, {"dense": [1.0]}))
    assert row["vector"] == {"dense": [1.0]}
    assert row["payload"] == {
        "uid": "acme/1/2",
        "id": "1/2",
        "tenant": "acme",
        "text": "Text",
        "title": "Title",
        "metadata": {"lang": "en", "n": 2.0},
        "where": ['["lang", "en"]', '["n", 2]'],
    }
    other = json.loads(point_row(Chunk("1/2", TenantId("globex"), "Text"), {}))
    assert other["id"] != row["id"]


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=30), st.integers(20, 80))
@pytest.mark.parametrize("shard", [None, 'a "key"'])
def test_bodies_hold_every_row_once_and_keep_the_limit(
    shard: str | None, rows: list[bytes], most: int
) -> None:
    rows = [row.hex().encode() for row in rows]
    made = list(bodies((b'"' + row + b'"' for row in rows), most, shard))
    parts = [json.loads(body)["points"] for body in made]
    assert {json.loads(body).get("shard_key") for body in made} <= {shard}
    assert [row.encode() for part in parts for row in part] == rows
    for body, part in zip(made, parts, strict=True):
        assert len(body) <= most or len(part) == 1


@pytest.mark.parametrize(
    "chunk",
    [
        Chunk("1", ACME, "half \ud9b8"),
        Chunk("1", ACME, "Text", metadata={"said": "\ud9b8"}),
        Chunk("1\ud9b8", ACME, "Text"),
    ],
    ids=["text", "metadata", "id"],
)
def test_half_of_a_surrogate_pair_is_refused_by_name(chunk: Chunk) -> None:
    with pytest.raises(InputError, match=r"chunk 'acme/1.*': .* surrogate pairs"):
        point_row(chunk, {})
