"""What a wrong value reads like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from retrieverbench.errors import InputError
from retrieverbench.options import parse_options


@dataclass(frozen=True)
class Choices:
    exact: Literal[True] = True
    size: Literal[1, 2] = 1
    order: Literal["list", "score"] = "list"


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({"exact": False}, "exact: False is wrong; allowed: true"),
        ({"exact": "true"}, "exact: 'true' is wrong; allowed: true"),
        ({"size": 3}, "size: 3 is wrong; allowed: 1 or 2"),
        ({"order": "scores"}, "order: 'scores' is unknown; did you mean 'score'?"),
        ({"order": 3}, "order: 3 is unknown; known: list, score"),
        ({"order": ["p4ss"]}, "order: a list is unknown; known: list, score"),
    ],
)
def test_a_value_that_is_no_choice_names_the_choices(raw: dict[str, object], fault: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(Choices, raw, "file")
    assert str(caught.value) == f"file: {fault}"
