"""What is drawn is new in every run, the same for the same seed, and fit to be told apart."""

from __future__ import annotations

import pytest

from retrieverbench.leaks import Draw, hostile, make_world, new_seed
from retrieverbench.leaks.draw import NUMBERS
from retrieverbench.model import TenantId

FAMILIES = (hostile.SYNTAX, hostile.PREFIXES, hostile.FOLDED, hostile.UNICODE, hostile.LONG)
SEEDS = (0, 1, 2**47)


def everything(draw: Draw) -> list[object]:
    """All that a backend is told; tokens, which are secret, aside."""
    world = make_world(draw)
    chunks = [
        (chunk.uid, [word for word in chunk.text.split() if word not in world.tokens.values()],
         dict(chunk.metadata), chunk.vector)
        for chunk in world.all_chunks()
    ]  # fmt: skip
    return [*chunks, *(hostile.spelled(family, draw) for family in FAMILIES)]


def test_equal_seeds_draw_equal_things_and_other_seeds_others() -> None:
    assert everything(Draw(5, ("acme",))) == everything(Draw(5, ("acme",)))
    one, other = (set(make_world(Draw(seed)).ledger) for seed in (5, 6))
    assert not one & other
    assert len({new_seed() for _ in range(20)}) == 20


def test_tokens_are_new_even_when_a_seed_is_replayed() -> None:
    one, other = (make_world(Draw(5)).tokens.values() for _ in range(2))
    assert not set(one) & set(other)


def test_tenants_of_the_corpus_take_turns_with_new_ones() -> None:
    names = [tenant.value for tenant in Draw(3, ("a", "b", "c")).tenants]
    assert {names[0], names[2]} < {"a", "b", "c"}
    assert not {names[1], names[3]} & {"a", "b", "c"}
    assert Draw(3, ("a",)).tenants[0] == TenantId("a")
    assert len(set(Draw(3, ("a",)).tenants)) == len(set(Draw(3).tenants)) == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_no_word_serves_two_purposes_or_begins_like_another(seed: int) -> None:
    draw = Draw(seed, ("tavorudo",))
    words = [word for purpose in NUMBERS for word in draw.words(purpose)]
    assert len({word[:4] for word in words}) == len(words) == sum(NUMBERS.values())
    assert all(word.isascii() and word.isalpha() and word == word.lower() for word in words)
    assert not any(word.startswith("tavo") for word in words)


@pytest.mark.parametrize("seed", SEEDS)
def test_hostile_names_stay_as_many_as_they_are(seed: int) -> None:
    for family in FAMILIES:
        names = hostile.spelled(family, Draw(seed))
        assert len(set(names)) == len(set(family))
        assert not any("acme" in name or "globex" in name for name in names)
    assert [len(name) for name in hostile.spelled(hostile.LONG, Draw(seed))] == [
        len(name) for name in hostile.LONG
    ]
