"""Probes of a hand-made audit, one of every outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from retrieverbench.model import LeakFinding, ProbeResult, Risk

HOSTILE = "a\x1b[31mb\x00c\ud800\ufffe]]>\n::error::x ##vso[task.complete]<&\"'"


def probe(id_: str, **fields: Any) -> ProbeResult:
    made = ProbeResult(
        id_, f"title of {id_}", "fake", "lexical", "guarded", "pass", "starvation", "high"
    )
    return replace(made, **fields)


def every_outcome() -> tuple[ProbeResult, ...]:
    """A leak, failures of two severities, and everything that is no failure."""
    finding = LeakFinding("fake", "P01", "acme", "globex/own1", 1, "globex", "audit")
    risk = Risk("shared_idf", "suite.toml:9", "3 answers in another order")
    leak = {"leak_class": "leak", "severity": "critical", "reason": "'acme' was shown another's"}
    return (
        probe("P01", outcome="fail", findings=(finding,), seconds=0.25, **leak),
        probe("P01", outcome="fail", findings=(finding,), arm="below the guard", **leak),
        probe("P08", outcome="fail", reason="breaks at 250"),
        probe("P40", outcome="fail", severity="medium", reason=HOSTILE),
        probe("P41", outcome="fail", severity="low", reason="told apart"),
        probe("P21", outcome="inconclusive", reason="its control failed"),
        probe("P22", outcome="inconclusive", reason="no recorder"),
        probe("P33", outcome="not applicable", reason="the adapter does not declare move"),
        probe("P36", risks=(risk,)),
        probe("P43", mode=None),
    )
