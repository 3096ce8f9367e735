"""An audit as the job and the gate make it, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.gate import judge_audit
from retrieverbench.model import Artifact, ProbeResult, TargetResult

MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]
MakeAudit = Callable[..., Artifact]


@pytest.fixture
def make_audit(make_result: MakeResult, make_artifact: MakeArtifact) -> MakeAudit:
    """An audit of these probes, judged; P22 needs no conclusion. Keywords replace fields."""

    def make(
        probes: tuple[ProbeResult, ...], *others: TargetResult, policy: str = "stop", **fields: Any
    ) -> Artifact:
        audited = make_result(
            probes=probes, line=7, scores=None, leaks=None, results=(), load_seconds=None
        )
        artifact = make_artifact(audited, *others, kind="audit", **fields)
        accepted = {"P22": "the server has no log"}
        verdict = judge_audit(artifact, inconclusive=policy, accepted=accepted)  # type: ignore[arg-type]
        return replace(artifact, verdict=verdict)

    return make
