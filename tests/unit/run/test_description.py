"""A description is what an artifact can hold, field by field, or the adapter's fault."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.adapter import Description
from retrieverbench.errors import AdapterError
from retrieverbench.model import Plan, TenantId
from retrieverbench.run.description import checked_description, checked_plan

GOOD = Description(
    "server",
    "1.0",
    "client",
    "2.0",
    {"lists": 4, "share": 0.5, "on": True, "none": None, "steps": ["a", {"b": 1}]},
    {"acme": 3, "globex": 0},
    frozenset({"approximate"}),
    "engine",
    ("replicas",),
)
CYCLE: dict[str, object] = {}
CYCLE["self"] = CYCLE


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Lazy(dict[str, object]):
    def items(self) -> Any:
        raise KeyboardInterrupt("fetched late")


def test_a_good_description_is_equal_to_its_copy() -> None:
    assert checked_description(GOOD, "fake") == GOOD


def test_what_the_adapter_changes_later_changes_nothing() -> None:
    steps = ["a"]
    settings: dict[str, object] = {"steps": steps}
    counts, words, lines = {"acme": 1}, {"approximate"}, ["replicas"]
    found: Any = replace(GOOD, settings=settings, chunks=counts)
    found = replace(found, properties=words, unchecked=lines)
    checked = checked_description(found, "fake")
    steps.append("b")
    settings["more"] = counts["acme"] = 2
    words.clear()
    lines.clear()
    assert (checked.settings, checked.chunks) == ({"steps": ["a"]}, {"acme": 1})
    assert checked.properties == frozenset({"approximate"})
    assert checked.unchecked == ("replicas",)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("server", 9, "int is not text"),
        ("server_version", None, "NoneType is not text"),
        ("client", b"c", "bytes is not text"),
        ("client_version", "a\ud800b", "not Unicode"),
        ("settings", None, "NoneType is not a mapping"),
        ("slow", None, "NoneType is not a mapping"),
        ("slow", {"sparse": ()}, "'sparse' is unknown"),
        ("slow", {"dense": "a line"}, "str is not a tuple of texts"),
        ("settings", {"a": object()}, "JSON cannot hold object"),
        ("settings", {"a": [float("nan")]}, "not finite"),
        ("settings", {1: 2}, "int is not text"),
        ("settings", {"a": {1: 2}}, "int is not text"),
        ("settings", {"a": 10**5000}, "limit"),
        ("settings", CYCLE, "recursion"),
        ("settings", Lazy(), "fetched late"),
        ("chunks", None, "NoneType is not a mapping"),
        ("chunks", {TenantId("a"): 1}, "TenantId is not text"),
        ("chunks", {"a": "1"}, "whole number"),
        ("chunks", {"a": True}, "whole number"),
        ("chunks", {"a": -1}, "whole number"),
        ("properties", None, "NoneType is not a set of texts"),
        ("properties", ("a",), "tuple is not a set of texts"),
        ("properties", frozenset({1, "a"}), "int is not text"),
        ("fidelity", "fast", "'fast' is unknown"),
        ("fidelity", [], "list is not text"),
        ("unchecked", None, "NoneType is not a tuple of texts"),
        ("unchecked", "text", "str is not a tuple of texts"),
        ("unchecked", (1, Mute()), "int is not text"),
    ],
)
def test_each_field_is_checked(field: str, value: Any, text: str) -> None:
    with pytest.raises(AdapterError, match=f"'fake': describe: {field}: .*{text}"):
        checked_description(replace(GOOD, **{field: value}), "fake")


def test_anything_else_is_no_description() -> None:
    with pytest.raises(AdapterError, match="describe returned NoneType, not a Description"):
        checked_description(None, "fake")


def test_no_text_shows_a_secret() -> None:
    secret = "hunter2"
    shown = Description(
        f"s {secret}",
        f"1 {secret}",
        f"c {secret}",
        f"1 {secret}",
        {"key": secret, f"as {secret}": [{"deep": secret}]},
        {"acme": 1},
        frozenset({secret}),
        None,
        (f"not read: {secret}",),
    )
    checked = checked_description(shown, "fake", [secret])
    assert secret not in repr(checked)
    assert checked.settings == {"key": "***", "as ***": [{"deep": "***"}]}
    with pytest.raises(AdapterError, match=r"fidelity: '\*\*\*' is unknown"):
        checked_description(replace(shown, fidelity=secret), "fake", [secret])  # type: ignore[arg-type]


def test_names_of_tenants_stay_as_they_were_counted() -> None:
    assert checked_description(GOOD, "fake", ["acme"]).chunks == GOOD.chunks


PLAN = Plan(("Index Scan using hnsw",), "hnsw", "during", "made anew")


def wrong(**fields: Any) -> Plan:
    return replace(PLAN, **fields)


def test_a_good_plan_is_equal_to_its_copy() -> None:
    assert checked_plan(PLAN, "fake") == PLAN


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (None, "explain returned NoneType, not a Plan"),
        (wrong(lines="Index Scan"), "lines: str is not a tuple of texts"),
        (wrong(filtered="later"), "filtered: 'later' is unknown; "),
        (wrong(caveat=None), "caveat: NoneType is not text"),
    ],
)
def test_a_broken_plan_is_the_adapters_fault(found: Any, fault: str) -> None:
    with pytest.raises(AdapterError, match=re.escape(fault)):
        checked_plan(found, "fake")


def test_a_plan_shows_no_secret() -> None:
    assert checked_plan(replace(PLAN, lines=("key hunter22",)), "fake", ["hunter22"]).lines != (
        "key hunter22",
    )
