"""Payload fields and ids between Qdrant's words and ours."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from retrieverbench.adapter import Attached
from retrieverbench_adapters.qdrant.fields import (
    POINT_ID,
    UNNAMED,
    Fields,
    attached_fields,
    is_path,
    label_of,
    text_of,
    uid_of,
    value_at,
)

FIELDS = Fields("meta.pk", "meta.owner", ("title", "body"), "", "")
PAYLOAD = {"meta": {"pk": 7, "owner": "acme"}, "a.b": {"c": 1}, "title": "T", "body": "B", "x": [1]}


@pytest.mark.parametrize(
    ("path", "value"),
    [("title", "T"), ("meta.pk", 7), ('"a.b".c', 1), ("meta.none.deep", None), ("x.y", None)],
)
def test_values_at_paths(path: str, value: Any) -> None:
    assert is_path(path)
    assert value_at(PAYLOAD, path) == value


@pytest.mark.parametrize("field", ["", ".a", "a.", "a..b", "a[0]", "a[]", '"a', POINT_ID])
def test_what_is_no_path(field: str) -> None:
    assert not is_path(field)


def test_a_points_words() -> None:
    assert uid_of(1, PAYLOAD, FIELDS) == "7"
    assert label_of(PAYLOAD, FIELDS) == "acme"
    assert text_of(PAYLOAD, FIELDS) == "T\nB"
    several = {"meta": {"owner": ["acme", "globex"]}}
    assert label_of(several, FIELDS) == '["acme", "globex"]'
    assert uid_of(1, several, FIELDS) is None
    assert uid_of(1, {"meta": {"pk": True}}, FIELDS) is None


@pytest.mark.parametrize("identity", [5, "6f1c5ad8-2a5c-4d0a-9d0e-5a2f3f0f6c11"])
def test_the_points_own_id(identity: int | str) -> None:
    fields = attached_fields(Attached("c", POINT_ID, "owner", vector=UNNAMED), "")
    assert uid_of(identity, {}, fields) == str(identity)
    assert uid_of(UUID(int=1), {}, fields) == str(UUID(int=1))
    assert fields.dense == ""
    assert fields.payload(text=True) == ["owner"]
