"""How much of a text is still there."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from retrieverbench.golden.overlap import overlap

Messages = Callable[[str | bytes], list[str]]


@pytest.mark.parametrize(
    ("reference", "text", "share"),
    [
        ("a b c d", "x a b c d y", 1.0),
        ("a b", "xa  bx", 1.0),
        ("cafe\u0301", "the caf\u00e9", 1.0),
        ("a b c d", "a x b", 0.5),
        ("a b c d", "d c b a", 0.25),
        ("a b", "c", 0.0),
        ("a a", "a b", 0.5),
        ("", "c", 1.0),
    ],
)
def test_overlap(reference: str, text: str, share: float) -> None:
    assert overlap(reference, text) == share


def _with_anchors(anchors: object) -> str:
    return json.dumps(
        {
            "id": "c",
            "tenant": "acme",
            "query": "q",
            "relevant": ["hr:12"],
            "anchors": anchors,
        }
    )


@pytest.mark.parametrize(
    ("anchors", "messages"),
    [
        ({"hr:12": {"quote": "A refund within 30 days."}}, []),
        ({"hr:12": {"doc": "hr"}, "gone": {"quote": "x"}}, []),
        (
            {"hr:12": {"quote": "A refund within 60 days."}},
            [("1: anchors['hr:12']: the text has changed (overlap 0.80); review the label [G36]")],
        ),
        (
            {"hr:12": "A refund"},
            ["1: anchors['hr:12']: 'A refund' is no object; write an object [G46]"],
        ),
    ],
)
def test_anchors(golden_messages: Messages, anchors: object, messages: list[str]) -> None:
    assert golden_messages(_with_anchors(anchors)) == messages
