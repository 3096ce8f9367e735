"""Why targets were not measured, each cause once."""

from __future__ import annotations

from retrieverbench.model import Artifact, TargetResult


def unmeasured(artifact: Artifact) -> list[tuple[str, TargetResult]]:
    """The targets without scores: a label and the first of those that it stands for.

    Modes of one entry that share one cause share one label: `qdrant/dense,lexical/filter`.
    """
    groups: dict[tuple[object, ...], list[TargetResult]] = {}
    for result in artifact.targets:
        if result.scores is None:
            target = result.target
            cause = (result.failure, result.failure_kind, result.remedy, result.required)
            groups.setdefault((target.name, target.layout, *cause), []).append(result)
    return [(_label(group), group[0]) for group in groups.values()]


def _label(group: list[TargetResult]) -> str:
    target = group[0].target
    modes = ",".join(result.target.mode for result in group)
    return f"{target.name}/{modes}/{target.layout}"
