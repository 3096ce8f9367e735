"""Labels against the corpus: each fault with its exact words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from retrieverbench.model import GoldenSet

Messages = Callable[[str | bytes], list[str]]
Load = Callable[[str | bytes], GoldenSet]

REVIEW_LOST = {"reason": "heading_gone", "lost": ["gone"]}


def case(**fields: object) -> str:
    """A line that is right but for the fields given; None takes a field away."""
    whole: Mapping[str, object] = {
        "id": "c",
        "tenant": "acme",
        "query": "How long?",
        "relevant_chunk_ids": ["hr:12"],
        **fields,
    }
    return json.dumps({k: v for k, v in whole.items() if v is not None})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"relevant_chunk_ids": ["hr:12", "CACM-861"]},
            (
                "1: relevant_chunk_ids[1]: 'CACM-861' is not in the corpus; did you mean "
                "'CACM-0861'? Correct it, or mark the case needs_review [G14]"
            ),
        ),
        (
            {"relevant_chunk_ids": ["zzz"]},
            (
                "1: relevant_chunk_ids[0]: 'zzz' is not in the corpus; "
                "correct it, or mark the case needs_review [G14]"
            ),
        ),
        (
            {"relevance": {"hr:12": 1, "it/vpn#2": 0}},
            (
                "1: relevance['it/vpn#2']: 'it/vpn#2' is not in the corpus; did you mean "
                "'it/vpn#1'? Correct it, or mark the case needs_review [G14]"
            ),
        ),
        (
            {"forbidden": ["hr-2023#2"]},
            (
                "1: forbidden[0]: 'hr-2023#2' is not in the corpus; did you mean 'hr-2023#1'? "
                "Correct it, or mark the case needs_review [G14]"
            ),
        ),
        (
            {"trap_docs": ["none"]},
            (
                "1: trap_docs[0]: 'none' is not in the corpus; "
                "correct it, or mark the case needs_review [G14]"
            ),
        ),
        (
            {"relevant_chunk_ids": None},
            (
                "1: relevant_chunk_ids: missing; list the relevant chunks, "
                'or [] where none answers it, best with "unanswerable": true [G15]'
            ),
        ),
        (
            {"relevant_chunk_ids": None, "relevant": "hr:12"},
            "1: relevant: 'hr:12' is a string; write [\"hr:12\"] [G16]",
        ),
        (
            {"relevant_chunk_ids": {"hr:12": 1}},
            '1: relevant_chunk_ids: {"hr:12": 1} is an object; write a list of strings [G16]',
        ),
        (
            {"relevant_chunk_ids": ["hr:12", 13]},
            '1: relevant_chunk_ids[1]: 13 is a number; write ids as strings, "…" [G16]',
        ),
        (
            {"relevant_chunk_ids": ["hr:12", "hr:13", "hr:12"]},
            (
                "1: relevant_chunk_ids[2]: 'hr:12' is already listed at [0]; "
                "list each chunk once [G17]"
            ),
        ),
        (
            {"relevance": {"hr:12": 0.5}},
            (
                "1: relevance['hr:12']: 0.5 is not an integer 0..3; "
                "grades are whole numbers, 0 for 'not relevant' [G18]"
            ),
        ),
        (
            {"relevance": {"hr:12": "2"}},
            (
                "1: relevance['hr:12']: '2' is not an integer 0..3; "
                "grades are whole numbers, 0 for 'not relevant' [G18]"
            ),
        ),
        (
            {"relevance": {"hr:12": True}},
            (
                "1: relevance['hr:12']: true is not an integer 0..3; "
                "grades are whole numbers, 0 for 'not relevant' [G18]"
            ),
        ),
        (
            {"relevance": {"hr:12": -1}},
            (
                "1: relevance['hr:12']: -1 is below 0; "
                "use 0 for 'judged, not relevant' and leave unjudged chunks out [G19]"
            ),
        ),
        (
            {"relevance": {"hr:12": 4}},
            "1: relevance['hr:12']: 4 is above the set's maximum 3 (grades.max, or 3) [G19]",
        ),
        (
            {"relevance": {"hr:12": 0}},
            (
                "1: relevant_chunk_ids[0]: 'hr:12' is listed as relevant but has grade 0; "
                "remove it from one of the two [G20]"
            ),
        ),
        (
            {"relevance": {"hr:13": 2}},
            (
                "1: relevant_chunk_ids[0]: 'hr:12' is listed as relevant but has no grade; "
                "grade it in 'relevance' [G20]"
            ),
        ),
        (
            {"relevance": ["hr:12"]},
            '1: relevance: ["hr:12"] is a list; write an object [G46]',
        ),
        (
            {"unanswerable": True, "relevant_chunk_ids": ["hr:12", "hr:13"]},
            "1: unanswerable: true, but 2 chunks are relevant; remove one of the two [G21]",
        ),
        (
            {"relevant_chunk_ids": [], "relevance": {"hr:12": 3}},
            (
                "1: relevant_chunk_ids: [] means unanswerable, but 1 chunk is relevant; "
                "remove one of the two [G21]"
            ),
        ),
        (
            {"relevant_chunk_ids": [], "unanswerable": False},
            "1: unanswerable: false, but no chunk is relevant; remove one of the two [G21]",
        ),
        (
            {"forbidden": ["hr:12"]},
            "1: forbidden[0]: 'hr:12' is also relevant; a chunk is one or the other [G22]",
        ),
        (
            {"forbidden_docs": ["hr"]},
            (
                "1: forbidden_docs[0]: 'hr' holds 'hr:12', which is also relevant; "
                "a chunk is one or the other [G22]"
            ),
        ),
        (
            {"relevant_chunk_ids": ["gx:3"]},
            (
                "1: relevant_chunk_ids[0]: 'gx:3' belongs to 'globex', the case asks as 'acme'; "
                "a case may only demand its own tenant's chunks [G25]"
            ),
        ),
        (
            {"relevant_chunk_ids": None, "relevance": {"gx:3": 1}},
            (
                "1: relevance['gx:3']: 'gx:3' belongs to 'globex', the case asks as 'acme'; "
                "a case may only demand its own tenant's chunks [G25]"
            ),
        ),
        (
            {"relevant_chunk_ids": ["REPLACE_DOC_ID"]},
            (
                "1: relevant_chunk_ids[0]: 'REPLACE_DOC_ID' is a template placeholder; "
                "put the real id [G26]"
            ),
        ),
        (
            {"relevant_chunk_ids": [" hr:12"]},
            "1: relevant_chunk_ids[0]: ' hr:12' starts with a blank; write 'hr:12' [G30]",
        ),
        (
            {"tenant": "nobody", "relevant_chunk_ids": ["hr:12", "zzz"]},
            (
                "1: relevant_chunk_ids[1]: 'zzz' is not in the corpus; "
                "correct it, or mark the case needs_review [G14]"
            ),
        ),
    ],
)
def test_message(golden_messages: Messages, fields: dict[str, object], message: str) -> None:
    assert [m for m in golden_messages(case(**fields)) if "[G24]" not in m] == [message]


def test_lost_labels_of_several_cases_are_counted(golden_messages: Messages) -> None:
    lines = [
        case(id=f"c{i}", query=f"q{i}", relevant=["n1", "n2"], relevant_chunk_ids=None)
        for i in range(3)
    ]
    messages = golden_messages("\n".join(lines))
    assert messages[0] == " 6 labels of 3 cases are not in the corpus; see the lines named [G14]"
    assert len(messages) == 7


def test_forbidden_documents_become_chunks(golden: Load) -> None:
    """Own documents as ids; another tenant's as uids, for no id of ours names them."""
    [found] = golden(case(forbidden=["it/vpn#1", "gx:3"], forbidden_docs=["hr-2023", "gx"])).cases
    assert found.forbidden == ("it/vpn#1", "hr-2023#1")
    assert found.forbidden_foreign == ("globex/gx:3", "globex/gx:4")
    assert found.forbidden_docs == {
        "hr-2023": ("acme/hr-2023#1",),
        "gx": ("globex/gx:3", "globex/gx:4"),
    }


def test_a_chunk_without_document_is_one_of_its_own(golden: Load) -> None:
    [found] = golden(case(forbidden_docs=["CACM-0861"])).cases
    assert found.forbidden == ("CACM-0861",)


def test_ones_own_document_wins_over_another_tenants_of_that_name(golden: Load) -> None:
    line = case(tenant="globex", relevant_chunk_ids=["gx:3"], forbidden_docs=["hr"])
    [found] = golden(line).cases
    assert (found.forbidden, found.forbidden_foreign) == (("hr:12",), ())


def test_a_foreign_chunk_may_be_graded_zero(golden: Load) -> None:
    [found] = golden(case(relevance={"hr:12": 2, "gx:3": 0})).cases
    assert found.grades == {"hr:12": 2, "gx:3": 0}


def test_unlisted_positive_grades_are_allowed(golden: Load) -> None:
    [found] = golden(case(relevance={"hr:12": 3, "hr:13": 2})).cases
    assert found.relevant == ("hr:12",)
    assert found.grades == {"hr:12": 3, "hr:13": 2}


def test_only_grades_leave_the_binary_view_open(golden: Load) -> None:
    [found] = golden(case(relevant_chunk_ids=None, relevance={"hr:12": 2})).cases
    assert found.relevant is None


def test_lost_labels_stay_in_the_case(golden: Load) -> None:
    [found] = golden(
        case(relevant_chunk_ids=["hr:12", "gone"], needs_review=True, review=REVIEW_LOST)
    ).cases
    assert found.relevant == ("hr:12", "gone")
    assert found.lost == ("gone",)


@pytest.mark.parametrize("field", ["forbidden", "forbidden_docs"])
def test_a_forbidden_chunk_may_be_lost(golden: Load, field: str) -> None:
    [found] = golden(case(**{field: ["gone"]}, needs_review=True, review=REVIEW_LOST)).cases
    assert found.lost == ("gone",)
