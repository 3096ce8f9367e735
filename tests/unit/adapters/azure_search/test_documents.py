"""Keys, names, batches, definitions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.engines.azure_search.definition import parse_definition
from retrieverbench_adapters.azure_search import documents
from retrieverbench_adapters.azure_search.definition import (
    differences,
    index_definition,
    index_name,
)
from retrieverbench_adapters.azure_search.documents import batches, key
from retrieverbench_adapters.azure_search.options import Place


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400), st.text(max_size=9))
def test_keys_are_legal_and_injective(uid: str, more: str) -> None:
    assert len(key(uid)) <= 1024
    assert key(uid)[0] != "_"
    assert set(key(uid)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=")
    assert key("a" + uid) != key(uid)


def test_long_uids_and_illegal_places_get_a_hash() -> None:
    assert key("x" * 5000) != key("x" * 4999 + "y")
    assert len(key("x" * 5000)) < 100
    names = [index_name(place) for place in ("rb_ok", "rb__two", "rb--two", "rb_A", "rb_" * 90)]
    assert names[0] == "rb_ok"
    assert len(set(names)) == 5
    assert all(parse_definition(index_definition(name, 2, Place())) for name in names)


def test_batches_are_cut_by_count_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(b) for b in batches({"n": i} for i in range(2500))] == [1000, 1000, 500]
    monkeypatch.setattr(documents, "MAX_BATCH_BYTES", 1000)
    cut = list(batches({"text": "é" * 30} for _ in range(10)))
    assert sum(len(b) for b in cut) == 10
    assert all(len(json.dumps(b)) <= 1000 for b in cut)
    assert [len(b) for b in batches([{"text": "x" * 5000}] * 2)] == [1, 1]


def test_differences_name_the_place() -> None:
    wanted = index_definition("rb_a", 4, Place())
    shown = json.loads(json.dumps(wanted)) | {"@odata.etag": "x"}
    assert differences(wanted, shown) == []
    shown["fields"][3] |= {"filterable": False, "normalizer": "lowercase"}
    shown["fields"].append({"name": "other"})
    assert differences(wanted, shown) == [
        "fields.tenant.filterable is False, not True",
        "fields.tenant.normalizer is 'lowercase', not None",
        "fields.other is {'name': 'other'}, not None",
    ]
