"""Where tenants are at home: equal places for equal tenants only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qdrant_support import HOSTILE
from retrieverbench.errors import TenantError
from retrieverbench.model import TenantId
from retrieverbench_adapters.qdrant.layouts import Home, collection_name, home_of, is_of

FORBIDDEN = set('<>:"/\\|?*\0\x1f ')


def unchecked(value: str) -> TenantId:
    tenant = object.__new__(TenantId)
    object.__setattr__(tenant, "value", value)
    return tenant


def test_homes() -> None:
    tenant = TenantId("acme")
    assert home_of("filter", "rb_x", tenant) == Home("rb_x")
    assert home_of("partition", "rb_x", tenant) == Home("rb_x", "acme")
    assert home_of("index", "rb_x", tenant) == Home("rb_x.acme")
    assert is_of("rb_x", "rb_x.acme")
    assert not is_of("rb_x", "rb_xy.acme")


texts = st.text(st.characters(codec="utf-8"), min_size=1)


@given(texts, texts)
def test_names_of_collections_are_injective_whatever_the_case(one: str, other: str) -> None:
    names = [collection_name("rb_x", unchecked(text)).lower() for text in (one, other)]
    assert (names[0] == names[1]) == (one == other)


@pytest.mark.parametrize("tenant", [*HOSTILE, "x" * 64, "x" * 65, "acme.corp"])
def test_names_of_collections_are_legal(tenant: str) -> None:
    name = collection_name("rb_" + "p" * 60, TenantId(tenant))
    assert name.isascii()
    assert not FORBIDDEN & set(name)
    assert len(name) <= 255


def test_no_tenant_has_no_home() -> None:
    for layout in ("partition", "index"):
        with pytest.raises(TenantError):
            home_of(layout, "rb_x", unchecked(""))
