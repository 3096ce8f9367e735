"""What was measured beside crowds, and which search it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rendering_support import judged, printed
from report_support import probe
from retrieverbench.adapter import NOT_TOLD
from retrieverbench.model import (
    Artifact,
    BackendRecord,
    FilterMode,
    Layout,
    Plan,
    Target,
    TargetResult,
)
from retrieverbench.report.facts import exact_probes, fact_tables
from retrieverbench.report.markdown import render_markdown
from retrieverbench.report.probes import probe_tables
from retrieverbench.report.table import Table

Make = Callable[..., Any]
EXACT, INDEXED = Plan(("sort",), "", "before"), Plan(("scan",), "chunks_hnsw", "after")
RECORD = BackendRecord(
    "dist", "1", "server", "2", "client", "1", {"index": "hnsw"}, ("approximate",), (), {}
)
FORCED = FilterMode(
    "forced",
    {"search": {"force": True, "scan": "off"}},
    {"crowd 10": 0.8, "crowd 250": 0.0, "breaks at": 10, "own first": 0.0, "own shuffled": 0.1,
     "own before": 3, "own after": 2, "short answers": "9 of 12"},
    INDEXED,
)  # fmt: skip
OTHER = replace(FORCED, name="other", options={"search": {"force": True, "scan": "on"}})
OWN = FilterMode("", facts={"own shuffled": 1.0, "short answers": "0 of 12"}, plan=EXACT)
CROWDS = probe("P08", mode="dense", facts={"crowd 10": 1.0, "crowd 250": 1.0})
ORDERS = probe("P09", mode="dense", facts={"own first": 1.0})
AGAIN = probe("P34", mode="dense", facts={"own before": 10, "own after": 10})


@pytest.fixture
def audited(make_artifact: Make, make_result: Make) -> Make:
    """An audit of a target in dense mode that searched exactly."""

    def make(*modes: FilterMode, plan: Plan = EXACT) -> Artifact:
        sweep = probe("P10", mode="dense", filter_modes=modes)
        result: TargetResult = make_result(
            target=Target("fake", "fake", "dense"),
            probes=(CROWDS, ORDERS, sweep, AGAIN),
            plan=plan,
            backend=RECORD,
        )
        artifact: Artifact = make_artifact(result, kind="audit")
        return artifact

    return make


def tables(artifact: Artifact) -> dict[str, Table]:
    return {table.title: table for table in fact_tables(artifact)}


def test_every_filter_mode_stands_beside_the_targets_own(audited: Make) -> None:
    found = tables(audited(OWN, FORCED))
    label = "fake/dense/filter"
    assert found["Crowds of foreign chunks"].rows == (
        (label, "guarded", "of the target", "1", "1", "never"),
        (label, "guarded", "forced", "0.8", "0", "10"),
    )
    assert found["A tenant of 0.1 %"].rows == (
        (label, "guarded", "of the target", "1", "-", "-", "10, 10"),
        (label, "guarded", "forced", "0", "0.1", "-", "3, 2"),
    )
    assert found["Filter modes"].rows == (
        (label, "of the target", "-", "none: exact", "before the search", "1", "0 of 12"),
        (
            label,
            "forced",
            'search.force = true, search.scan = "off"',
            "chunks_hnsw",
            "after the search",
            "0.1",
            "9 of 12",
        ),
    )


def test_a_plan_that_was_worked_out_is_not_called_the_backends_own(
    audited: Make,
) -> None:
    told, made = (
        exact_probes(audited(OWN, plan=plan).targets[0])[1]
        for plan in (EXACT, replace(EXACT, caveat="worked out: no plan is shown"))
    )
    assert "by the backend's own plan the searches" in told
    assert "by the plan (worked out: no plan is shown) the searches" in made


def test_a_mode_that_was_not_measured_has_no_numbers(audited: Make) -> None:
    found = tables(audited(OWN, FilterMode("wrong", note="it is refused")))
    assert found["Filter modes"].rows[1][3:] == (
        "not told",
        "not told",
        "not measured: it is refused",
        "-",
    )
    assert len(found["Crowds of foreign chunks"].rows) == 1


@pytest.mark.parametrize(
    ("modes", "told"),
    [
        ((OWN, FORCED, OTHER), "under 'forced', 'other'; set search.force = true in the target"),
        ((OWN, replace(FORCED, plan=EXACT)), "no filter mode that the adapter names makes"),
        ((), "P10 tries it where the adapter names"),
    ],
)
def test_exact_searches_are_told_beside_the_crowds_and_as_not_probed(
    audited: Make, modes: tuple[FilterMode, ...], told: str
) -> None:
    artifact = audited(*modes)
    (_share, note) = tables(artifact)["Crowds of foreign chunks"].notes
    assert note.startswith("Not judged of fake/dense/filter: starvation by the approximate index")
    assert told in note
    (row,) = [
        row for table in probe_tables(artifact) for row in table.rows if table.title == "Not probed"
    ]
    assert told in row[0]
    assert row[1] == "P08, P09, P10, P34"


def test_a_verdict_says_at_once_that_the_approximate_index_was_not_judged(audited: Make) -> None:
    artifact = judged(audited(OWN, FORCED))
    told = "searches of fake/dense/filter were exact: the approximate index was not judged"
    for text in (printed(artifact, 200), render_markdown(artifact)):
        assert " ".join(text.split()).count(told) == 1
    assert told in printed(artifact, 200).partition("\n\n")[0]
    assert told not in render_markdown(judged(audited(OWN, FORCED, plan=INDEXED)))


def test_a_mode_that_the_target_uses_is_its_row_with_what_sets_it(audited: Make) -> None:
    own = replace(OWN, options=FORCED.options, plan=INDEXED)
    (row,) = tables(audited(own, plan=INDEXED))["Filter modes"].rows
    assert row[1:3] == ("of the target", 'search.force = true, search.scan = "off"')


def test_an_index_that_was_searched_needs_no_excuse(audited: Make) -> None:
    artifact = audited(OWN, FORCED, plan=INDEXED)
    assert len(tables(artifact)["Crowds of foreign chunks"].notes) == 1
    assert all(table.rows == () for table in probe_tables(artifact) if table.title == "Not probed")


HOLE = "rows are shown where no tenant is set; compare with nullif"


@pytest.mark.parametrize(
    ("kind", "layout", "outcome", "is_left"),
    [
        ("audit", "rls", None, True),
        ("run", "rls", None, True),
        ("audit", "rls", "pass", False),
        ("audit", "filter", None, False),
    ],
)
def test_a_weakness_that_is_known_qualifies_the_verdict(
    make_artifact: Make,
    make_result: Make,
    kind: str,
    layout: Layout,
    outcome: str | None,
    is_left: bool,
) -> None:
    result = make_result(
        target=Target("fake", "fake", "dense", layout),
        probes=(probe("P43", outcome=outcome),) if outcome else (CROWDS,),
        backend=replace(RECORD, weaknesses=(HOLE,)),
    )
    artifact = judged(make_artifact(result, kind=kind))
    for text in (printed(artifact, 200).partition("\n\n")[0], render_markdown(artifact)):
        plain = " ".join(text.replace("\\", "").split())
        assert "(exit 0); known weaknesses of 1 of 1 target" in plain
        assert f"known of fake/dense/{layout}" in plain
        assert HOLE in plain
        assert ("not judged (" in plain and "--probe P43" in plain) == is_left


def test_a_weakness_that_failed_an_audit_is_told_once(
    make_artifact: Make, make_result: Make
) -> None:
    failed = probe("P43", outcome="fail", severity="high", reason=HOLE)
    result = make_result(probes=(failed,), backend=replace(RECORD, weaknesses=(HOLE,)))
    told = printed(judged(make_artifact(result, kind="audit")), 200).partition("\n\n")[0]
    assert told.count(HOLE) == 1


def test_what_an_adapter_did_not_look_for_is_no_known_weakness(
    audited: Make, make_result: Make
) -> None:
    result = make_result(probes=(CROWDS,), backend=replace(RECORD, weaknesses=(NOT_TOLD,)))
    artifact = judged(replace(audited(), targets=(result,)))
    assert "known" not in printed(artifact, 200).partition("\n\n")[0]
