"""One real run for all tests of this folder: a target that was measured, one that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from bench_support import Bench, write_example
from retrieverbench.errors import InputError
from retrieverbench.job import verify
from retrieverbench.job.prepare import load_questions
from retrieverbench.model import Artifact
from retrieverbench.report import check_acceptable
from retrieverbench.run import Suite, load_suite

ARTIFACTS = TypeAdapter(Artifact)
SUITE = """
golden = "golden.v1.jsonl"
corpus = "corpus.jsonl"
metrics = ["nDCG@10", "Recall@5", "Precision@5"]
embedding = { kind = "hashing" }
timing = { rounds = 2, requests = 100, warmup = 2 }
[[targets]]
adapter = "memory"
modes = ["dense"]
[[targets]]
adapter = "qdrant"
modes = ["lexical"]
endpoint = "http://127.0.0.1:9"
[[rules]]
kind = "minimum"
metric = "Recall@5"
value = 0.1
[[rules]]
kind = "tolerance"
metric = "nDCG@10"
tolerance = 0.03
"""
Accept = Callable[[Any], Artifact | tuple[str, ...]]


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, Any]:
    """The suite, and the artifact of a run of it as its file holds it."""
    bench = Bench(write_example(tmp_path_factory.mktemp("fields")))
    path = bench.folder / "test.toml"
    path.write_text(SUITE, encoding="utf-8")
    bench.run("run", "test.toml")
    return load_suite(path), bench.artifact()


@pytest.fixture
def accept(made: tuple[Suite, Any], monkeypatch: pytest.MonkeyPatch) -> Accept:
    """The artifact if a baseline would be made of it, whose checksum fits; else its faults.

    Golden set and corpus are read once: they are not what is edited here.
    """
    suite, _raw = made
    loaded = load_questions(suite)
    monkeypatch.setattr("retrieverbench.job.verification.load_questions", lambda _suite: loaded)

    def judge(raw: Any) -> Artifact | tuple[str, ...]:
        artifact = ARTIFACTS.validate_python(raw)
        try:
            check_acceptable(artifact, because="known")
            verify(artifact, suite, {})
        except InputError as error:
            return error.faults
        return artifact

    return judge
