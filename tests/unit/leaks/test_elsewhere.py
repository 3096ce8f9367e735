"""What an answer shows beside the uids of its hits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from audit_support import DRAW
from retrieverbench.leaks import elsewhere, make_world
from retrieverbench.leaks.elsewhere import Told, shown_elsewhere
from retrieverbench.leaks.world import World
from retrieverbench.model import Chunk, TenantId
from retrieverbench.storage import stored

WORLD = make_world(DRAW)
MINE, OTHER = WORLD.tenants[:2]
OWN, FOREIGN = WORLD.chunks[MINE][0], WORLD.chunks[OTHER][0]
CANARY = WORLD.canaries[OTHER]
TOKEN = WORLD.tokens[OTHER]
EXPORTED = World(
    {},
    exported=stored(
        [
            Chunk("report.html", TenantId("docs"), "A text that is long enough to be known."),
            Chunk("c1", TenantId("shop"), "It says more: see docs/report.html"),
            Chunk("c2", TenantId("docs"), "The terms and conditions of use"),
            Chunk("c3", TenantId("shop"), "Pay at once.", "The terms and conditions of use"),
        ]
    ),
)


def shown(told: Told, world: World = WORLD, asker: TenantId = MINE, **more: bool) -> set[str]:
    given = {"texts_stay": True, **more}
    return {found[0] for found in shown_elsewhere(told, world, world.ledger, asker, **given)}


@pytest.mark.parametrize(
    "told",
    [
        Told([{"facets": [FOREIGN.metadata]}]),
        Told([{"candidates": [FOREIGN.uid]}]),
        Told(error=f"cannot score ({FOREIGN.uid})."),
        Told([f"{WORLD.twins[MINE][0].text}\n{FOREIGN.text}"]),
        Told(error=f"cannot parse {FOREIGN.text!r}"),
    ],
)
def test_what_is_others_is_found_wherever_it_stands(told: Told) -> None:
    assert shown(told) == {FOREIGN.uid}
    assert not shown(told, asker=OTHER)


def test_a_whole_text_within_an_error_is_shown_but_not_that_of_the_question() -> None:
    """Of a chunk without a word of its own, as a magnet is."""
    text = "padutu fozodo tovuzu luzorugo kababa"
    world = replace(WORLD, chunks={**WORLD.chunks, OTHER: [Chunk("m", OTHER, text)]}, only={})
    error = f"nothing of yours; best was {text}; try again"
    assert shown(Told(error=error), world) == {f"{OTHER.value}/m"}
    assert not shown(Told(error=error, asked=[f"what is {text}?"]), world)
    assert not shown(Told(error=error), world, asker=OTHER)
    known = "The terms and conditions of use"
    for told in (f"best: {known}", f"best is '{known}' and more"):
        assert shown(Told(error=told), EXPORTED, TenantId("x")) == {"docs/c2"}


@pytest.mark.parametrize("sent", [{"sent": [TOKEN.upper()]}, {"answer": [f"<b>{TOKEN}</b>"]}])
def test_a_token_is_found_in_what_was_left_out_too(sent: dict[str, list[str]]) -> None:
    assert shown(Told(**sent)) == {CANARY.uid}  # type: ignore[arg-type]
    assert not shown(Told(sent=[FOREIGN.uid, FOREIGN.text]))


@pytest.mark.parametrize("kind", [list, tuple, lambda vector: vector])
def test_vectors_and_names_of_others_are_found(kind: Callable[[Any], object]) -> None:
    assert shown(Told([{"near": kind(FOREIGN.vector)}])) == {FOREIGN.uid}
    assert not shown(Told([{"near": kind(FOREIGN.vector)}], vector=FOREIGN.vector or ()))
    assert not shown(Told([{"near": [WORLD.twins[MINE][0].vector]}])), "its own, too"
    assert not shown(Told([{"scores": [0.5] * 32, "short": list(FOREIGN.vector or ())[:31]}]))
    facets = [{"facets": {OTHER.value: 7, "acme": 3}}]
    assert shown(Told(facets)) == {FOREIGN.uid}
    assert not shown(Told(facets, asked=[OTHER.value]))
    assert not shown(Told([{"facets": {"acme": 3}}]), asker=OTHER), "a corpus's name is any word"


def test_an_echo_of_the_question_is_no_leak() -> None:
    for text in (FOREIGN.uid, FOREIGN.text, CANARY.text, WORLD.only[OTHER]):
        assert not shown(Told([{"query": text}], f"cannot parse {text}", asked=[text]))


def test_texts_that_all_have_and_texts_of_moved_chunks_are_nobodys() -> None:
    assert not shown(Told([WORLD.twins[OTHER][0].text]))
    assert not shown(Told([FOREIGN.text]), texts_stay=False)


def test_a_token_is_a_secret_word_where_one_was_put_and_a_text_among_the_users_chunks() -> None:
    users = replace(WORLD, exported=EXPORTED.exported)
    for world, what in ((WORLD, "secret"), (users, "text")):
        told = shown_elsewhere(Told([TOKEN]), world, WORLD.ledger, MINE, texts_stay=False)
        assert {found[2] for found in told} == {what}


def test_of_a_users_corpus_texts_and_whole_uids_count_and_paths_in_own_texts_do_not() -> None:
    shop = TenantId("shop")
    text, linking, title, _own = (chunk.text for chunk in EXPORTED.exported)
    assert shown(Told([{"snippet": text}]), EXPORTED, shop) == {"docs/report.html"}
    assert shown(Told([{"id": "docs/report.html"}]), EXPORTED, shop) == {"docs/report.html"}
    assert shown(Told(error="no docs/report.html"), EXPORTED, shop) == {"docs/report.html"}
    assert not shown(Told([linking]), EXPORTED, shop)
    within = Told([{"debug": "candidate=docs/report.html"}])
    assert shown(within, EXPORTED, TenantId("nobody")) == {"docs/report.html"}
    assert not shown(Told([{"title": title}]), EXPORTED, shop), "its own chunk bears that title"
    assert shown(Told([{"title": title}]), EXPORTED, TenantId("nobody")) == {"docs/c2"}


def test_an_answer_without_measure_is_looked_through_in_part() -> None:
    many = [str(number) for number in range(elsewhere.MOST_TEXTS)]
    assert shown(Told([*many[1:], FOREIGN.uid])) == {FOREIGN.uid}
    assert not shown(Told([*many, FOREIGN.uid]))


def test_a_name_of_signs_makes_no_uid_of_a_number() -> None:
    one = Chunk("0", TenantId("1"), "x")
    world = replace(WORLD, chunks={**WORLD.chunks, one.tenant: [one]})
    assert not shown(Told(["OR '1'='1/0"], error="at 1/0"), world)
