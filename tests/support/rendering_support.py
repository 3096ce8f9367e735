"""Artifacts to render, and what is shown of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from retrieverbench.gate import judge
from retrieverbench.model import (
    Artifact,
    LeakFinding,
    Percentile,
    Rule,
    RuleResult,
    Target,
    Timings,
    Verdict,
)
from retrieverbench.report import print_report
from retrieverbench.report.table import Table
from retrieverbench.report.tables import report_tables

MakeArtifact = Callable[..., Artifact]
LABEL = "fake/lexical/filter"
HOSTILE = "::error::|`x`\n##vso[task.complete]\x1b[31m<b>*_[l](u)_*</b>&@all ~~$x$ :warning:[bold]"


def timings(**changes: Any) -> Timings:
    made = Timings(
        "closed", 4, 400, 12, 8, 2, 1.5, 0.4,
        {
            "p50": Percentile(1.25, 1.0, 1.5),
            "p95": Percentile(5000.0, censored=True),
            "p99": Percentile(None, reason="n=400 < 459"),
        },
        {}, ("ok",), 12.5,
    )  # fmt: skip
    return replace(made, **changes)


def printed(artifact: Artifact, width: int = 200) -> str:
    out = io.StringIO()
    print_report(artifact, Console(file=out, width=width), Path("results/a.json"))
    return out.getvalue()


def table(artifact: Artifact, title: str) -> Table:
    return next(table for table in report_tables(artifact) if table.title == title)


def row(artifact: Artifact, title: str, number: int = 0) -> dict[str, str]:
    found = table(artifact, title)
    return dict(zip(found.columns, found.rows[number], strict=True))


def judged(artifact: Artifact, *rules: Rule) -> Artifact:
    return replace(artifact, verdict=judge(artifact, rules, {}))


def hostile(make_artifact: MakeArtifact, make_result: Any) -> Artifact:
    """Foreign text in every place that a backend, a golden set or a suite can fill."""
    result = make_result(notes=(HOSTILE,), timings=timings(errors={HOSTILE: 1}))
    backend = replace(
        result.backend,
        server=HOSTILE,
        server_version=HOSTILE,
        client=HOSTILE,
        properties=(HOSTILE,),
        settings_changed=(HOSTILE,),
    )
    finding = LeakFinding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE, "quality")
    leaks = replace(result.leaks, proof="leak", findings=(finding,), reason=HOSTILE)
    result = replace(
        result, target=Target(HOSTILE, HOSTILE, "lexical"), backend=backend, leaks=leaks
    )
    failed = make_result(
        scores=None, results=(), failure=HOSTILE, failure_kind="failed", remedy=HOSTILE
    )
    artifact = make_artifact(result, failed, suite=HOSTILE, notes=(HOSTILE,))
    artifact = replace(
        artifact,
        golden=replace(artifact.golden, name=HOSTILE),
        embedding={HOSTILE: HOSTILE},
        machine={HOSTILE: HOSTILE},
        commit=HOSTILE,
        run_id=HOSTILE,
    )
    rules = (RuleResult(HOSTILE, "minimum", HOSTILE, "fail", HOSTILE),)
    return replace(artifact, verdict=Verdict("leak", 4, (HOSTILE, f"leak: {HOSTILE}"), rules))


def findings(tenant: str, owner: str | None, count: int, seen_in: str = "quality") -> Any:
    return tuple(
        LeakFinding(LABEL, f"c{n}", tenant, f"u{n}", n + 1, owner, seen_in) for n in range(count)
    )
