"""The exact answer of the harness: ties are one set, what is missing is missing."""

from __future__ import annotations

from array import array

import pytest

from retrieverbench.leaks.oracle import cosines, recall
from retrieverbench.model import Chunk, TenantId

ACME = TenantId("acme")
OWN = [
    Chunk("a", ACME, "", vector=array("f", (1.0, 0.0))),
    Chunk("b", ACME, "", vector=array("f", (2.0, 2.0))),
    Chunk("c", ACME, "", vector=array("f", (3.0, -3.0))),
    Chunk("d", ACME, "", vector=array("f", (-1.0, 0.0))),
]


def test_cosine_does_not_depend_on_length() -> None:
    exact = cosines(OWN, array("f", (5.0, 0.0)))
    assert list(exact.values()) == pytest.approx([1.0, 0.5**0.5, 0.5**0.5, -1.0])


@pytest.mark.parametrize(
    ("returned", "k", "share"),
    [
        (["a", "b"], 2, 1.0),
        (["a", "c"], 2, 1.0),  # as good as b
        (["b", "c"], 2, 0.5),  # a is better than both, and one of the two stands for the other
        (["a", "d"], 2, 0.5),
        (["a", "a"], 2, 0.5),
        (["a", "b", "c", "d"], 10, 1.0),
        (["d", "c", "b"], 3, 2 / 3),
        ([], 2, 0.0),
    ],
)
def test_share_of_the_best(returned: list[str], k: int, share: float) -> None:
    exact = cosines(OWN, array("f", (5.0, 0.0)))
    assert recall([f"acme/{id_}" for id_ in returned], exact, k) == pytest.approx(share)
