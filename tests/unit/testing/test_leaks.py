"""The assertion passes a retriever that keeps tenants apart, and fails the others by name."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.testing.leaks import (
    Inconclusive,
    Leaked,
    assert_no_leaks,
    assert_no_leaks_async,
)

TENANTS = ("birch", "cedar", "oak")
SECRET = "of which nobody else may know"
DOCS = [
    {"id": f"{tenant}-{n}", "tenant": tenant, "text": f"{tenant} note {n} {SECRET}"}
    for tenant in TENANTS
    for n in range(4)
]
Search = Callable[[str, Any, int], list[tuple[str, float]]]


def ranked(text: str, kept: Callable[[str], bool], k: int) -> list[tuple[str, float]]:
    """Words in common, over the documents whose owner is kept."""
    words = set(text.split())
    scored = [
        (d["id"], float(len(words & set(d["text"].split())))) for d in DOCS if kept(d["tenant"])
    ]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:k]


def clean(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda owner: owner == tenant, k)


def unfiltered(text: str, _tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda _owner: True, k)


def folded(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda owner: owner == str(tenant).lower(), k)


def beginning(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda owner: owner.startswith(tenant), k)


def open_to_nobody(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda owner: not tenant or owner == tenant, k)


def several(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return ranked(text, lambda owner: owner in str(tenant).split(","), k)


def beyond(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    """Fills up a list that is too short."""
    own = clean(text, tenant, k)
    return own if tenant not in TENANTS else [*own, *unfiltered(text, tenant, 20)][:k]


KEPT: dict[str, list[tuple[str, float]]] = {}


def cached(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return KEPT.setdefault(text, clean(text, tenant, k)) if tenant in TENANTS else []


def strange(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return [*clean(text, tenant, k - 1), ("from-elsewhere", 0.0)] if tenant in TENANTS else []


def test_a_clean_retriever_passes_sync_and_with_a_control() -> None:
    assert_no_leaks(clean, TENANTS, DOCS, unfiltered=unfiltered, questions=["note 1"])


@pytest.mark.parametrize(
    "leaky", [unfiltered, folded, beginning, open_to_nobody, several, beyond, cached, strange]
)
def test_a_leak_is_told_by_ids_alone(leaky: Search) -> None:
    with pytest.raises(Leaked, match="LEAK: tenant ") as caught:
        assert_no_leaks(leaky, TENANTS, DOCS)
    assert SECRET not in str(caught.value)
    first = caught.value.findings[0]
    assert first.rank >= 1
    assert first.owner != first.tenant


def test_the_message_says_who_saw_what_where_and_how_many_more() -> None:
    with pytest.raises(Leaked) as caught:
        assert_no_leaks(unfiltered, TENANTS, DOCS, hostile=False)
    assert re.fullmatch(
        r"LEAK: tenant 'birch', asking in the words of 'birch-0', was shown 'cedar-0' at rank \d+, "
        r"which belongs to 'cedar'; and \d+ more such hits",
        str(caught.value),
    )


def test_without_hostile_names_only_those_given_ask() -> None:
    assert_no_leaks(folded, TENANTS, DOCS, hostile=False)


def failing(_text: str, _tenant: Any, _k: int) -> list[tuple[str, float]]:
    raise ConnectionError("nobody answers")


def only_birch(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
    return clean(text, tenant, k) if tenant == "birch" else []


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (lambda *_: [], "gave no tenant anything of its own"),
        (only_birch, "'cedar', 'oak' found nothing"),
        (failing, "raised ConnectionError: nobody answers; and "),
        (lambda *_: None, "returned NoneType, not a list of ids"),
        (lambda *_: "birch-0", "returned str, not a list of ids"),
        (lambda *_: [{"id": "birch-0"}], "returned dict, not an id"),
    ],
)
def test_what_proves_nothing_is_inconclusive(search: Any, reason: str) -> None:
    with pytest.raises(Inconclusive, match=reason):
        assert_no_leaks(search, TENANTS, DOCS)


def test_a_control_that_shows_nothing_is_inconclusive() -> None:
    with pytest.raises(Inconclusive, match="unfiltered retriever showed 'birch' nothing foreign"):
        assert_no_leaks(clean, TENANTS, DOCS, unfiltered=clean)


def test_one_tenant_is_inconclusive() -> None:
    with pytest.raises(Inconclusive, match="nobody to leak to"):
        assert_no_leaks(clean, ["birch"], DOCS[:4])


async def slow(text: str, tenant: Any, k: int) -> list[str]:
    return [id_ for id_, _score in clean(text, tenant, k)]


async def slow_leak(text: str, tenant: Any, k: int) -> list[str]:
    return [id_ for id_, _score in unfiltered(text, tenant, k)]


def test_an_async_retriever_in_a_sync_test() -> None:
    assert_no_leaks(slow, TENANTS, DOCS, unfiltered=slow_leak)
    with pytest.raises(Leaked):
        assert_no_leaks(slow_leak, TENANTS, DOCS)


class OnAnObject:
    """Another's question changes the tenant while this one waits."""

    tenant: Any = None

    async def __call__(self, text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
        self.tenant = tenant
        await asyncio.sleep(0)
        return clean(text, self.tenant, k)


@pytest.mark.anyio
async def test_an_async_retriever_is_asked_by_all_at_once() -> None:
    with pytest.raises(Leaked, match="asking at once with others"):
        await assert_no_leaks_async(OnAnObject(), TENANTS, DOCS)
    await assert_no_leaks_async(OnAnObject(), TENANTS, DOCS, hostile=False)


def test_so_it_is_in_a_sync_test() -> None:
    with pytest.raises(Leaked, match="asking at once with others"):
        assert_no_leaks(OnAnObject(), TENANTS, DOCS)


@pytest.mark.anyio
@pytest.mark.parametrize("search", [slow, clean])
async def test_any_retriever_in_an_async_test(
    search: Callable[[str, Any, int], list[str] | Awaitable[list[str]]],
) -> None:
    await assert_no_leaks_async(search, TENANTS, DOCS, unfiltered=unfiltered)
    with pytest.raises(Leaked):
        await assert_no_leaks_async(slow_leak, TENANTS, DOCS)
    with pytest.raises(InputError, match="await assert_no_leaks_async"):
        assert_no_leaks(slow, TENANTS, DOCS)


@pytest.mark.parametrize(
    ("docs", "fault"),
    [
        ([{"id": "a", "text": "x"}], r"docs\[0\]: no 'tenant'"),
        ([{"id": "a", "tenant": "t", "text": ""}], r"docs\[0\]: no 'text'"),
        ([{"id": 1.5, "tenant": "t", "text": "x"}], r"docs\[0\]: 'id' is float, not text"),
        ([], "docs: there is none"),
        (
            [{"id": "a", "tenant": t, "text": "x"} for t in ("birch", "cedar")],
            r"docs\[1\]: the id 'a' is a document of 'birch' and of 'cedar'",
        ),
    ],
)
def test_a_record_that_cannot_judge_is_refused(docs: list[dict[str, str]], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        assert_no_leaks(clean, TENANTS, docs)


def test_whole_numbers_are_ids_by_their_decimal_text() -> None:
    numbers = {doc["id"]: number for number, doc in enumerate(DOCS)}
    docs = [{**doc, "id": numbers[doc["id"]]} for doc in DOCS]

    def own(text: str, tenant: Any, k: int) -> list[int]:
        return [numbers[id_] for id_, _score in clean(text, tenant, k)]

    def others(text: str, tenant: Any, k: int) -> list[int]:
        return [numbers[id_] for id_, _score in unfiltered(text, tenant, k)]

    assert_no_leaks(own, TENANTS, docs)
    with pytest.raises(Leaked, match="belongs to"):
        assert_no_leaks(others, TENANTS, docs)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"tenants": ["birch", ""]}, "tenants: '' is no text"),
        ({"tenants": "birch"}, "tenants: 'birch' is no list"),
        ({"tenants": ["Birch", "cedar"]}, "tenants: 'Birch' owns no document .*'birch'"),
        ({"questions": "note 1"}, "questions: 'note 1' is no list"),
        ({"questions": ["note 1", " "]}, "questions: ' ' is no text"),
        ({"k": 0}, "k: 0 is no whole number of 1 or more"),
        ({"k": True}, "k: True is no whole number"),
        ({"most": 0}, "most: 0 is no whole number of 1 or more"),
    ],
)
def test_what_would_ask_nothing_is_refused(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        assert_no_leaks(clean, **{"tenants": TENANTS, "docs": DOCS} | arguments)


MANY = [
    {"id": f"{tenant}-{n}", "tenant": tenant, "text": f"{tenant} note {n}"}
    for tenant, notes in (("birch", 40), *((f"elm{n}", 1) for n in range(9)))
    for n in range(notes)
]
NAMES = tuple(dict.fromkeys(doc["tenant"] for doc in MANY))


def asked_of(**arguments: Any) -> set[tuple[str, str]]:
    """Who asked what, of a retriever that shows each tenant all of its own."""
    asked: set[tuple[str, str]] = set()

    def search(text: str, tenant: str, _k: int) -> list[Any]:
        asked.add((tenant, text))
        return [doc["id"] for doc in MANY if doc["tenant"] == tenant]

    assert_no_leaks(search, NAMES, MANY, hostile=False, **arguments)
    return asked


def test_every_text_is_asked_by_its_owner_and_every_owner_by_every_other() -> None:
    asked = asked_of(questions=(text for text in ["anything"]))
    assert {(doc["tenant"], doc["text"]) for doc in MANY} <= asked
    assert {(name, "anything") for name in NAMES} <= asked
    owners = {doc["text"]: doc["tenant"] for doc in MANY} | {"anything": ""}
    pairs = {(asker, owners[text]) for asker, text in asked}
    assert {(asker, owner) for asker in NAMES for owner in NAMES} <= pairs


def test_most_bounds_the_documents_of_an_owner_that_are_asked_for() -> None:
    asked = {text for _, text in asked_of(most=3) if text.startswith("birch")}
    assert asked == {"birch note 0", "birch note 13", "birch note 26"}


def test_a_foreign_id_behind_what_is_no_id_is_a_leak() -> None:
    with pytest.raises(Leaked, match="was shown 'cedar-0' at rank 2"):
        assert_no_leaks(lambda *_: [{"id": "x"}, "cedar-0"], TENANTS, DOCS, hostile=False)


@pytest.mark.parametrize(
    ("is_open", "asked"),
    [
        (lambda text, _k: not text, "asking nothing"),
        (lambda text, _k: text.isupper(), "asking in capitals"),
        (lambda text, _k: len(text) > 1_000, "asking at length"),
        (lambda _text, k: k == 1, "asking for one hit"),
        (lambda _text, k: k > 50, "asking for 100 hits"),
        (lambda text, _k: text.startswith('"'), "asking in quotes"),
        (lambda text, _k: text in {doc["id"] for doc in DOCS}, "asking by the id"),
        (lambda text, _k: text in TENANTS, "asking by the name"),
        (lambda text, _k: text.split()[-1:][0] in TENANTS if " " in text else False, "by name"),
    ],
)
def test_unusual_questions_are_asked(is_open: Callable[[str, int], bool], asked: str) -> None:
    def search(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
        if tenant in TENANTS and is_open(text, k):
            return ranked(f"{text.lower()} note", lambda owner: owner != tenant, k)
        return clean(text, tenant, k)

    with pytest.raises(Leaked, match=asked):
        assert_no_leaks(search, TENANTS, DOCS)
    assert_no_leaks(clean, TENANTS, DOCS)


def test_who_turns_unusual_questions_away_passes() -> None:
    def search(text: str, tenant: Any, k: int) -> list[tuple[str, float]]:
        if not text.strip() or k > 10 or len(text) > 1_000:
            raise ValueError("no such question")
        return clean(text, tenant, k)

    assert_no_leaks(search, TENANTS, DOCS)
