"""Rows AZ-26 to AZ-36: filters."""

from __future__ import annotations

import pytest

from azure_support import Api

INVALID = "Invalid expression: "
OPPOSITE = (
    "Found a test for equality or inequality where the opposite was expected in a lambda "
    "expression that iterates over a field of type Collection(Edm.String). For 'any', use "
    "expressions of the form 'x eq y' or 'search.in(...)'."
)


def refused(api: Api, text: str) -> str:
    """The message for a filter that must be refused."""
    answer = api.search(filter=text, search="*")
    assert answer.status == 400, answer.body
    assert answer.message.endswith("\r\nParameter name: $filter")
    return answer.message.removesuffix("\r\nParameter name: $filter").removeprefix(INVALID)


def test_az_26_syntax_error(api: Api) -> None:
    text = "This is not a valid filter."
    assert refused(api, text) == f"Syntax error at position 7 in '{text}'."
    braces = "country eq 'United Kingdom' {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}"
    assert refused(api, braces) == f"Syntax error at position 62 in '{braces}'."


def test_az_27_not_binds_first(api: Api) -> None:
    assert refused(api, "not n gt 5") == (
        "A unary operator with an incompatible type was detected. "
        "Found operand type 'Edm.Int32' for operator kind 'Not'."
    )


def test_az_28_unknown_field(api: Api) -> None:
    expected = "Could not find a property named 'url' on type 'search.document'."
    api.believed(refused(api, "url eq 'a'") == expected, "text for $filter")
    selected = api.search(select="id,url")
    assert selected.status == 400
    assert expected in selected.message


def test_az_29_field_not_filterable(api: Api) -> None:
    message = refused(api, "hidden eq 'a'")
    api.believed("not a filterable field" in message, message)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("n gt null", ""),
        ("n eq NaN", ""),
        ("tenant eq 5", "'Edm.String' and 'Edm.Int32'"),
        ("5 eq tenant", "'Edm.Int32' and 'Edm.String'"),
        ("tags eq 'a'", ""),
    ],
)
def test_az_30_types_that_do_not_mix(api: Api, text: str, types: str) -> None:
    message = refused(api, text)
    api.believed("incompatible types" in message, message)
    api.believed(types in message, message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags/any(t: t ne 'a')", OPPOSITE),
        ("tags/all(t: t eq 'a')", OPPOSITE),
        ("tags/any(t: not (t eq 'a'))", OPPOSITE),
        (
            "tags/any(t: t eq 'a' and t eq 'b')",
            "Complex Boolean expressions are not supported in lambda expressions that iterate",
        ),
        (
            "tags/any(t: t gt 'a')",
            "Found a comparison operator (one of 'lt', 'le', 'gt', or 'ge').",
        ),
        ("tags/any(t: tenant eq 'a')", "not bound to the range variable 't'."),
    ],
)
def test_az_31_lambdas_that_are_refused(api: Api, text: str, expected: str) -> None:
    assert expected in refused(api, text)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("tags/all(t: t ne 'wifi' and not (t eq 'a'))", "24"),
        ("tags/any()", "123"),
        ("not tags/any()", "4"),
        ("tags/any(t: t eq 'a' or t eq 'wifi')", "13"),
        ("tags/all(t: not search.in(t,'a'))", "124"),
    ],
)
def test_az_32_lambdas(shared_api: Api, text: str, ids: str) -> None:
    assert shared_api.filter(text) == list(ids)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("tenant eq 'O''Neil'", "1"),
        ("tenant eq 'größe'", "3"),
        ("tenant eq 'Größe'", ""),
        ("tenant eq 'o''neil'", "2"),
        ("tenant eq 'O''''Neil'", ""),
    ],
)
def test_az_33_strings_are_exact(shared_api: Api, text: str, ids: str) -> None:
    assert shared_api.filter(text) == list(ids)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("tags/any(t: search.in(t,'Sea View motel|Budget hotel','|'))", "12"),
        ("tags/any(t: search.in(t,'Sea View motel'))", ""),
        ("search.in(tenant,'x,O''Neil größe')", "13"),
        ("search.in(tenant,'O''Neil','|')", "1"),
    ],
)
def test_az_34_search_in(shared_api: Api, text: str, ids: str) -> None:
    assert shared_api.filter(text) == list(ids)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("tenant ne 'größe'", "124"),
        ("tenant eq null", "4"),
        ("null eq tenant", "4"),
        ("tenant ne null", "123"),
        ("5 lt n", "3"),
        ("n le 5", "12"),
        ("not (n le 5)", "34"),
        ("n eq 3.0", "1"),
        ("x gt 1", "2"),
        ("x lt INF and x gt -INF", "12"),
        ("x eq NaN", ""),
        ("open", "1"),
        ("not open", "234"),
        ("open eq false", "2"),
        ("at ge 2020-12-31T23:00:00Z", "2"),
        ("n eq 3 or n eq 5 and open", "1"),
        ("(n eq 3 or n eq 5) and not open", "2"),
        ("false", ""),
        ("true or n eq 3", "1234"),
    ],
)
def test_az_35_null_numbers_and_precedence(shared_api: Api, text: str, ids: str) -> None:
    assert shared_api.filter(text) == list(ids)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("tenant in ('a')", 9),
        ("tenant EQ 'a'", 9),
        ('tenant eq "a"', 11),
        ("(tenant eq 'a'", 14),
        ("tenant eq 'a", 11),
    ],
)
def test_az_36_what_is_no_filter(api: Api, text: str, position: int) -> None:
    message = refused(api, text)
    assert "yntax error" in message
    api.believed(message == f"Syntax error at position {position} in '{text}'.", message)
