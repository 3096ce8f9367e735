"""A text is found wherever an adapter put it, in plain data only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from retrieverbench.model import Hit, Response
from retrieverbench.run.scan import plain_words, strings_in


@dataclass
class Rich(Response):
    facets: dict[str, list[bytes]] = field(default_factory=dict)


class Client:
    def __init__(self) -> None:
        self.store = "inside the client"


def test_keys_values_items_fields_and_bytes() -> None:
    answer = Rich([Hit("u", 1.0, text="t")], facets={"key": [b"bytes"]})
    answer.extra = ("more", {"set"})  # type: ignore[attr-defined]
    assert sorted(strings_in(answer)) == ["bytes", "key", "more", "set", "t", "u"]


def test_what_is_left_out_and_what_is_no_data() -> None:
    hits = [Hit("u", 1.0)]
    answer = Rich(hits, facets={"a": []})
    answer.client = Client()  # type: ignore[attr-defined]
    assert list(strings_in(answer, leave_out=hits)) == ["a"]


def test_loops_end() -> None:
    loop: list[object] = ["x"]
    loop.append(loop)
    assert set(strings_in(loop)) == {"x"}


def test_deep_answers_are_read_to_their_bottom() -> None:
    deep: object = "bottom"
    for _ in range(100):
        deep = {"inner": [deep]} if _ % 2 else (deep,)
    assert "bottom" in set(strings_in(deep))


@pytest.mark.parametrize(
    "text", ["C0FFEE12", "c0<em>ffee</em>12", "C0-FFEE-12", "note c0ffee12, kept", "c0\u200bffee12"]
)
def test_a_token_is_found_however_it_is_dressed(text: str) -> None:
    assert "c0ffee12" in plain_words(text)


class Odd(BaseException):
    """Raised by what must not be able to hide a token."""


@dataclass
class Lazy:
    first: str = "read"

    @property
    def second(self) -> str:
        raise Odd

    def __getattribute__(self, name: str) -> object:
        if name == "third":
            raise Odd
        return super().__getattribute__(name)


class LazyList(list[str]):
    def __iter__(self) -> Iterator[str]:
        yield "one"
        raise Odd


def test_what_raises_when_it_is_read_hides_nothing_else() -> None:
    lazy = Lazy()
    lazy.__dict__["third"] = "unreadable"
    assert list(strings_in([lazy, LazyList(["x"]), "last"])) == ["read", "one", "last"]
