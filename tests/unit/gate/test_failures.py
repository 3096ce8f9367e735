"""One cause of several modes is told once; different ones are not thrown together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrieverbench.gate import judge, unmeasured
from retrieverbench.model import MODES, Artifact, Target, TargetResult

MakeArtifact = Callable[..., Artifact]


def failed(make_result: Any, mode: str, failure: str = "down", **fields: Any) -> TargetResult:
    target = Target("store", "fake", mode)  # type: ignore[arg-type]  # a mode of MODES
    made: TargetResult = make_result(
        target=target, scores=None, results=(), leaks=None, failure=failure,
        failure_kind="failed", **fields,
    )  # fmt: skip
    return made


def test_modes_of_one_entry_share_a_cause(make_artifact: MakeArtifact, make_result: Any) -> None:
    artifact = make_artifact(make_result(), *(failed(make_result, mode) for mode in MODES))
    (found,) = unmeasured(artifact)
    label = f"store/{','.join(MODES)}/filter"
    assert found[0] == label
    assert judge(artifact, [], {}).reasons == (f"not measured: {label}: failed: down",)


def test_other_causes_stay_apart(make_artifact: MakeArtifact, make_result: Any) -> None:
    artifact = make_artifact(
        failed(make_result, "dense"),
        failed(make_result, "lexical", failure="late"),
        failed(make_result, "hybrid", required=True),
    )
    assert [label.split("/")[1] for label, _ in unmeasured(artifact)] == [
        "dense",
        "lexical",
        "hybrid",
    ]
