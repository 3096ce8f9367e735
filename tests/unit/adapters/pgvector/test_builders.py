"""Builders of conditions and names, without a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.sql import SQL

from pgvector_support import ACME, DIMENSION, make_query
from retrieverbench.adapter import Attached, Settings
from retrieverbench.errors import InputError, Rejected
from retrieverbench.model import MODES, Layout, TenantId
from retrieverbench_adapters.pgvector import Options, Pgvector
from retrieverbench_adapters.pgvector.options import check_settings
from retrieverbench_adapters.pgvector.statements import search_statement
from retrieverbench_adapters.pgvector.table import (
    Field,
    Kind,
    column,
    own_table,
    partition_name,
    role_name,
    schema_name,
    search_condition,
    tenant_equality,
    tenant_predicate,
)

SETTINGS = Settings("", "rb_test", frozenset(MODES), dimension=DIMENSION)
OWN = own_table(SETTINGS, Options())
UUID_TEXT = "0f8fad5b-d9cb-469f-a165-70867728950e"
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("kind", "tenant", "bound"),
    [
        ("text", "01", "01"),
        ("bigint", "1", 1),
        ("bigint", "0", 0),
        ("bigint", "-7", -7),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("bigint", "9223372036854775808", None),
        ("bigint", "01", None),
        ("bigint", "1.0", None),
        ("bigint", "1e3", None),
        ("bigint", "-0", None),
        ("bigint", "+1", None),
        ("bigint", "1_000", None),
        ("bigint", "\u0661", None),
        ("bigint", "acme", None),
        ("uuid", UUID_TEXT, UUID(UUID_TEXT)),
        ("uuid", UUID_TEXT.upper(), None),
        ("uuid", UUID_TEXT.replace("-", ""), None),
        ("uuid", f"{{{UUID_TEXT}}}", None),
        ("uuid", "acme", None),
    ],
)
def test_a_tenant_is_bound_only_as_the_column_would_print_it(
    kind: Kind, tenant: str, bound: object
) -> None:
    table = replace(OWN, tenant_kind=kind, owned=tenant_equality(column("tenant"), kind))
    condition, parameters = tenant_predicate(table, TenantId(tenant))
    assert condition.as_string() == f'"t"."tenant" = %(tenant)s::{kind}'
    assert parameters == {"tenant": bound}


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        ("text", "x", "x"),
        ("text", 1, None),
        ("boolean", True, True),
        ("boolean", 1, None),
        ("bigint", 3, 3),
        ("bigint", 3.0, 3),
        ("bigint", 3.5, None),
        ("bigint", True, None),
        ("bigint", "3", None),
        ("bigint", 2**63, None),
        ("jsonb", "x", '"x"'),
        ("jsonb", True, "true"),
        ("jsonb", 3.5, "3.5"),
    ],
)
def test_a_users_value_is_bound_in_the_type_of_its_column(
    kind: Kind, value: Any, bound: object
) -> None:
    table = replace(OWN, metadata={"key": Field(column("there"), kind)})
    condition, parameters = search_condition(table, make_query(ACME, where={"key": value}))
    assert condition.as_string() == (
        f'"t"."tenant" = %(tenant)s::text AND ("t"."there" = %(value0)s::{kind})'
    )
    assert parameters == {"tenant": "acme", "value0": bound}


def test_a_key_that_is_mapped_to_nothing_is_refused() -> None:
    table = replace(OWN, metadata={"year": Field(column("year"), "bigint")})
    with pytest.raises(Rejected, match="'tenant' is mapped to no column; mapped: year"):
        search_condition(table, make_query(ACME, where={"tenant": "globex"}))


@given(texts, texts)
def test_names_of_different_tenants_and_places_differ(one: str, other: str) -> None:
    for name in (partition_name, schema_name, role_name):
        assert (name(one) == name(other)) is (one == other)
        assert len(name(one * 20).encode()) <= 63
    assert schema_name(one) != role_name(one)


@given(texts)
def test_no_value_reaches_the_text_of_a_statement(text: str) -> None:
    query = make_query(ACME, "hybrid", text=text, where={text: text})
    plain = make_query(ACME, "hybrid", where={"key": "value"})
    statements = [
        search_statement(OWN, Options(), search_condition(OWN, asked)[0], asked)
        for asked in (query, plain)
    ]
    assert statements[0] == statements[1]


@pytest.mark.parametrize("layout", ["filter", "partition", "index", "rls"])
def test_only_the_layouts_that_need_one_have_a_condition(layout: Layout) -> None:
    table = own_table(replace(SETTINGS, layout=layout), Options(), "acme")
    condition, parameters = tenant_predicate(table, ACME)
    by_query = layout in {"filter", "partition"}
    assert bool(parameters) is by_query
    assert (condition.as_string() == "true") is not by_query
    assert bool(table.barrier) is not by_query
    assert (table.only == "acme") is (layout == "index")


def test_every_leg_stands_in_the_statement_with_its_condition() -> None:
    marked = SQL("the {}").format(SQL("condition"))
    for mode, count in (("dense", 1), ("lexical", 1), ("hybrid", 2)):
        query = make_query(ACME, mode)  # type: ignore[arg-type]
        statement = search_statement(OWN, Options(), marked, query)
        assert len(statement.legs) == count
        assert statement.sql.count(b"WHERE the condition") == count
        assert statement.sql.count(b'FROM "rb_test"') == count


def test_faults_of_settings_come_all_at_once() -> None:
    wrong = replace(SETTINGS, place="public", dimension=0)
    with pytest.raises(InputError) as caught:
        check_settings(wrong, Options(), Pgvector.capabilities)
    assert len(caught.value.faults) == 2
    attached = replace(SETTINGS, layout="index", attached=Attached("docs", "id", "owner"))
    with pytest.raises(InputError) as caught:
        check_settings(attached, Options(), Pgvector.capabilities)
    assert len(caught.value.faults) == 3
