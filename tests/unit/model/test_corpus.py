"""A uid names one chunk of one tenant and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.errors import TenantError
from retrieverbench.model import Chunk, TenantId, make_uid


def tenants() -> st.SearchStrategy[TenantId]:
    def make(value: str) -> TenantId | None:
        try:
            return TenantId(value)
        except TenantError:
            return None

    made = st.text(st.sampled_from("ab/%25F2"), min_size=1, max_size=6).map(make)
    return made.filter(lambda tenant: tenant is not None).map(
        lambda tenant: tenant or TenantId("a")
    )


ids = st.text(st.sampled_from("ab/%25F2"), max_size=6)


@given(tenants(), ids, tenants(), ids)
def test_injective(tenant: TenantId, id_: str, other: TenantId, other_id: str) -> None:
    same = (tenant, id_) == (other, other_id)
    assert (make_uid(tenant, id_) == make_uid(other, other_id)) is same


@pytest.mark.parametrize(
    ("tenant", "id_", "uid"),
    [
        ("acme", "hr/1", "acme/hr/1"),
        ("a/b", "c", "a%2Fb/c"),
        ("a%2Fb", "c", "a%252Fb/c"),
        ("a", "b/c", "a/b/c"),
    ],
)
def test_form(tenant: str, id_: str, uid: str) -> None:
    assert make_uid(TenantId(tenant), id_) == uid
    assert Chunk(id_, TenantId(tenant), "text").uid == uid


def test_searchable_text_begins_with_the_title() -> None:
    assert Chunk("1", TenantId("a"), "text", title="Title").searchable_text == "Title\ntext"
    assert Chunk("1", TenantId("a"), "text").searchable_text == "text"
