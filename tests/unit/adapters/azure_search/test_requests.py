"""Filters and arguments, read by an independent parser."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azure_adapter_support import (
    ACME,
    DIMENSION,
    HOSTILE,
    ask,
)
from retrieverbench.engines.azure_search.binding import compile_filter
from retrieverbench.engines.azure_search.definition import parse_definition
from retrieverbench.engines.azure_search.syntax import Group, Term, parse_simple
from retrieverbench.errors import (
    InputError,
    TenantError,
)
from retrieverbench.model import MODES, TenantId
from retrieverbench_adapters.azure_search.definition import (
    index_definition,
)
from retrieverbench_adapters.azure_search.documents import pair
from retrieverbench_adapters.azure_search.options import Place
from retrieverbench_adapters.azure_search.options import Search as SearchOptions
from retrieverbench_adapters.azure_search.requests import (
    escape,
    literal,
    query_filter,
    search_arguments,
    tenant_filter,
)

FIELDS = parse_definition(index_definition("rb_fields", DIMENSION, Place())).fields


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


TRICKY = ANY_TEXT | st.sampled_from(HOSTILE) | st.text("' or()eq\\\n%{}", max_size=30)


SCALARS = st.text() | st.integers(-99, 99) | st.booleans() | st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("C++ -O2", r"C\+\+ \-O2"),
        ('say "hi" (now)*', r"say \"hi\" \(now\)\*"),
        ("a-b c*d", "a-b c*d"),
        ("\\", "\\\\"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_escaped_text_has_no_operators(text: str) -> None:
    """An independent parser finds the words of the text as they were, and nothing else."""
    tree = parse_simple(escape(text), "or")
    parts = tree.parts if isinstance(tree, Group) else ((tree,) if tree is not None else ())
    assert all(isinstance(part, Term) for part in parts)
    words = [w for part in text.split(" ") for w in _split(part)]
    assert [part.text for part in parts if isinstance(part, Term)] == words


def _split(text: str) -> list[str]:
    for blank in "\t\n\r":
        text = text.replace(blank, " ")
    return [word for word in text.split(" ") if word]


@given(TRICKY, TRICKY)
def test_a_literal_reads_back_exactly(value: str, other: str) -> None:
    """An independent parser: the filter matches a field equal to the value, and no other."""
    matches = compile_filter(f"tenant eq {literal(value)}", FIELDS)
    assert matches({"tenant": value})
    assert matches({"tenant": other}) == (other == value)
    assert not matches({"tenant": None})
    assert not matches({})


@given(
    st.sampled_from(HOSTILE),
    st.dictionaries(ANY_TEXT, SCALARS, max_size=3),
    st.dictionaries(ANY_TEXT, SCALARS, max_size=3),
)
def test_where_narrows_the_tenant_and_never_widens_it(
    name: str, stored: dict[str, Any], where: dict[str, Any]
) -> None:
    if any("\0" in str(text) or not _encodable(text) for text in [*where, *where.values()]):
        return
    matches = compile_filter(query_filter(TenantId(name), where) or "", FIELDS)
    metadata = [pair(*item) for item in stored.items()]
    expected = all(k in stored and pair(k, stored[k]) == pair(k, v) for k, v in where.items())
    assert matches({"tenant": name, "metadata": metadata}) == expected
    assert not matches({"tenant": name + "x", "metadata": metadata})


def _encodable(value: object) -> bool:
    return not any(0xD800 <= ord(char) < 0xE000 for char in str(value))


def test_the_filter_as_it_is_sent() -> None:
    assert query_filter(TenantId("O'Neil"), {}) == "tenant eq 'O''Neil'"
    assert query_filter(ACME, {"year": 2021.0, "it's": True}) == (
        "(tenant eq 'acme') and (metadata/any(m: m eq '[\"year\", 2021]') "
        "and metadata/any(m: m eq '[\"it''s\", true]'))"
    )


def test_every_request_is_explicit() -> None:
    """The service's defaults differ by the age of an index, so nothing is left to them."""
    for mode in MODES:
        arguments = search_arguments(ask(mode, k=3), SearchOptions())
        assert arguments["filter"] == "tenant eq 'acme'"
        assert (arguments["top"], arguments["vector_filter_mode"]) == (3, "preFilter")
        assert arguments["scoring_statistics"] == "global"
        assert ("search_text" in arguments) == (mode != "dense")
        assert ("vector_queries" in arguments) == (mode != "lexical")
        for vector_query in arguments.get("vector_queries", []):
            assert vector_query.as_dict().keys() == {
                "kind", "vector", "k", "fields", "exhaustive", "weight"
            }  # fmt: skip
            assert vector_query.as_dict()["k"] == 50


def test_values_that_cannot_be_written_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        literal("a\0b")
    for wrong in ("acme", None, ["acme"]):
        with pytest.raises(TenantError, match="not a checked tenant"):
            tenant_filter(wrong)  # type: ignore[arg-type]
