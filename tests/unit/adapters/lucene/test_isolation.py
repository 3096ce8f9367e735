"""Each tenant gets its own and nothing else, whatever the layout, the mode and the text."""

from __future__ import annotations

from typing import Any

import pytest

from lucene_support import LAYOUTS, Backend, chunk, query, uids
from retrieverbench.errors import InputError
from retrieverbench.model import MODES, Layout, Mode, Value
from retrieverbench.remote.lucene import requests

pytestmark = pytest.mark.anyio

HOSTILE_TENANTS = [
    "acme", "ACME", "Acme", "acme corp", "acme-corp", "acme_corp", "acm", "acme*", "a?me", "*",
    "acme OR globex", "tenant:acme", "acme) OR (tenant:globex", "true", "1", "null", "[1]", "{}",
    '{"value":"acme","case_insensitive":true}', '"acme"', "'acme'", "a\\cme", "a/cme", "a%2Fcme",
    "äcme", "acmé", "\N{GREEK SMALL LETTER ALPHA}cme", "\N{CYRILLIC SMALL LETTER A}cme",
    "acme,globex", "_all", "..", "-acme", "x" * 128,
]  # fmt: skip


def layouts_of(backend: Backend) -> list[tuple[Layout, dict[str, Any]]]:
    """Every way in which the adapter can keep tenants apart, as layout and place options."""
    found: list[tuple[Layout, dict[str, Any]]] = [(layout, {}) for layout in LAYOUTS]
    if backend.name == "elasticsearch":
        found.append(("filter", {"filtered_alias": True}))
    return found


async def test_each_tenant_sees_its_own_and_nothing_else(backend: Backend) -> None:
    """All hold the same text and vector, so a missing or a loose filter must show."""
    every = [chunk(tenant, "same", "leave policy", 1) for tenant in HOSTILE_TENANTS]
    for number, (layout, place) in enumerate(layouts_of(backend)):
        chunks = [c for n, c in enumerate(every) if number == 0 or n % 3 == 0 or "," in c.uid]
        async with backend.opened(layout=layout, options={"place": place}) as adapter:
            await adapter.put(chunks)
            await adapter.settle()
            for mode in MODES:
                for one in chunks:
                    answer = await adapter.search(query(one.tenant.value, mode, k=50))
                    found = [(hit.uid, hit.tenant) for hit in answer.hits]
                    assert found == [(one.uid, one.tenant.value)], (layout, place, mode)
                for unknown in ("globex", "acmex", "cme"):
                    assert await uids(adapter, query(unknown, mode, k=50)) == []
            assert (await adapter.describe()).chunks == {c.tenant.value: 1 for c in chunks}


@pytest.mark.parametrize("layout", ["filter", "partition"])
async def test_a_dropped_condition_would_show(
    backend: Backend, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: every mode takes its condition from the one function."""
    place = {"partitions": 1}
    async with backend.opened(layout=layout, options={"place": place}) as adapter:
        await adapter.put([chunk(tenant, "same", "leave policy", 1) for tenant in "ab"])
        await adapter.settle()
        monkeypatch.setattr(requests, "tenant_filter", lambda *_: {"match_all": {}})
        for mode in MODES:
            assert sorted(await uids(adapter, query("a", mode))) == ["a/same", "b/same"]


async def test_an_index_per_tenant_shares_no_statistics(backend: Backend) -> None:
    """The same chunk scores the same, however many others have its words."""
    scores: dict[str, list[float]] = {}
    for layout in LAYOUTS:
        options = {"place": {"partitions": 1}}
        async with backend.opened(layout=layout, options=options) as adapter:
            scores[layout] = []
            await adapter.put([chunk("a", "1", "leave policy", 1)])
            for others in (range(1), range(1, 20)):
                await adapter.put([chunk("b", str(n), "leave", n) for n in others])
                await adapter.settle()
                answer = await adapter.search(query("a", "lexical"))
                scores[layout] += [hit.score for hit in answer.hits]
            declared = "shared_idf" in (await adapter.describe()).properties
            assert declared is (layout != "index")
    assert scores["index"][0] == scores["index"][1]
    assert scores["filter"][0] != scores["filter"][1]
    assert scores["partition"][0] != scores["partition"][1]


async def test_partitions_are_shards_and_the_routing_picks_one(backend: Backend) -> None:
    async with backend.opened(layout="partition", options={"place": {"partitions": 3}}) as adapter:
        await adapter.put([chunk(f"t{n}", "1", "leave policy", n) for n in range(12)])
        await adapter.settle()
        described = await adapter.describe()
    assert described.settings["shards"] == 3
    assert described.weaknesses == ()


QUESTIONS = [
    "*:*", "tenant:b", "leave) OR (tenant:b", '" unbalanced', "leave AND NOT policy", "a\\",
    '{"match_all":{}}', "/.*/", "leave~2 policy^9", "_exists_:tenant", "\x00", "😀 leave", "",
    "the of and", " ".join(f"w{n}" for n in range(450)), "{!term f=tenant}b", "<->", "leave\nb",
    "tenant:[* TO *]", "${jndi:ldap://x}", "'; DROP TABLE x; --", "\u202eleave", "\\u0000",
]  # fmt: skip


@pytest.mark.parametrize("fields", ["flat", "summed", "best_fields"])
async def test_query_text_is_words(backend: Backend, fields: str) -> None:
    """No text is an error, none widens the search."""
    async with backend.opened(options={"place": {"fields": fields}}) as adapter:
        await adapter.put([chunk(tenant, "same", "leave policy", 1) for tenant in "ab"])
        await adapter.settle()
        for text in QUESTIONS:
            lexical = await uids(adapter, query("a", "lexical", text))
            assert lexical == (["a/same"] if "leave" in text else []), text
            assert await uids(adapter, query("a", "hybrid", text)) == ["a/same"], text


@pytest.mark.parametrize("mode", MODES)
async def test_conditions_are_exact_and_only_narrow(backend: Backend, mode: Mode) -> None:
    """1 is 1.0 and neither "1" nor true; a condition on `tenant` is metadata."""
    long = "x" * 9000
    values: dict[str, Value] = {"one": 1, "text": "1", "true": True, "case": "En", "long": long}
    chunks = [chunk("a", name, "leave policy", 1, v=value) for name, value in values.items()]
    async with backend.opened() as adapter:
        await adapter.put([*chunks, chunk("b", "foreign", "leave policy", 1, v=1, tenant="a")])
        await adapter.settle()
        wanted: list[tuple[Value, list[str]]] = [
            (1, ["a/one"]), (1.0, ["a/one"]), ("1", ["a/text"]), (True, ["a/true"]),
            ("true", []), ("En", ["a/case"]), ("en", []), (long, ["a/long"]), (long + "x", []),
        ]  # fmt: skip
        for value, expected in wanted:
            assert await uids(adapter, query("a", mode, where={"v": value})) == expected
        assert await uids(adapter, query("a", mode, where={"v": 1, "w": 1})) == []
        assert await uids(adapter, query("a", mode, where={"tenant": "b"})) == []


async def test_a_filtered_alias_is_said_to_be_no_security_control(elasticsearch: Backend) -> None:
    """And belongs to one index only."""
    options = {"place": {"filtered_alias": True}}
    async with elasticsearch.opened(options=options) as adapter:
        await adapter.put([chunk("a", "1", "leave policy", 1)])
        await adapter.settle()
        (weakness,) = (await adapter.describe()).weaknesses
    assert "no security control" in weakness
    with pytest.raises(InputError, match="filtered_alias: true needs layout 'filter'"):
        await elasticsearch.open(elasticsearch.settings(layout="index", options=options))
