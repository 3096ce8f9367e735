"""Metadata as terms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.model import Value
from retrieverbench.remote import metadata_term

_values = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans())


@given(st.text(), _values, st.text(), _values)
def test_terms_are_equal_only_for_equal_entries(
    name: str, value: Value, other: str, another: Value
) -> None:
    same = name == other and value == another
    same = same and isinstance(value, bool) == isinstance(another, bool)
    assert (metadata_term(name, value) == metadata_term(other, another)) == same


def test_numbers_are_equal_as_in_json() -> None:
    assert metadata_term("n", 1) == metadata_term("n", 1.0)
    assert len({metadata_term("n", value) for value in (1, "1", True, "true")}) == 4
