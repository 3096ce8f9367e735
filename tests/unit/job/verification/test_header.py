"""An artifact may have been made elsewhere: on another machine, in another folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from retrieverbench.job.prepare import load_questions
from retrieverbench.job.verification.header import header_faults
from retrieverbench.model import Artifact
from retrieverbench.run import Suite


def artifact_of(raw: Any) -> Artifact:
    return TypeAdapter(Artifact).validate_python(raw)


def test_warnings_are_those_of_the_files_wherever_these_lie(made: tuple[Suite, Any]) -> None:
    suite, raw = made
    corpus, golden = load_questions(suite)
    golden = replace(golden, warnings=("/here/golden.jsonl:3: odd [X1]",))
    artifact = artifact_of(raw)

    def faults(*warnings: str) -> list[str]:
        told = replace(artifact, notes=(*artifact.notes, *warnings))
        return [fault.place for fault in header_faults(told, suite, corpus, golden)]

    assert faults("/else where/golden.jsonl:3: odd [X1]") == []
    assert faults("/here/golden.jsonl:3: even [X1]") == ["notes.1"]
    assert faults() == ["notes"]


@pytest.mark.parametrize("version", ["3.11.2+", "0.1.0.dev3+g1a2b3c", "3.14.0rc1", "5"])
def test_versions_as_distributions_write_them(made: tuple[Suite, Any], version: str) -> None:
    suite, raw = made
    corpus, golden = load_questions(suite)
    artifact = artifact_of(raw)
    other = replace(artifact, harness={**artifact.harness, "python": version})
    assert list(header_faults(other, suite, corpus, golden)) == []
