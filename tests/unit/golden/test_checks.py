"""What needs more than one case to be seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

Messages = Callable[[str | bytes], list[str]]


def case(number: int, **fields: object) -> dict[str, object]:
    """A right case with its own question, but for the fields given."""
    return {
        "id": f"c{number}",
        "tenant": "acme",
        "query": f"question {number}",
        "relevant_chunk_ids": ["hr:12"],
        **fields,
    }


def graded(*grades: int) -> dict[str, object]:
    ids = ["hr:12", "hr:13", "it/vpn#1", "CACM-0861", "hr-2023#1"]
    relevance = dict(zip(ids, grades, strict=False))
    fields: dict[str, object] = {**case(1), "relevance": relevance}
    del fields["relevant_chunk_ids"]
    return fields


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (
            [case(1), case(2, id="c1")],
            "2: id: 'c1' is already used in line 1; ids are unique in a set [G10]",
        ),
        (
            [case(1), case(2, id="C1")],
            "2: 'c1' and 'C1' differ only in case; they are two ids [G31]",
        ),
        ([case(1, parent="c0")], "1: parent: 'c0' is not in this set; name a case of it [G27]"),
        (
            [case(1, parent="c1")],
            "1: parent: 'c1' leads back to this case ('c1' → 'c1'); name the original [G27]",
        ),
        (
            [case(1), case(2, query=" question  1 ", relevant_chunk_ids=["hr:13"])],
            (
                "2: query: same text as 'c1' (line 1) with other relevant chunks; "
                "merge them or tell them apart [G28]"
            ),
        ),
        (
            [case(1), case(2, query="question 1")],
            "2: query: repeats 'c1' (line 1); it counts twice in every mean [G29]",
        ),
        (
            [graded(3, 3, 3, 3, 3)],
            " grades are all 3; nDCG sees no difference between them, check the scale [G45]",
        ),
        (
            [
                case(1, relevance={"hr:12": 1, "hr:13": 3}),
                case(2, relevance={"hr:12": 1, "hr:13": 2}),
            ],
            (
                " grades are 1, 2, 3, and the listed chunks have lower ones than the others: "
                "the scale looks reversed, declare scale [G45]"
            ),
        ),
        (
            [case(1, relevant_chunk_ids=[])],
            (
                " 1 case with an empty list of relevant chunks read as unanswerable ('c1'); "
                'write "unanswerable": true [G47]'
            ),
        ),
    ],
)
def test_message(
    golden_messages: Messages, cases: Sequence[dict[str, object]], message: str
) -> None:
    assert golden_messages("\n".join(map(json.dumps, cases))) == [message]


def test_a_circle_of_parents_is_told_for_each_of_its_cases(golden_messages: Messages) -> None:
    cases = [case(1, parent="c3"), case(2, parent="c1"), case(3, parent="c2"), case(4, parent="c1")]
    messages = golden_messages("\n".join(map(json.dumps, cases)))
    assert [m[0] for m in messages] == ["1", "2", "3"]
    assert "('c1' → 'c3' → 'c2' → 'c1')" in messages[0]


def test_a_parent_on_a_faulty_line_is_still_in_the_set(golden_messages: Messages) -> None:
    cases = [case(1, query=""), case(2, parent="c1")]
    assert [m[-5:] for m in golden_messages("\n".join(map(json.dumps, cases)))] == ["[G11]"]


@pytest.mark.parametrize(
    "cases",
    [
        [case(1), case(2, query="question 1", tenant="globex")],
        [case(1), case(2, query="Question 1", relevant_chunk_ids=["hr:13"])],
        [case(1), case(2, parent="c1", variant="typo", query="qestion 1")],
        [graded(1, 1, 1, 1, 1)],
        [graded(0, 0, 0)],
        [graded(3, 3)],
        [case(1, relevance={"hr:12": 3, "hr:13": 1})],
    ],
)
def test_what_is_fine(golden_messages: Messages, cases: Sequence[dict[str, object]]) -> None:
    assert golden_messages("\n".join(map(json.dumps, cases))) == []


def test_an_empty_file_is_no_set(golden_messages: Messages) -> None:
    assert golden_messages("\n\n") == [" no case found; an empty set cannot pass [G06]"]
