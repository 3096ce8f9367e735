"""What did not pass as lines that CI runners show beside the suite file's lines.

GitHub: workflow commands, `::error file=…,line=…,title=…::message`. Azure Pipelines: logging
commands, `##vso[task.logissue type=…;sourcepath=…;linenumber=…;]message`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from retrieverbench.model import Artifact
from retrieverbench.report.cases import VERDICT, Case, Level, artifact_cases, visible

SHOWN = 10
"""GitHub shows so many annotations of one level per step."""
_LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
_AZURE_DATA = {"%": "%AZP25", "\r": "%0D", "\n": "%0A"}
_AZURE_PROPERTY = {**_AZURE_DATA, ";": "%3B", "]": "%5D"}


def github_annotations(artifact: Artifact, suite_file: str) -> list[str]:
    """Workflow commands, the gravest first; nothing for a verdict that passed without a fault."""
    return [_github(case, suite_file) for case in _shown(artifact)]


def azure_annotations(artifact: Artifact, suite_file: str) -> list[str]:
    """Logging commands; a pass that holds something inconclusive becomes a pass with issues."""
    lines = [_azure(case, suite_file) for case in _shown(artifact)]
    verdict = artifact.verdict
    if verdict is not None and verdict.exit_code == 0 and "inconclusive" in verdict.kinds:
        lines.append("##vso[task.complete result=SucceededWithIssues;]")
    return lines


def _shown(artifact: Artifact) -> Iterator[Case]:
    """What did not pass or is told; where a level has more than are shown, its last counts them."""
    faults = [case for case in artifact_cases(artifact) if _is_shown(case)]
    of_targets = [case for case in faults if case.suite != VERDICT]
    faults = sorted(of_targets or faults, key=lambda case: _LEVELS.index(case.level))
    for level, group in groupby(faults, key=lambda case: case.level):
        yield from _limited(list(group), level)


def _is_shown(case: Case) -> bool:
    return case.status in {"failure", "error"} or (case.status == "passed" and bool(case.message))


def _limited(cases: Sequence[Case], level: Level) -> Iterator[Case]:
    if len(cases) <= SHOWN:
        yield from cases
        return
    yield from cases[: SHOWN - 1]
    left = f"{len(cases) - SHOWN + 1} more of this level stand in the report"
    yield Case(VERDICT, "and more", "error", left, level)


def _github(case: Case, suite_file: str) -> str:
    fields = {"title": _title(case)}
    if suite_file and case.line:
        fields = {"file": suite_file, "line": str(case.line), **fields}
    told = ",".join(f"{key}={_escaped(value, _PROPERTY)}" for key, value in fields.items())
    return f"::{_GITHUB[case.level]} {told}::{_escaped(case.message, _DATA)}"


def _azure(case: Case, suite_file: str) -> str:
    fields = {"type": "error" if case.level == "error" else "warning"}
    if suite_file and case.line:
        fields |= {"sourcepath": suite_file, "linenumber": str(case.line)}
    told = "".join(f"{key}={_escaped(value, _AZURE_PROPERTY)};" for key, value in fields.items())
    text = _escaped(f"{_title(case)}: {case.message}", _AZURE_DATA)
    return f"##vso[task.logissue {told}]{text}"


def _title(case: Case) -> str:
    return visible(case.name if case.suite == VERDICT else f"{case.suite}: {case.name}")


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
