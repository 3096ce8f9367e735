"""Faults and weaknesses of the user's collections that this machine's engine cannot have."""

from __future__ import annotations

from typing import Any

import pytest
from qdrant_client import models

from qdrant_information_support import information
from retrieverbench.adapter import Settings
from retrieverbench.model import MODES
from retrieverbench_adapters.qdrant.description import general_weaknesses
from retrieverbench_adapters.qdrant.fields import Fields
from retrieverbench_adapters.qdrant.mapping import (
    payload_faults,
    slowness,
    strict_faults,
    vector_faults,
)
from retrieverbench_adapters.qdrant.options import Search

FIELDS = Fields("pk", "owner", ("body",), "dense", "words", {})
SETTINGS = Settings(endpoint="x", place="", modes=frozenset(MODES), dimension=64)
KEYWORD = {"data_type": "keyword", "points": 1, "params": {"type": "keyword", "is_tenant": True}}


def test_a_vector_of_several_rows() -> None:
    told = information(
        vector={"multivector_config": {"comparator": "max_sim"}},
        params={"sparse_vectors": {"words": {"modifier": "idf"}}},
    )
    (fault,) = vector_faults(told, FIELDS, SETTINGS, Search())
    assert fault == "vector: 'dense' holds several vectors a point, and questions have one"


def test_idf_of_a_vector_that_has_none() -> None:
    told = information(params={"sparse_vectors": {"words": {}}})
    (fault,) = vector_faults(told, FIELDS, SETTINGS, Search())
    assert fault.startswith("search.idf: sparse vector 'words' is not weighted by IDF; set idf to")
    assert not list(vector_faults(told, FIELDS, SETTINGS, Search(idf="collection")))


@pytest.mark.parametrize(
    ("strict", "indexes", "refused"),
    [
        ({"enabled": True, "unindexed_filtering_retrieve": False}, {}, True),
        ({"enabled": True, "unindexed_filtering_retrieve": False}, {"owner": KEYWORD}, False),
        ({"enabled": True}, {}, False),
        ({"enabled": False, "unindexed_filtering_retrieve": False}, {}, False),
        (None, {}, False),
    ],
)
def test_strict_mode_would_refuse_every_search(
    strict: dict[str, Any] | None, indexes: dict[str, Any], refused: bool
) -> None:
    faults = list(strict_faults(information(strict=strict, indexes=indexes), FIELDS))
    assert [fault[:26] for fault in faults] == ["tenant: strict mode refuses"[:26]] * refused


def test_a_tenant_field_with_another_index() -> None:
    text = {"data_type": "text", "points": 1, "params": {"type": "text"}}
    (weakness,) = slowness(information(indexes={"owner": text}), FIELDS)
    assert weakness.startswith("tenant field 'owner' has an index of type text: ")
    assert slowness(information(indexes={"owner": KEYWORD}), FIELDS) == []


def test_idf_of_several_shards() -> None:
    several = information(params={"shard_number": 3})
    (weakness,) = general_weaknesses([several], key=True, lexical=True)
    assert weakness.startswith("IDF is counted in each of 3 shards: equal chunks may score diff")
    assert general_weaknesses([several], key=True, lexical=False) == []
    custom = information(params={"shard_number": 3, "sharding_method": "custom"})
    assert general_weaknesses([custom], key=True, lexical=True) == []


def test_a_list_of_owners_says_what_to_name() -> None:
    point = models.Record(id=1, payload={"owner": ["acme", "globex"], "pk": "1"})
    (fault,) = payload_faults(point, FIELDS)
    assert "'owner' of point 1 holds a list" in fault
    assert fault.endswith(
        "; name a field that holds one owner in each point, as text or as a whole number"
    )
