"""Baselines of artifacts, as acceptance makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.model import BASELINE_SCHEMA, Artifact, Baseline, BaselineCase


@pytest.fixture
def baseline_of() -> Callable[..., Baseline]:
    """The baseline that the artifact's first target would become; keywords replace fields."""

    def make(artifact: Artifact, **fields: Any) -> Baseline:
        result = artifact.targets[0]
        scores = result.scores
        assert scores is not None
        assert result.fidelity is not None
        assert result.backend is not None
        cases = {
            case.case_id: BaselineCase(
                case.status,
                tuple(uid for uid, _ in case.hits),
                {metric: values[case.case_id].value for metric, values in scores.cases.items()},
            )
            for case in result.results
        }
        made = Baseline(
            schema=BASELINE_SCHEMA,
            suite=artifact.suite,
            target=result.target,
            golden=artifact.golden.name,
            golden_version=artifact.golden.version or 0,
            golden_sha256=artifact.golden.sha256,
            corpus_sha256=artifact.golden.corpus_sha256,
            relevance_level=artifact.golden.relevance_level,
            versions=artifact.golden.versions,
            embedding=artifact.embedding,
            convention=scores.convention,
            depth=result.depth,
            fidelity=result.fidelity,
            server_version=result.backend.server_version,
            cache=artifact.cache,
            commit=None,
            dirty=False,
            run_id="then",
            accepted="then",
            because="",
            cases=cases,
            counters=dict(scores.counters),
        )
        return replace(made, **fields)

    return make
