"""The first table: what answered, and what weakens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.adapter import NOBODY
from retrieverbench.model import (
    Artifact,
    BackendRecord,
    Fidelity,
    Mode,
    Plan,
    Target,
    TargetResult,
)
from retrieverbench.report.validity import slowness, stored, validity

MakeArtifact = Callable[..., Artifact]
PLAN = Plan(("scan",), "hnsw_index", "after", "the plan was made anew")


def backend(**fields: Any) -> BackendRecord:
    made = BackendRecord("dist", "1", "server", "2.0", "client", "1", {"m": 16}, (), (), {})
    return replace(made, **fields)


@pytest.mark.parametrize(
    ("plan", "cells"),
    [
        (None, ("not told", "not told", "nothing known")),
        (PLAN, ("hnsw_index", "after the search", "nothing known")),
        (Plan(("scan",), "", "before"), ("none: exact", "before the search", "nothing known")),
    ],
)
def test_a_plan_is_told_and_its_absence_too(
    make_artifact: MakeArtifact,
    make_result: Callable[..., TargetResult],
    plan: Plan | None,
    cells: tuple[str, ...],
) -> None:
    table = validity(make_artifact(make_result(plan=plan, backend=backend())))
    assert table.rows[0][-3:] == cells
    assert ("Plan of fake/lexical/filter: the plan was made anew." in table.notes) == (plan is PLAN)
    meant = [note for note in table.notes if "the search: " in note]
    assert [note.partition(":")[0] for note in meant] == ([cells[1].capitalize()] if plan else [])


def test_a_plan_that_nobody_came_to_ask_for_is_not_called_untold(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    artifact = make_artifact(make_result(plan=None, backend=backend()), complete=False)
    assert validity(artifact).rows[0][-3:-1] == ("not asked", "not asked")


@pytest.mark.parametrize("fidelity", ["stand-in", "server"])
def test_what_a_stand_in_is_worth_stands_below(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult], fidelity: Fidelity
) -> None:
    notes = validity(make_artifact(make_result(backend=backend(), fidelity=fidelity))).notes
    told = [note for note in notes if "say nothing about the service" in note]
    assert bool(told) == (fidelity == "stand-in")


@pytest.mark.parametrize(("mode", "told"), [("lexical", True), ("hybrid", True), ("dense", False)])
def test_shared_statistics_are_told_where_scores_rest_on_them(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult], mode: Mode, told: bool
) -> None:
    record = backend(properties=("shared_idf",))
    result = make_result(backend=record, target=Target("fake", "fake", mode))
    cell = validity(make_artifact(result)).rows[0][-1]
    assert cell.startswith("lexical scores depend on other") == told


@pytest.mark.parametrize(
    ("index", "plan", "told"),
    [("hnsw", "", True), ("hnsw", "my_index", False), ("none", "", False), ("hnsw", None, False)],
)
def test_an_approximate_index_that_was_not_used_is_told(
    make_artifact: MakeArtifact,
    make_result: Callable[..., TargetResult],
    index: str,
    plan: str | None,
    told: bool,
) -> None:
    result = make_result(
        backend=backend(properties=("approximate",), settings={"index": index}),
        plan=Plan(("scan",), plan),
        target=Target("fake", "fake", "dense"),
    )
    notes = "\n".join(validity(make_artifact(result)).notes)
    assert ("(hnsw) and the plan of the question" in notes) == told


def test_weaknesses_settings_and_what_was_not_read_are_there(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    record = backend(
        weaknesses=("role is superuser",),
        unchecked=("replicas",),
        settings={"m": 16, "long": "x" * 100},
        chunks={"acme": 3, "globex": 5},
    )
    table = validity(make_artifact(make_result(backend=record)))
    assert table.rows[0][3] == "8: 2 tenants with 3 to 5"
    assert table.rows[0][-1] == "role is superuser"
    (line,) = table.appendix
    assert line.startswith("fake/filter: long xxx")
    assert "…, m 16; could not be read: replicas" in line


def test_what_costs_time_stands_apart_from_what_weakens(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    artifact = make_artifact(make_result(backend=backend(slow=("no index; make one",))))
    assert validity(artifact).rows[0][-1] == "nothing known"
    (row,) = slowness(artifact).rows
    assert row[1] == "no index; make one"
    assert slowness(replace(artifact, kind="audit")).rows == ()


def test_a_target_that_was_not_reached_has_no_row(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    assert validity(make_artifact(make_result(backend=None))).rows == ()


def test_settings_are_told_of_a_place_whose_first_mode_failed(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    modes: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
    dense, *others = (Target("fake", "fake", mode) for mode in modes)
    results = [make_result(target=other, backend=backend()) for other in others]
    table = validity(make_artifact(make_result(target=dense, backend=None), *results))
    assert table.appendix == ("fake/filter: m 16",)


def test_counts_that_are_not_told_are_not_zero() -> None:
    assert stored({}) == "not told"
    assert stored({"acme": 4, "empty": 0}) == "4: 1 tenant with 4"
    assert stored({"acme": 4, NOBODY: 2}) == "6: 1 tenant with 4", "2 have no owner"


def test_a_condition_that_is_never_applied_is_explained(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    plan = Plan(("scan",), "", "never")
    table = validity(make_artifact(make_result(backend=backend(), plan=plan)))
    assert table.rows[0][5] == "never"
    assert any(note.startswith("Never: the plan holds no condition") for note in table.notes)


def test_counts_that_are_not_told_have_their_reason(
    make_artifact: MakeArtifact, make_result: Callable[..., TargetResult]
) -> None:
    unread = ("settings: hidden", "rows per tenant: this role may not see them")
    for chunks, cell in (
        ({}, "not told: this role may not see them"),
        ({"acme": 3}, "3: 1 tenant with 3"),
    ):
        record = backend(chunks=chunks, unchecked=unread)
        assert validity(make_artifact(make_result(backend=record))).rows[0][3] == cell
