"""The tables of an audit: what was asked in one arm alone, and labels that disagree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from report_support import probe
from retrieverbench.leaks import CATALOG, not_asked, unchosen
from retrieverbench.model import Artifact, FilterTime, Plan, ProbeResult, WrongLabel
from retrieverbench.report.probes import probe_tables

Make = Callable[..., Artifact]


def rows(audit: Artifact, title: str) -> list[Sequence[str]]:
    return [row for table in probe_tables(audit) if table.title == title for row in table.rows]


def notes(audit: Artifact, title: str) -> str:
    (table,) = (table for table in probe_tables(audit) if table.title == title)
    return " ".join(table.notes)


def test_a_probe_of_one_arm_is_told_as_not_asked_in_the_other(make_audit: Make) -> None:
    both = (probe("P01"), probe("P01", arm="below the guard"))
    one = (probe("P14", arm="below the guard"), probe("P43", mode=None))
    found = rows(make_audit((*both, *one)), "Not probed")
    assert [(row[1], "guarded" in row[0], "the place" in row[0]) for row in found] == [
        ("P14", True, False),
        ("P43", False, True),
    ]
    assert rows(make_audit(both[:1]), "Not probed") == [], "no other arm was asked at all"


def test_a_probe_of_both_arms_that_was_cut_off_between_them_is_told_as_that(
    make_audit: Make,
) -> None:
    results = (probe("P01"), probe("P01", arm="below the guard"), probe("P13"))
    ((reason, *_), *_others) = rows(make_audit(results), "Not probed")
    assert "below the guard" in reason
    assert "ended before" in reason
    assert "valid names" not in reason


def test_the_failed_probe_to_read_of_is_the_gravest(make_audit: Make) -> None:
    failed = (probe("P40", outcome="fail", severity="medium"), probe("P08", outcome="fail"))
    assert "`retrieverbench probes P08`" in notes(make_audit(failed), "Probes that did not pass")
    unproven = (probe("P08", outcome="inconclusive"),)
    assert notes(make_audit(unproven), "Probes that did not pass") == ""


@pytest.mark.parametrize(
    ("filtered", "index", "told"),
    [
        ("after", "hnsw", ("after the search: filter inside",)),
        ("during", "hnsw", ("during the search: the approximate index itself loses them",)),
        ("during", "", ()),
        ("before", "hnsw", ()),
    ],
)
def test_starvation_has_the_remedy_that_the_plan_calls_for(
    make_audit: Make, filtered: FilterTime, index: str, told: Sequence[str]
) -> None:
    plan = Plan(("Index Scan",), index, filtered)
    starved = (probe("P07", outcome="fail"), probe("P08", outcome="fail"))

    def remedies(results: Sequence[ProbeResult], plan: Plan | None) -> list[str]:
        audit = make_audit(results)
        audit = replace(audit, targets=tuple(replace(each, plan=plan) for each in audit.targets))
        (table,) = (each for each in probe_tables(audit) if each.title.startswith("Probes that"))
        return [note for note in table.notes if "its plan applies the tenant condition" in note]

    found = remedies(starved, plan)
    assert len(found) == len(told)
    assert all(words in note for words, note in zip(told, found, strict=True))
    assert all("P07, P08" in note for note in found)
    leaking = [replace(each, leak_class="leak", severity="critical") for each in starved]
    assert remedies(leaking, plan) == remedies(starved, None) == []


def test_others_are_named_only_where_some_were_left_out(make_audit: Make) -> None:
    full = make_audit((probe("P01"),))
    assert "--fast" not in notes(full, "What was asked")
    some = replace(full, unchosen=tuple(unchosen(CATALOG, CATALOG[:1])))
    assert "--fast" in notes(some, "What was asked")


def test_what_a_probe_cannot_see_is_told(make_audit: Make) -> None:
    audit = make_audit((probe("P24", limit="what others wrote"), probe("P40")))
    assert rows(audit, "Not probed") == [("what others wrote", "P24", "fake")]


def test_labels_that_disagree_are_counted_with_the_first(make_audit: Make) -> None:
    wrong = (WrongLabel("acme/1", "globex", "acme"), WrongLabel("acme/2", "globex", "acme"))
    audit = make_audit((replace(probe("P01"), labels=wrong), probe("P02")))
    ((*_place, hits, uid, label, owner),) = rows(audit, "Labels that disagree")
    assert (hits, uid, label, owner) == ("2", "acme/1", "globex", "acme")


def test_what_was_asked_shows_the_severity_of_the_probe_whatever_was_found(
    make_audit: Make,
) -> None:
    found = probe("P26", outcome="fail", leak_class="leak", severity="critical")
    for result in (found, probe("P26")):
        (row,) = rows(make_audit((result,)), "What was asked")
        assert row[1:3] == ("leak", "high")
        assert (
            rows(make_audit((result,)), "Probes that did not pass")
            == [
                (
                    "fake/lexical/filter",
                    "guarded",
                    "P26 title of P26",
                    "fail",
                    "leak",
                    "critical",
                    "",
                )
            ][: result is found]
        )


def test_what_asks_in_other_modes_alone_is_told_with_them() -> None:
    probes = [each for each in CATALOG if each.id in {"P01", "P03", "P49"}]
    left = list(not_asked(probes, ["lexical"], [probe("P01")], "fake", "it ended before"))
    assert [(each.probe, each.outcome, each.reason) for each in left] == [
        ("P03", "not probed", "it asks in dense and hybrid mode, the target in lexical alone"),
        ("P49", "not probed", "it ended before"),
    ]


def test_a_mode_that_a_probe_did_not_reach_is_told() -> None:
    probes = [each for each in CATALOG if each.id == "P01"]
    left = list(not_asked(probes, ["dense", "lexical"], [probe("P01")], "fake", "it ended"))
    asked = probe("P01").mode
    missed = "lexical" if asked == "dense" else "dense"
    assert [(each.mode, each.reason) for each in left] == [(missed, f"it ended in {missed} mode")]


def test_what_was_not_chosen_is_one_row_with_class_severity_and_command(make_audit: Make) -> None:
    chosen = [each for each in CATALOG if each.severity == "critical"]
    left = tuple(unchosen(CATALOG, chosen))
    audit = replace(make_audit((probe("P01"),)), unchosen=left)
    ((reason, count, target),) = rows(audit, "Not probed")
    assert "leak, high: P13, P26, P30, P33; " in reason
    assert "side channel, medium: P39, P40" in reason
    assert "`retrieverbench leaks SUITE.toml --probe P07`" in reason
    assert (count, target) == (f"{len(CATALOG) - len(chosen)} of {len(CATALOG)}", "fake")


def test_what_had_no_conclusion_for_one_reason_is_one_row_of_the_gravest(make_audit: Make) -> None:
    alike = [
        probe("P07", outcome="inconclusive", leak_class="starvation", severity="high"),
        probe("P16", outcome="inconclusive", leak_class="leak", severity="critical"),
    ]
    found = rows(make_audit((*alike, probe("P09", outcome="fail"))), "Probes that did not pass")
    assert [row[2:6] for row in found] == [
        ("P09 title of P09", "fail", found[0][4], found[0][5]),
        ("2 probes, P07, P16", "inconclusive", "leak, starvation", "critical"),
    ]
