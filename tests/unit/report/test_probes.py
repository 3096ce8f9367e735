"""Accepted risks, stale declarations and what probes measured, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrieverbench.model import Artifact, ProbeResult, Risk, TargetResult
from retrieverbench.report.probes import probe_tables
from retrieverbench.report.table import Table

MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]


def probe(id_: str, **fields: Any) -> ProbeResult:
    return ProbeResult(
        id_, "title", "fake", "lexical", "guarded", "pass", "starvation", "high", **fields
    )


def tables(artifact: Artifact) -> dict[str, Table]:
    return {table.title: table for table in probe_tables(artifact)}


def test_risk_is_shown_with_its_place_and_its_effect(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    found = Risk("shared_idf", "suite.toml:9", "3 answers in another order")
    unseen = Risk("shared_idf", "suite.toml:9", "no trace", found=False)
    stale = Risk("post_filter", "suite.toml:10", "complete beside 6060 chunks", found=False)
    probes = (
        probe("P36", risks=(found,)),
        probe("P38", risks=(unseen,)),
        probe("P08", risks=(stale,)),
    )
    shown = tables(make_artifact(make_result(probes=probes)))
    assert [row[1:] for row in shown["Accepted risks"].rows] == [
        ("shared_idf", "suite.toml:9", "P36 (guarded)", "3 answers in another order")
    ]
    assert [row[1:] for row in shown["Stale declarations"].rows] == [
        ("post_filter", "suite.toml:10", "P08 (guarded)", "complete beside 6060 chunks")
    ]


def test_crowds_orders_and_modes_are_shown_by_target(
    make_result: MakeResult, make_artifact: MakeArtifact
) -> None:
    probes = (
        probe("P08", facts={"crowd 10": 1.0, "crowd 250": 0.4, "breaks at": 250}),
        probe("P09", facts={"own first": 0.0, "own last": 1.0}),
        probe("P10", facts={"mode of the target": 1.0, "mode off": 0.05, "mode x": "refused"}),
    )
    shown = tables(make_artifact(make_result(probes=probes)))
    label = "fake/lexical/filter"
    crowds = shown["Crowds of foreign chunks"]
    assert crowds.columns == ("target", "arm", "10", "250", "breaks at")
    assert crowds.rows == ((label, "guarded", "1", "0.4", "250"),)
    assert shown["A tenant of 0.1 %"].rows == ((label, "guarded", "0", "1"),)
    assert [row[1:] for row in shown["Filter modes"].rows] == [
        ("of the target", "1"), ("off", "0.05"), ("x", "refused"),
    ]  # fmt: skip
