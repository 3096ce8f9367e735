"""A tenant is checked once, where it is made, and never changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.errors import TenantError
from retrieverbench.model import TenantId, parse_tenant


class Text(str):
    """Not text: it may lie about itself."""

    __slots__ = ()


@pytest.mark.parametrize("value", ["acme", "A.b_c-9", "0", "x" * 128])
def test_ordinary_names(value: str) -> None:
    assert str(parse_tenant(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NoneType, not text"),
        (7, "int, not text"),
        (True, "bool, not text"),
        (b"acme", "bytes, not text"),
        (["acme"], "list, not text"),
        ({}, "dict, not text"),
        (Text("acme"), "Text, not text"),
    ],
)
def test_other_types_name_nobody(value: object, text: str) -> None:
    with pytest.raises(TenantError, match=text):
        parse_tenant(value)
    with pytest.raises(TenantError, match=text):
        TenantId(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "is empty"),
        (" acme", "white space"),
        ("acme\n", "white space"),
        ("ac\x00me", "cannot be printed"),
        ("ac\u202eme", "cannot be printed"),
        ("ac\ud800me", "cannot be printed"),
        ("cafe\u0301", "normal form C"),
        ("x" * 129, "longer than 128 bytes"),
        ("é" * 65, "longer than 128 bytes"),
    ],
)
def test_refused_whatever_the_pattern(value: str, text: str) -> None:
    with pytest.raises(TenantError, match=f"{text}.*; rename it$"):
        parse_tenant(value, ".*")


def test_a_long_name_is_shown_with_its_cut() -> None:
    with pytest.raises(TenantError, match=r"tenant: 'x{77}…' is longer than"):
        TenantId("x" * 129)


@pytest.mark.parametrize("value", ["a b", "a/b", "-a", ".a", "a*", "café", "a'", "a%"])
def test_default_alphabet_and_how_to_widen_it(value: str) -> None:
    with pytest.raises(TenantError, match="widen tenant_pattern"):
        parse_tenant(value)
    assert parse_tenant(value, ".*").value == value


def test_pattern_must_match_the_whole() -> None:
    with pytest.raises(TenantError):
        parse_tenant("acme!", "[a-z]+")


def test_equal_only_if_every_byte_is() -> None:
    assert TenantId("acme") != TenantId("Acme")
    assert TenantId("acme") == TenantId("acme")


@given(st.text())
def test_never_normalised(value: str) -> None:
    try:
        tenant = parse_tenant(value, "(?s).*")
    except TenantError:
        return
    assert tenant.value == value
